"""Verdicts for people, and what they mean for the exit status."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc.rates import Verdict
from theory.again import certify_again
from theory.claims import BY_ID, Claim, Provenance
from theory.evidence import Scope

_NARROW = 120  # terminals narrower than this get the numbers only
_LONGEST = max(map(len, BY_ID))

UNMET = "The claim's proof does not cover this case; the verdict says whether the claim holds in it all the same."


def print_verdicts(rows: list[dict[str, Any]], output: Console, spec: Mapping[str, Any]) -> None:
    """Print the table of claims.

    Parameters
    ----------
    rows : list of dict
        As `theory.certification.certify_claims` returns them, joined with measurements or not.
    output : rich.console.Console
    spec : mapping
        Of the run, with its seed: see `theory.again.certify_again`.
    """
    table = Table(title="Claims", box=SIMPLE_HEAD, show_lines=True)
    table.add_column("claim", min_width=_LONGEST, no_wrap=True)
    table.add_column("verdict", min_width=12, no_wrap=True)  # before the evidence, which may be cut
    for column in ("predicted", "certified", "measured"):
        table.add_column(column, min_width=9, overflow="fold")
    if output.width >= _NARROW:
        table.add_column("source")
    for row in rows:
        claim = BY_ID[row["claim"]]
        source = claim.source
        if claim.control:
            source = "negative control" if claim.provenance == Provenance.OWN else f"false: {source}"
        table.add_row(
            f"[bold]{claim.id}[/]",
            print_verdict(row),
            *("\n".join(evidence_lines(row[key])) or "-" for key in ("predicted", "certified", "measured")),
            *([source] if output.width >= _NARROW else []),
        )
    output.print(table)
    if short := shortness(rows, spec):
        output.print(f"[bold yellow]{short}.[/]", soft_wrap=True, highlight=False)
    expected, judged, controls = tally(rows)
    measured = "Measured only: not certified; python -m convergence gives the verdict. " if judged < len(rows) else ""
    output.print(
        f"{expected} of {judged} verdicts are as expected, the refutation of {controls} false claims among them. "
        f"{measured}Read: found in the paper; recalled: from memory of it. N and S: fitted exponents of the error with "
        "their intervals; growth: exponent in N of the error over the claimed rate, as S grows with N as given; the "
        "claim is that it is at most 0. "
        f"All about one claim: {certify_again('ID', spec)}",
        soft_wrap=False,
    )


def tally(rows: list[dict[str, Any]]) -> tuple[int, int, int]:
    """How many verdicts are as expected.

    Parameters
    ----------
    rows : list of dict
        As `print_verdicts` takes them.

    Returns
    -------
    expected, judged, controls : int
        Verdicts as expected; verdicts; false claims that are refuted.
    """
    rows = _judged(rows)
    expected = sum(row["verdict"] == row["expected"] for row in rows)
    return expected, len(rows), sum(row["control"] and row["verdict"] == Verdict.REFUTED for row in rows)


def shortness(rows: list[dict[str, Any]], spec: Mapping[str, Any]) -> str:
    """What to know of a run that was to be short.

    Parameters
    ----------
    rows : list of dict
        As `print_verdicts` takes them.
    spec : mapping
        Of the run.

    Returns
    -------
    str
        Empty for one that was not.
    """
    largest = spec.get("max_n") or Scope.max_n
    if not spec.get("quick") and largest >= Scope.max_n:
        return ""
    run = "Quick run" if spec.get("quick") else f"Run up to N = {largest} only"
    undecided = any(row["verdict"] == Verdict.INCONCLUSIVE for row in _judged(rows))
    return f"{run}: short sweeps{', some verdicts inconclusive' if undecided else ''}"


def print_verdict(row: dict[str, Any]) -> str:
    """A verdict with rich's markup, and what was expected where it is another.

    Parameters
    ----------
    row : dict

    Returns
    -------
    str
    """
    if row["verdict"] == row["expected"]:
        return f"[green]{row['verdict']}[/]"
    if _awaits_measurement(row):
        return "measured only"
    style = "yellow" if row["verdict"] == Verdict.INCONCLUSIVE else "bold red"  # which contradicts nothing
    return f"[{style}]{row['verdict']}\nexpected: {row['expected']}[/]"


def _judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if not _awaits_measurement(row)]


def _awaits_measurement(row: dict[str, Any]) -> bool:
    return BY_ID[row["claim"]].evidence is None and row["measured"] is None


def evidence_lines(evidence: dict[str, Any] | None, *, everything: bool = False) -> list[str]:
    """Evidence as text.

    Parameters
    ----------
    evidence : dict or None
        Exponents, numbers and texts by name.
    everything : bool
        Also what the verdict does not rest on.

    Returns
    -------
    list of str
    """
    shown = (evidence or {}) if everything else rested_on(evidence)
    return [f"{name}: {number_text(value)}" for name, value in shown.items()]


def rested_on(evidence: dict[str, Any] | None) -> dict[str, Any]:
    """The part of the evidence that the verdict rests on.

    Parameters
    ----------
    evidence : dict or None

    Returns
    -------
    dict
    """
    return {
        name: value
        for name, value in (evidence or {}).items()
        if not (isinstance(value, str) or (isinstance(value, dict) and not value.get("judged", True)))
    }


def number_text(value: Any) -> str:
    """A piece of evidence as text, in brackets where the verdict does not rest on it.

    Parameters
    ----------
    value : dict, float or str
        An exponent with its interval, a number or a text.

    Returns
    -------
    str
    """
    if not isinstance(value, dict):
        return f"{value:.3g}" if isinstance(value, float) else str(value)
    if value["value"] is None:
        return "too few points"
    number = f"{value['value']:.2f} ± {(value['high'] - value['low']) / 2:.2f}"
    return number if value.get("judged", True) else f"({number})"


def facts(claim: Claim) -> dict[str, str]:
    """What a claim is about, by the name of the fact.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    dict of str to str
    """
    about = {
        "source": claim.source,
        "superseded by": claim.superseded_by,
        "quantity": claim.quantity,
        "stragglers": claim.stragglers,
        "lambda_d": claim.smoothing.formula if claim.method == "letcc" else "",
        "noise": f"sigma = {claim.noise_std:g}" if claim.noise_std else "",
        "judged on the cells of": claim.shares,
    }
    return {name: fact for name, fact in about.items() if fact}


def exit_status(rows: list[dict[str, Any]], *, partial: bool = False) -> int:
    """Whether all is as recorded.

    Parameters
    ----------
    rows : list of dict
    partial : bool
        The rows carry only a part of the evidence: to be inconclusive is no failure, nor to be stronger or weaker than
        expected, but to say the opposite is.

    Returns
    -------
    int
        0 where every verdict is the expected one and every control is refuted, else 1.
    """
    rows = _judged(rows)
    if partial:
        rows = [row for row in rows if row["verdict"] != Verdict.INCONCLUSIVE]
        return int(any((row["verdict"] == Verdict.REFUTED) != (row["expected"] == Verdict.REFUTED) for row in rows))
    surviving = any(row["control"] and row["verdict"] != Verdict.REFUTED for row in rows)
    return int(surviving or any(row["verdict"] != row["expected"] for row in rows))
