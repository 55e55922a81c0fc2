"""Polynomial maps of matrices, where Lagrange is exact above its threshold: its error beside the others'."""

import itertools
import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convergence.measurement import DEGREE
from convergence.problems import Problem, zoo
from letcc import CodedScheme
from letcc.exceptions import IllConditionedWarning, TooFewReceived
from letcc.nodes import IndexArray
from letcc.rates import Verdict
from letcc.stragglers import AtMost
from theory.certification import claim_row
from theory.claims import BY_ID
from theory.evidence.threshold import threshold
from theory.store import provenance, write_table

CLAIM = BY_ID["lagrange-threshold"]
SIZES = ((10, 4), (32, 8), (100, 20))  # (N, K)
MOST_SETS = 200  # every set where there are no more, else as many random ones
EXACT = 1e-8


def measure_polynomials(seed: int, out: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Decode polynomial maps from as many workers as the threshold, from one fewer and from more.

    Parameters
    ----------
    seed : int
    out : Path
        Folder of the results, for polynomials.parquet.

    Returns
    -------
    row : dict
        The verdict on the threshold, see `theory.certification.claim_row`.
    table : DataFrame
        Columns problem, scheme, num_workers, num_data, received, threshold, `error` (the largest over received sets,
        relative to the largest value), `typical` (the median) and `refused`, where there is no error.
    """
    rows = []
    for workers, data in SIZES:
        schemes = {
            "lagrange": CodedScheme.lagrange(data, workers, degree=DEGREE),
            "letcc": CodedScheme.letcc(data, workers),
            "bacc": CodedScheme.bacc(data, workers),
        }
        least = threshold(data, DEGREE)
        for received in (least - 1, least, (least + workers) // 2, workers):
            sets = _sets(workers, received, seed)
            for problem in zoo(schemes["letcc"].data_points).values():
                if problem.degree == DEGREE:
                    rows += [
                        {"problem": problem.name, "scheme": name, "num_workers": workers, "num_data": data}
                        | {"received": received, "threshold": least}
                        | _worst(scheme, problem, sets)
                        for name, scheme in schemes.items()
                    ]
    table = pd.DataFrame(rows)
    write_table(out / "polynomials.parquet", table, provenance({"program": "convergence", "sets": MOST_SETS}, seed))
    return _row(table), table


def _sets(workers: int, received: int, seed: int) -> list[IndexArray]:
    if math.comb(workers, received) <= MOST_SETS:
        return [np.array(kept) for kept in itertools.combinations(range(workers), received)]
    rng = np.random.default_rng([seed, workers, received])  # every scheme and problem meets the same sets
    return [AtMost(workers - received).sample(workers, rng) for _ in range(MOST_SETS)]


def _worst(scheme: CodedScheme, problem: Problem, sets: Iterable[IndexArray]) -> dict[str, Any]:
    x = problem.inputs(scheme.data_points)
    outputs, truth = problem.function(scheme.encode(x)), problem.function(x)
    errors, refused = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # how much is lost is what is measured
        for received in sets:
            try:
                errors.append(np.abs(scheme.decode(outputs[received], received) - truth).max() / np.abs(truth).max())
            except TooFewReceived:
                refused += 1
    largest, typical = (float(np.max(errors)), float(np.median(errors))) if errors else (np.nan, np.nan)
    return {"error": largest, "typical": typical, "refused": refused > 0 and not errors}


def _row(table: pd.DataFrame) -> dict[str, Any]:
    """At the threshold itself a set may be too ill-conditioned for 16 digits, except where inputs are few."""
    lagrange = table[table.scheme == "lagrange"]
    below, enough = lagrange[lagrange.received < lagrange.threshold], lagrange[lagrange.received >= lagrange.threshold]
    few = enough.num_data == min(data for _, data in SIZES)
    above = enough[(enough.received > enough.threshold) | few]
    holds = above.error.max() <= EXACT and enough.typical.max() <= EXACT and below.refused.all()
    evidence = {
        "largest error above the threshold, for K = 4 at it": float(above.error.max()),
        "at the threshold, N = 100: median over sets": float(enough.typical.max()),
        "at the threshold, N = 100: largest": f"{enough.error.max():.1e}: rounding, times the condition of that set",
        "refused below it": f"{below.refused.sum()} of {len(below)}",
    }
    return claim_row(CLAIM, Verdict.HOLDS if holds else Verdict.REFUTED, measured=evidence)
