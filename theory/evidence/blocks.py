"""The worst case over every consecutive block of stragglers, as N and S grow."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme, certify, certify_many, optimal_squared_bias
from letcc.nodes import FloatArray, IndexArray
from letcc.rates import Verdict
from letcc.scheme import PointFamily
from letcc.smoothers import SmoothingSpline
from letcc.stragglers import AtMost, ConsecutiveBlock
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope, doubling
from theory.evidence.fits import describe, fit_sweep, weakest

if TYPE_CHECKING:
    from theory.claims import Claim

CURVES: dict[str, Callable[[int], int]] = {
    "S=3": lambda workers: 3,
    "S=sqrt(N)": math.isqrt,
    "S=N/4": lambda workers: workers // 4,
}

ALL_BLOCKS = 1024  # every block of stragglers is examined up to here
_EVERY_SET = "every set"
_OFFSETS = 9  # how many blocks are tried about each data point at first
_INDICES = 2**22  # of received sets held at once


@final
@dataclass(frozen=True)
class WorstBlocks(AbstractEvidence):
    """The worst pointwise mean squared error over the ball and over every block of at most S stragglers.

    N is doubled with all workers received; then, at a fixed N, every consecutive block of S is lost. All N are even:
    for N = 2^m + 1 every data point of K = 8 is a worker point, where the error vanishes.

    Where S grows with N, along `curves`, the claim stands if the error divided by S^s N^n does not grow.

    Attributes
    ----------
    first_workers, num_data : int
        Where N starts, and K along the curves.
    stragglers : tuple of int
        S, of one parity, on which BACC depends; empty where the claim does not speak of S.
    straggler_workers, straggler_num_data : int
        N and K of that sweep, which is repeated at the largest N.
    curves : tuple of str
        Of `CURVES`.
    families : tuple of (str, int)
        Points on which N is doubled, with K: an odd one for equispaced points, where no data point of seven is near a
        worker point at any N = 2^m.
    settles_in_s : bool
        Whether the slope in S comes to rest in reach; where not it is shown, and the curves alone are judged.
    every_set_of : int
        N at which blocks are held against every received set; 0 for none.
    """

    first_workers: int = 32
    num_data: int = 8
    stragglers: tuple[int, ...] = ()
    straggler_workers: int = 512
    straggler_num_data: int = 32
    curves: tuple[str, ...] = ()
    families: tuple[tuple[PointFamily, int], ...] = (("chebyshev", 8), ("equispaced", 7))
    settles_in_s: bool = True
    every_set_of: int = 0

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        workers = doubling(self.first_workers, scope.max_n)

        def cell(sweep: str, n: int, k: int, s: int, points: PointFamily = "chebyshev") -> Cell:
            return Cell(claim.id, sweep, n, k, s, points=points, full=scope.full)

        cells = [cell(_name("N", family), n, k, 0, family) for family, k in self.families for n in workers]
        cells += [cell("S", self.straggler_workers, self.straggler_num_data, s) for s in self.stragglers]
        if workers[-1] > ALL_BLOCKS and self.settles_in_s:
            at_last = f"S, N = {workers[-1]}"
            cells += [cell(at_last, workers[-1], self.straggler_num_data, s) for s in self.stragglers]
        cells += [cell(curve, n, self.num_data, CURVES[curve](n)) for curve in self.curves for n in workers]
        cells += [
            cell(_name(_EVERY_SET, family), self.every_set_of, k // 2, s, family)
            for family, k in self.families
            for s in range(1, self.every_set_of // 2)
        ]
        return cells

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The worst pointwise error, and the least possible where all answer; see `AbstractEvidence.examine`."""
        scheme = claim.scheme(cell.num_data, cell.num_workers, cell.points)
        if cell.sweep.startswith(_EVERY_SET):
            lost = AtMost(cell.stragglers)
            sets = np.array([f for f in lost.all(cell.num_workers) if f.size == cell.num_workers - cell.stragglers])
            blocks = np.array(list(ConsecutiveBlock(cell.stragglers).all(cell.num_workers)))
            errors, of_blocks = _errors(claim, scheme, sets).max(axis=0), _errors(claim, scheme, blocks).max(axis=0)
            return {
                "error": float(errors.max()),
                "worst_block": float(of_blocks.max()),
                "pointwise_ratio": float((errors / of_blocks).max()),
            }
        # "at most S" is the maximum over s <= S. An interpolating spline, the optimal recovery, can only lose by
        # losing more; BACC grows with s within each parity of N - s
        monotone = claim.method == "letcc" and not claim.noise_std
        fewest = cell.stragglers if monotone else max(0, cell.stragglers - 1)
        every = cell.full or cell.num_workers <= ALL_BLOCKS
        row = {
            "error": max(worst_block(claim, scheme, s, every=every) for s in range(fewest, cell.stragglers + 1)),
        }
        if not cell.stragglers:
            row["average"] = certify(scheme, ball=claim.ball, noise_std=claim.noise_std).worst_average_mse
            row["optimum"] = _optimum(claim, scheme)
        return row

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        evidence: dict[str, Any] = {}
        verdicts = []
        sweeps = list(dict.fromkeys(row["sweep"] for row in table))
        for sweep in sweeps:
            variable = sweep.split(",")[0]
            if variable in claim.exponents:
                exponent = fit_sweep(table, sweep)
                judged = variable != "S" or self.settles_in_s
                evidence[sweep] = describe(exponent, judged=judged)
                if judged:
                    verdicts.append(exponent.judge(float(claim.exponents[variable])))
            elif sweep in CURVES and {"N", "S"} <= claim.exponents.keys():
                relative = [row | {"error": row["error"] / _rate(claim, row)} for row in table]
                exponent = fit_sweep(relative, sweep)
                evidence[f"growth, {sweep}"] = describe(exponent)
                verdicts.append(exponent.judge(0))
            elif variable == _EVERY_SET:
                rows = [row for row in table if row["sweep"] == sweep]
                overall = max(row["error"] / row["worst_block"] for row in rows)
                at_one = max(row["pointwise_ratio"] for row in rows)
                evidence[f"worst set / worst block{sweep.removeprefix(_EVERY_SET)}"] = overall
                evidence[f"at a single data point{sweep.removeprefix(_EVERY_SET)}"] = f"{at_one:.3g}"
        averages = [row | {"error": row["average"]} for row in table if row["sweep"] == "N" and row.get("average")]
        if averages and "N" in claim.exponents:
            evidence["N, average over k"] = describe(fit_sweep(averages, "N"), judged=False)
        return weakest(verdicts), evidence


def _name(sweep: str, family: PointFamily) -> str:
    return sweep if family == "chebyshev" else f"{sweep}, {family}"


def _rate(claim: "Claim", row: Row) -> float:
    n, s = float(claim.exponents["N"]), float(claim.exponents["S"])
    return float(row["num_workers"] ** n * (row["stragglers"] + 1) ** s)


def _optimum(claim: "Claim", scheme: CodedScheme) -> float:
    """What no decoder, with noise no linear one, has a smaller error than: see the claims on both."""
    if not claim.noise_std:
        return float(optimal_squared_bias(scheme.worker_points, scheme.data_points, ball=claim.ball).max())
    best = replace(scheme, decoder=SmoothingSpline(claim.noise_std**2 / scheme.num_workers))
    return certify(best, noise_std=claim.noise_std).worst_pointwise_mse


def worst_block(claim: "Claim", scheme: CodedScheme, stragglers: int, *, every: bool) -> float:
    """The worst pointwise mean squared error over consecutive blocks of exactly S stragglers.

    Parameters
    ----------
    claim : Claim
        Says which ball and what noise.
    scheme : CodedScheme
        Of ascending worker points.
    stragglers : int
        S.
    every : bool
        Whether to examine every block. Else only those about each data point and at both ends: coarsely first, then
        on ever finer grids about the worst.

    Returns
    -------
    float
    """
    last = scheme.num_workers - stragglers
    if every or not stragglers:
        return float(_errors_of_blocks(claim, scheme, stragglers, np.arange(last + 1 if stragglers else 1)).max())
    offsets = np.unique(np.linspace(-1, stragglers + 1, _OFFSETS).round().astype(int))
    left = np.searchsorted(scheme.worker_points, scheme.data_points)
    starts = np.concatenate([(left[:, None] - offsets).ravel(), [0, 1, last - 1, last]])
    step = int(np.diff(offsets).max())
    worst = 0.0
    while True:
        starts = np.unique(np.clip(starts, 0, last))
        errors = _errors_of_blocks(claim, scheme, stragglers, starts)
        worst = max(worst, float(errors.max()))
        if step <= 1:
            return worst
        about = starts[int(np.argmax(errors))]
        finer = max(1, step // _OFFSETS)
        starts, step = about + np.arange(-step, step + 1, finer), finer


def _errors_of_blocks(claim: "Claim", scheme: CodedScheme, stragglers: int, starts: IndexArray) -> FloatArray:
    left = np.arange(scheme.num_workers - stragglers)
    at_once = max(1, _INDICES // left.size)
    parts = np.split(starts, range(at_once, starts.size, at_once))
    return np.concatenate(
        [_errors(claim, scheme, left + stragglers * (left >= part[:, None])).max(axis=1) for part in parts]
    )


def _errors(claim: "Claim", scheme: CodedScheme, sets: IndexArray) -> FloatArray:
    """The worst mean squared error for each set and data point."""
    found = certify_many(scheme, sets, ball=claim.ball, noise_std=claim.noise_std)
    return found.squared_bias + claim.noise_std**2 * found.noise_gain
