"""Exponents of a table's sweeps as plain data, and the verdict on several of them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from letcc.rates import Exponent, Verdict, fit_exponent
from theory.evidence.base import Row

_ROUNDING = (1e3 * np.finfo(float).eps) ** 2  # squared errors of values of order one


def fit_sweep(table: list[Row], name: str, x: Callable[[Row], float] | None = None) -> Exponent:
    """Exponent of one sweep of a table of cells.

    Parameters
    ----------
    table : list of dict
        Cells with `error`, and with `uncertainty`, its relative standard error, where it is sampled; of one claim.
    name : str
        A sweep.
    x : callable, optional
        What the errors are fitted against; None means S + 1 along "S" and N elsewhere.

    Returns
    -------
    Exponent
    """
    if x is None:
        x = _stragglers if name.startswith("S,") or name == "S" else _workers
    rows = sorted((row for row in table if row["sweep"] == name), key=x)
    uncertainty = [row["uncertainty"] for row in rows] if all("uncertainty" in row for row in rows) else None
    errors = [row["error"] for row in rows]
    return fit_exponent([x(row) for row in rows], errors, floor=_ROUNDING, uncertainty=uncertainty)


def mirrored(exponent: Exponent) -> Exponent:
    """An exponent of x from that of 1/x, against which a power that is claimed as x goes to 0 is fitted and judged.

    Parameters
    ----------
    exponent : Exponent

    Returns
    -------
    Exponent
    """
    return Exponent(
        -exponent.value,
        -exponent.high,
        -exponent.low,
        tuple(1 / x for x in reversed(exponent.window)),
        tuple(-slope for slope in reversed(exponent.local_slopes)),
    )


def _stragglers(row: Row) -> float:
    return float(row["stragglers"] + 1)


def _workers(row: Row) -> float:
    return float(row["num_workers"])


def describe(exponent: Exponent, *, judged: bool = True) -> dict[str, Any]:
    """An exponent as plain data.

    Parameters
    ----------
    exponent : Exponent
    judged : bool
        Whether the verdict rests on it.

    Returns
    -------
    dict
    """
    evidence = asdict(exponent) | {"judged": judged}
    for name in ("value", "low", "high"):
        if not math.isfinite(evidence[name]):
            evidence[name] = None  # JSON has no NaN
    return evidence


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts.

    Parameters
    ----------
    verdicts : iterable of Verdict
        At least one.

    Returns
    -------
    Verdict
    """
    order = [Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.ATTAINED]
    return min(verdicts, key=order.index)
