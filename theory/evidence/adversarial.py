"""Corrupted workers: the worst signs and places of q of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope, doubling
from theory.evidence.fits import describe, fit_sweep, mirrored, weakest

if TYPE_CHECKING:
    from theory.claims import Claim

# how many of N workers are corrupted, and the constant c of lambda = c (q/N)^(8/5) at which the rate shows in reach
_MANY: dict[str, tuple[Callable[[int], int], float]] = {
    "q=1": (lambda n: 1, 0.1),
    "q=N^(1/4)": (lambda n: round(n**0.25), 0.1),
    "q=N^(1/2)": (math.isqrt, 0.01),
    "q=N^(3/4)": (lambda n: round(n**0.75), 0.01),
}


@final
@dataclass(frozen=True)
class Adversaries(AbstractEvidence):
    """The worst pointwise squared error where q workers add errors of magnitude M to their outputs.

    Held against q/N, since rounding q ruins slopes in N, as it goes to 0.

    Attributes
    ----------
    magnitude : float
        M.
    first_workers, num_data : int
        Where N starts, and K.
    judged : tuple of str
        Growths of q that come to rest within reach; the others are shown.
    out_of_reach : str
        The growth of q whose slopes are still far from any rest.
    """

    magnitude: float = 1.0
    first_workers: int = 128
    num_data: int = 8
    judged: tuple[str, ...] = ("q=1", "q=N^(1/4)")
    out_of_reach: str = "q=N^(3/4)"

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, sweep, n, self.num_data, parameter=many(n))
            for sweep, (many, _) in _MANY.items()
            for n in doubling(self.first_workers, scope.max_n)
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """Bias and corruption add up where their signs agree; see `AbstractEvidence.examine`."""
        q = int(cell.parameter)
        smoothing = _MANY[cell.sweep][1] * (q / cell.num_workers) ** 1.6
        scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, decoder_smoothing=smoothing)
        return {"error": worst_corruption(scheme, q, self.magnitude), "smoothing": smoothing}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        fits = {
            sweep: fit_sweep(table, sweep, lambda row: float(row["num_workers"] / row["parameter"]))
            for sweep in dict.fromkeys(row["sweep"] for row in table)
        }
        claimed = float(claim.exponents["q/N"])
        evidence: dict[str, Any] = {
            f"q/N, {sweep}": describe(fit, judged=sweep in self.judged)
            if sweep != self.out_of_reach
            else f"{Verdict.INCONCLUSIVE}: local slopes {min(fit.local_slopes):.2f} to {max(fit.local_slopes):.2f}"
            for sweep, fit in zip(fits, map(mirrored, fits.values()), strict=True)
        }
        return weakest(fits[sweep].judge(-claimed) for sweep in self.judged), evidence


def worst_corruption(scheme: CodedScheme, q: int, magnitude: float) -> float:
    """The worst squared error at any data point over the unit seminorm ball and q corrupted workers.

    Parameters
    ----------
    scheme : CodedScheme
    q : int
        Corrupted workers.
    magnitude : float
        M, of what each adds to its output.

    Returns
    -------
    float
        max_k of ``(sqrt(W_kk) + M * sum of the q largest |L_kv|)^2``: every worker is received.
    """
    bias = np.sqrt(certify(scheme).squared_bias)
    largest = -np.partition(-np.abs(scheme.decoding_matrix()), q - 1, axis=1)[:, :q]
    return float(((bias + magnitude * largest.sum(axis=1)) ** 2).max())
