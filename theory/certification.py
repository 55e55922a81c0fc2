"""Claims against exact certificates: the worst case over every consecutive block of stragglers."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from letcc import CodedScheme, certify, certify_many
from letcc.rates import Exponent, Verdict, fit_exponent
from letcc.stragglers import ConsecutiveBlock
from theory.cells import run_cells
from theory.claims import BY_ID, CLAIMS, CURVES, Claim
from theory.store import provenance, write_rows, write_table

_ALL_BLOCKS = 1024  # every block of stragglers is examined up to here
_ROUNDING = (1e3 * np.finfo(float).eps) ** 2  # squared errors of values of order one


@dataclass(frozen=True)
class Cell:
    """One point of a claim's grid."""

    claim: str
    sweep: str  # what runs: "N", "S", both ("NS"), or N along a curve of `theory.claims.CURVES`
    num_workers: int
    num_data: int
    stragglers: int


def cells_of(claim: Claim) -> list[Cell]:
    """The grid of a claim.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    list of Cell
    """
    design = claim.design
    if claim.bound:
        return [
            Cell(claim.id, "NS", n, design.num_data, s) for n in design.workers for s in design.stragglers if s < n / 4
        ]
    along_n = [Cell(claim.id, "N", n, design.num_data, 0) for n in design.workers]
    along_s = [Cell(claim.id, "S", design.straggler_workers, design.straggler_num_data, s) for s in design.stragglers]
    along_curves = [
        Cell(claim.id, curve, n, design.num_data, CURVES[curve](n))
        for curve in design.curves
        for n in design.workers
        if n <= _ALL_BLOCKS
    ]
    return along_n + along_s + along_curves


def examine(cell: Cell) -> dict[str, Any]:
    """The worst case of one cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        The cell with `error`, the worst pointwise mean squared error over blocks of at most S stragglers, and `bound`
        where the claim prints one with constants (both then are suprema, not squared).
    """
    claim = BY_ID[cell.claim]
    scheme = claim.scheme(cell.num_data, cell.num_workers)
    row = asdict(cell)
    if claim.bound:
        sets = ConsecutiveBlock(cell.stragglers).all(cell.num_workers)
        errors = (certify(scheme, received, ball="full").bounded_curvature_error(1, 1).max() for received in sets)
        return row | {"error": float(max(errors)), "bound": claim.bound(cell.num_workers, cell.stragglers)}
    # "at most S" is the maximum over s <= S. An interpolating spline, the optimal recovery, can only lose by losing
    # more; BACC grows with s within each parity of N - s
    monotone = claim.method == "letcc" and not claim.noise_std
    fewest = cell.stragglers if monotone else max(0, cell.stragglers - 1)
    worst = [_worst_mse(claim, scheme, stragglers) for stragglers in range(fewest, cell.stragglers + 1)]
    return row | {"error": max(worst), "bound": None}


def _worst_mse(claim: Claim, scheme: CodedScheme, stragglers: int) -> float:
    blocks = np.array(list(ConsecutiveBlock(stragglers).all(scheme.num_workers)))
    return float(certify_many(scheme, blocks, ball=claim.ball, noise_std=claim.noise_std).worst_pointwise_mse.max())


def certify_claims(jobs: int, out: Path) -> list[dict[str, Any]]:
    """Certify every claim that has a grid, and write certified.parquet and certified.json.

    Parameters
    ----------
    jobs : int
        Worker processes.
    out : Path
        Folder of the results.

    Returns
    -------
    list of dict
        One row for each claim, see `claim_row`.
    """
    cells = [cell for claim in CLAIMS for cell in cells_of(claim)]
    table = run_cells(examine, cells, jobs, "certifying")
    origin = provenance({"program": "theory", "cells": [asdict(cell) for cell in cells]})
    write_table(out / "certified.parquet", pd.DataFrame(table), origin)
    rows = [_row(claim, [row for row in table if row["claim"] == claim.id]) for claim in CLAIMS if cells_of(claim)]
    write_rows(out / "certified.json", rows, origin)
    return rows


def _row(claim: Claim, table: list[dict[str, Any]]) -> dict[str, Any]:
    if claim.bound:
        largest = max(row["error"] / row["bound"] for row in table)
        verdict = Verdict.HOLDS if largest <= 1 else Verdict.REFUTED
        return claim_row(claim, verdict, certified={"largest exact/bound": largest})
    verdict, exponents = judge_rates(claim, table)
    return claim_row(claim, verdict, certified=exponents)


def judge_rates(claim: Claim, table: list[dict[str, Any]]) -> tuple[Verdict, dict[str, Any]]:
    """Hold a claim's exponents against a table of errors.

    Parameters
    ----------
    claim : Claim
    table : list of dict
        Its cells, each with `error`.

    Returns
    -------
    verdict : Verdict
        As strong as the weakest of its parts.
    evidence : dict
        Exponents as plain data, by sweep.
    """
    exponents = {sweep: fit_sweep(table, sweep) for sweep in predicted(claim)}
    judged = {sweep: exponent.judge(predicted(claim)[sweep]) for sweep, exponent in exponents.items()}
    if claim.design.curves:
        judged.pop("S")
        for curve in claim.design.curves:
            relative = [row | {"error": row["error"] / _rate(claim, row)} for row in table]
            exponents[f"growth, {curve}"] = along = fit_sweep(relative, curve)
            judged[curve] = along.judge(0)
    evidence = {name: describe(exponent) for name, exponent in exponents.items()}
    if claim.design.curves and "S" in evidence:
        evidence["S"]["judged"] = False
    return _weakest(judged.values()), evidence


def _rate(claim: Claim, row: dict[str, Any]) -> float:
    assert claim.exponent_n is not None
    assert claim.exponent_s is not None
    return float(row["num_workers"] ** float(claim.exponent_n) * (row["stragglers"] + 1) ** float(claim.exponent_s))


def _weakest(verdicts: Iterable[Verdict]) -> Verdict:
    order = [Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.ATTAINED]
    return min(verdicts, key=order.index)


def claim_row(
    claim: Claim,
    verdict: Verdict,
    certified: dict[str, Any] | None = None,
    measured: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One row of the verdicts.

    Parameters
    ----------
    claim : Claim
    verdict : Verdict
    certified, measured : dict, optional
        Evidence by name: exponents as from `describe`, or numbers.

    Returns
    -------
    dict
    """
    return {
        "claim": claim.id,
        "verdict": verdict,
        "expected": claim.expected,
        "control": claim.control,
        "statement": claim.statement,
        "source": claim.citation,
        "provenance_of_claim": claim.provenance,
        "assumptions": list(claim.assumptions),
        "predicted": predicted(claim),
        "certified": certified,
        "measured": measured,
    }


def fit_sweep(table: list[dict[str, Any]], name: str) -> Exponent:
    """Exponent of one sweep of a table of cells.

    Parameters
    ----------
    table : list of dict
        Cells with `error`, of one claim.
    name : str
        A sweep; along "S" errors are fitted against S + 1, else against N.

    Returns
    -------
    Exponent
    """
    rows = [row for row in table if row["sweep"] == name]
    x = [row["stragglers"] + 1 if name == "S" else row["num_workers"] for row in rows]
    return fit_exponent(x, [row["error"] for row in rows], floor=_ROUNDING)


def describe(exponent: Exponent) -> dict[str, Any]:
    """An exponent as plain data; `judged` is whether the verdict rests on it.

    Parameters
    ----------
    exponent : Exponent

    Returns
    -------
    dict
    """
    evidence = asdict(exponent) | {"judged": True}
    for name in ("value", "low", "high"):
        if not math.isfinite(evidence[name]):
            evidence[name] = None  # JSON has no NaN
    return evidence


def predicted(claim: Claim) -> dict[str, float]:
    """The claimed exponents as plain data.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    dict
    """
    exponents = {"N": claim.exponent_n, "S": claim.exponent_s}
    return {name: float(exponent) for name, exponent in exponents.items() if exponent is not None}
