"""Lagrange coded computing: exact from the threshold on, refused below, and how badly conditioned at it."""

import itertools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme
from letcc.exceptions import IllConditionedWarning, TooFewReceived
from letcc.metrics import lebesgue_constant
from letcc.nodes import FloatArray, IndexArray
from letcc.rates import Verdict
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from theory.claims import Claim

_EXACT = 1e-8
_SETS = 50


@final
@dataclass(frozen=True)
class RecoveryThreshold(AbstractEvidence):
    """Decoding a random polynomial map from sets of threshold size.

    Attributes
    ----------
    degrees : tuple of int
        With `num_data` inputs and two workers more than the threshold, every set of threshold size.
    num_data : int
        K.
    sampled : tuple of (N, K, degree)
        Where sets are sampled, and the condition is what matters.
    growing : tuple of int
        K of cubic maps of which half of the workers are just enough: how fast the condition grows.
    """

    degrees: tuple[int, ...] = (1, 2, 3)
    num_data: int = 4
    sampled: tuple[tuple[int, int, int], ...] = ((40, 8, 3), (100, 20, 3))
    growing: tuple[int, ...] = (4, 8, 12, 16, 20)

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        every = [
            Cell(claim.id, "every set", threshold(self.num_data, degree) + 2, self.num_data, 2, degree, seed=scope.seed)
            for degree in self.degrees
        ]
        sampled = [("sampled", *sizes) for sizes in self.sampled]
        sampled += [("growing", 2 * threshold(k, 3), k, 3) for k in self.growing]
        return every + [
            Cell(claim.id, sweep, n, k, n - threshold(k, degree), degree, seed=scope.seed)
            for sweep, n, k, degree in sampled
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The largest relative error, the condition, and whether one less is refused."""
        degree, least = int(cell.parameter), cell.num_workers - cell.stragglers
        scheme = CodedScheme.lagrange(cell.num_data, cell.num_workers, degree=degree)
        rng = np.random.default_rng([cell.seed, cell.num_workers, cell.num_data])
        x = rng.uniform(-1, 1, (cell.num_data, 3))
        mixing = rng.standard_normal((3, 3))

        def polynomial(inputs: FloatArray) -> FloatArray:
            powers: FloatArray = (inputs @ mixing) ** degree + inputs
            return powers

        truth, outputs = polynomial(x), polynomial(scheme.encode(x))
        sets: Iterable[IndexArray] = (rng.choice(cell.num_workers, least, replace=False) for _ in range(_SETS))
        if cell.sweep == "every set":
            sets = map(np.array, itertools.combinations(range(cell.num_workers), least))
        errors, conditions = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)  # the condition is what is asked for
            for received in sets:
                matrix = scheme.decoding_matrix(received)
                conditions.append(lebesgue_constant(matrix))
                errors.append(np.abs(matrix @ outputs[received] - truth).max() / np.abs(truth).max())
        return {
            "error": float(max(errors)),
            "condition": float(np.median(conditions)),
            "typical": float(np.median(errors)),
            "threshold": least,
            "refused": _refused(scheme, outputs, least - 1),
        }

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        from scipy.stats import linregress

        every, sampled, growing = (
            [row for row in table if row["sweep"] == sweep] for sweep in ("every set", "sampled", "growing")
        )
        largest = max(row["error"] for row in every)
        evidence: dict[str, Any] = {f"largest error at the threshold, K = {self.num_data}": largest}
        for row in sampled:
            evidence[f"N = {row['num_workers']}, threshold {row['threshold']}: condition, error (largest)"] = (
                f"{row['condition']:.1e}, {row['typical']:.1e} ({row['error']:.1e}): rounding, times the condition"
            )
        growth = linregress([row["threshold"] for row in growing], np.log([row["condition"] for row in growing]))
        evidence["condition's growth per worker, N = 2 threshold"] = float(np.exp(growth.slope))
        holds = largest <= _EXACT and all(row["refused"] for row in table)
        return (Verdict.HOLDS if holds else Verdict.REFUTED), evidence


def threshold(num_data: int, degree: int) -> int:
    """The fewest workers that determine a polynomial of this degree of K inputs (arXiv 1806.00939, recalled)."""
    return (num_data - 1) * degree + 1


def _refused(scheme: CodedScheme, outputs: FloatArray, received: int) -> bool:
    try:
        scheme.decode(outputs[:received], range(received))
    except TooFewReceived:
        return True
    return False
