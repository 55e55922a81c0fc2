"""What the names of numbers mean."""

from collections.abc import Iterable

_MEANINGS = {
    "growth": "exponent in N of the error over the claimed rate, as S grows with N as given; the claim is that it is "
    "at most 0",
    "worst set / worst block": "the largest error over all sets of S stragglers, divided by the largest over "
    "consecutive blocks of S; the largest over S at a small N",
    "at a single data point": "the same ratio at the data point where it is largest",
    "S, N": "exponent in S + 1 at this N",
    "N, average over k": "exponent of the error averaged over the data points",
    "N, after log": "exponent of the error divided by this power of log N",
    "N, after the longest run": "exponent of the error divided by a moment of the longest run of lost workers",
    "N, raw": "exponent of the error itself",
    "q/N": "exponent in q/N, as q grows with N as given",
}


def meanings(names: Iterable[str]) -> dict[str, str]:
    """The meanings that are not plain from the names.

    Parameters
    ----------
    names : iterable of str
        Of numbers of a claim's evidence.

    Returns
    -------
    dict of str to str
        By how the names begin.
    """
    names = list(names)
    return {start: text for start, text in _MEANINGS.items() if any(name.startswith(start) for name in names)}
