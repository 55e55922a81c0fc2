"""What no decoder can beat: the optimal recovery without noise, the best linear decoder with it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme, certify, optimal_squared_bias
from letcc.nodes import FloatArray
from letcc.rates import Verdict
from letcc.scheme import PointFamily
from letcc.smoothers import CubicBSpline, FloaterHormann, SmoothingSpline
from letcc.stragglers import AtMost
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from letcc.certificates import Ball
    from theory.claims import Claim

_SETS = 100
_EQUAL = 1e-6

_DECODERS = {
    "Floater-Hormann, degree 3": FloaterHormann(3),
    "cubic B-spline": CubicBSpline(),
    "LeTCC, lambda = 1e-6": SmoothingSpline(1e-6),
}


@final
@dataclass(frozen=True)
class OptimalRecovery(AbstractEvidence):
    """The ratio of each scheme's worst error to that of the best of all decoders, linear or not.

    Attributes
    ----------
    num_workers, num_data, stragglers : int
    families : tuple of str
    """

    num_workers: int = 40
    num_data: int = 8
    stragglers: int = 16
    families: tuple[PointFamily, ...] = ("chebyshev", "equispaced")

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, name, self.num_workers, self.num_data, self.stragglers, points=points, seed=scope.seed)
            for points in self.families
            for name in ("LeTCC", "BACC", *_DECODERS)
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The ratio's largest and least value over data points and received sets; see `AbstractEvidence.examine`."""
        spline = scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, points=cell.points)
        if cell.sweep == "BACC":
            scheme = CodedScheme.bacc(cell.num_data, cell.num_workers, points=cell.points)
        elif cell.sweep != "LeTCC":
            scheme = CodedScheme(scheme.encoder, _DECODERS[cell.sweep], scheme.data_points, scheme.worker_points)
        rng = np.random.default_rng(cell.seed)  # every scheme meets the same sets
        lines = cell.sweep != "BACC"  # which the seminorm needs
        ball: Ball = "seminorm" if lines else "full"
        worst, pointwise, average = [], [], []
        for _ in range(_SETS):
            received = AtMost(int(rng.integers(cell.stragglers + 1))).sample(cell.num_workers, rng)
            certificate = certify(scheme, received, ball=ball)
            best = optimal_squared_bias(scheme.worker_points[received], scheme.data_points, ball=ball)
            unknown = best > 0  # a data point that is a received worker point costs nothing
            pointwise.append(certificate.squared_bias[unknown] / best[unknown])
            worst.append(certificate.squared_bias.max() / best.max())
            if lines:
                average.append(certificate.worst_average_mse / certify(spline, received).worst_average_mse)
        ratios = np.concatenate(pointwise)
        return {
            "error": float(np.max(worst)),
            "median": float(np.median(worst)),
            "least": float(min(ratios.min(), min(average, default=1.0))),
            "most": float(ratios.max()),
            "average": float(max(average, default=np.nan)),
        }

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        evidence: dict[str, Any] = {}
        for row in table:
            name = f"{row['sweep']}, {row['points']}"
            evidence[f"error / optimum, {name}"] = f"{row['median']:.4g} (median), {row['error']:.4g} (largest)"
        least = min(row["least"] for row in table)
        attained = [row for row in table if row["sweep"] == "LeTCC"]
        off = max(abs(row[name] - 1) for row in attained for name in ("least", "most"))
        evidence |= {"LeTCC's distance from 1": off, "least ratio of all": least}
        if least < 1 - _EQUAL or off > _EQUAL:
            return Verdict.REFUTED, evidence
        return Verdict.HOLDS, evidence


@final
@dataclass(frozen=True)
class BestLinear(AbstractEvidence):
    """The certificate at lambda* = sigma^2 / n beside the best of all linear decoders, solved for directly.

    Also the lambda that is best for the average over the data points, which is another one.

    Attributes
    ----------
    workers : tuple of int
        N.
    num_data : int
        K.
    families : tuple of str
    """

    workers: tuple[int, ...] = (32, 64, 128)
    num_data: int = 8
    families: tuple[PointFamily, ...] = ("chebyshev", "equispaced")

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, "N", n, self.num_data, n // 4, points=points, seed=scope.seed)
            for points in self.families
            for n in self.workers
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """Over a received set of random workers; see `AbstractEvidence.examine`."""
        from scipy.optimize import minimize_scalar

        received = AtMost(cell.stragglers).sample(cell.num_workers, cell.seed)
        best = claim.noise_std**2 / received.size

        def certified(smoothing: float) -> Any:
            scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, decoder_smoothing=smoothing, points=cell.points)
            return certify(scheme, received, noise_std=claim.noise_std), scheme

        certificate, scheme = certified(best)
        found = certificate.squared_bias + claim.noise_std**2 * certificate.noise_gain
        least = best_linear_mse(scheme.worker_points[received], scheme.data_points, claim.noise_std)
        average = minimize_scalar(lambda log: certified(best * np.exp(log))[0].worst_average_mse, bounds=(-3, 5))
        return {
            "error": float((found / least).max()),
            "least": float((found / least).min()),
            "average": float(np.exp(average.x)),
        }

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        off = max(abs(row[name] - 1) for row in table for name in ("error", "least"))
        average = float(np.median([row["average"] for row in table]))
        evidence: dict[str, Any] = {
            "off the best linear decoder by": off,
            "lambda / lambda*, best for the average": average,
        }
        return (Verdict.HOLDS if off <= _EQUAL else Verdict.REFUTED), evidence


def best_linear_mse(nodes: FloatArray, targets: FloatArray, noise_std: float) -> FloatArray:
    """The least worst-case mean squared error of any linear decoder over the seminorm ball, at each target.

    Parameters
    ----------
    nodes : ndarray, shape (n,)
    targets : ndarray, shape (k,)
    noise_std : float
        sigma, positive.

    Returns
    -------
    ndarray, shape (k,)
        From the dense saddle-point system of kriging with the kernel ``|x - y|^3 / 12`` and straight lines, which no
        code of letcc's smoothers enters.
    """
    n = nodes.size
    lines = np.stack([np.ones(n), nodes])
    system = np.zeros((n + 2, n + 2))
    system[:n, :n] = np.abs(nodes[:, None] - nodes) ** 3 / 12 + noise_std**2 * np.eye(n)
    system[:n, n:], system[n:, :n] = lines.T, lines
    right = np.concatenate([np.abs(nodes[:, None] - targets) ** 3 / 12, [np.ones(targets.size), targets]])
    solution = np.linalg.solve(system, right)
    mse: FloatArray = -np.einsum("nk,nk->k", right, solution)
    return mse
