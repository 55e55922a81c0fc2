"""The encoder's training error against its smoothing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc.nodes import FloatArray, chebyshev_first_kind, equispaced
from letcc.rates import Verdict
from letcc.scheme import PointFamily
from letcc.smoothers import SmoothingSpline
from theory.bounds import training_error
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope
from theory.evidence.fits import describe, fit_sweep, mirrored, weakest

if TYPE_CHECKING:
    from theory.claims import Claim

_ROUNDING = 1e-12


@final
@dataclass(frozen=True)
class TrainingError(AbstractEvidence):
    """The largest training error over all data that a function with int x''^2 <= 1 passes through.

    Attributes
    ----------
    num_data : int
        K.
    smoothings : tuple of float
        lambda_e, ascending.
    families : tuple of str
    """

    num_data: int = 64
    smoothings: tuple[float, ...] = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
    families: tuple[PointFamily, ...] = ("chebyshev", "equispaced")

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, f"lambda_e, {points}", 2, self.num_data, parameter=smoothing, points=points)
            for points in self.families
            for smoothing in self.smoothings
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The worst mean squared training error and its bound; see `AbstractEvidence.examine`."""
        chebyshev = cell.points == "chebyshev"
        nodes = chebyshev_first_kind(cell.num_data) if chebyshev else equispaced(cell.num_data, interior=True)
        error = worst_training_error(nodes, cell.parameter)
        return {"error": error, "bound": training_error(cell.parameter)}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        smoothed = [row for row in table if row["parameter"] > 0]
        largest = max(row["error"] / row["bound"] for row in smoothed)
        at_zero = max(row["error"] for row in table if row["parameter"] == 0)
        evidence: dict[str, Any] = {"largest exact/bound": largest, "at lambda_e = 0": at_zero}
        verdicts = []
        for sweep in dict.fromkeys(row["sweep"] for row in smoothed):
            exponent = fit_sweep(smoothed, sweep, lambda row: 1 / float(row["parameter"]))
            evidence[sweep] = describe(mirrored(exponent))
            verdicts.append(exponent.judge(-float(claim.exponents["lambda_e"])))
        honest = largest <= 1 + _ROUNDING and at_zero <= _ROUNDING
        return (weakest(verdicts) if honest else Verdict.REFUTED), evidence


def worst_training_error(nodes: FloatArray, smoothing: float) -> float:
    """Largest (1/K) sum (u(alpha_k) - x_k)^2 over all x_k on a function with int x''^2 <= 1, one output.

    Parameters
    ----------
    nodes : ndarray, shape (K,)
    smoothing : float
        lambda_e.

    Returns
    -------
    float
    """
    from scipy.interpolate import CubicSpline

    k = nodes.size
    residual = np.eye(k) - SmoothingSpline(smoothing).operator(nodes, nodes)
    # the roughness of the smoothest function through the data, by SciPy's spline: |bend x|^2
    bent = CubicSpline(nodes, np.eye(k), bc_type="natural")(nodes, 2)
    gaps = np.diff(nodes)[:, None]
    mean, half = (bent[1:] + bent[:-1]) / 2, (bent[1:] - bent[:-1]) / 2
    bend = np.concatenate([np.sqrt(gaps) * mean, np.sqrt(gaps / 3) * half])
    _, sizes, directions = np.linalg.svd(bend, full_matrices=False)
    # straight lines are neither bent nor missed
    return float(np.linalg.norm(residual @ (directions[: k - 2].T / sizes[: k - 2]), 2) ** 2 / k)
