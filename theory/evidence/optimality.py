"""The optimal encoder and decoder are smoothing splines: stationarity, and no perturbation lowers the objective."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc.nodes import FloatArray, chebyshev_first_kind, chebyshev_second_kind
from letcc.rates import Verdict
from letcc.smoothers import AbstractLinearSmoother
from letcc.stragglers import AtMost
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

    from theory.claims import Claim

_PERTURBATIONS = 50
_OPTIMAL, _NOT_OPTIMAL = 1e-12, 1e-6  # relative decreases that only rounding, and no rounding explains
_MISSES = 1e-9  # data of order one, where what interpolates is asked for
_STATIONARY = 1e-7  # second derivatives are read off values: rounding grows with the inverse square of the gaps
_GAUSS = np.array([-1, 1]) / np.sqrt(3)  # exact for the product of two second derivatives


@final
@dataclass(frozen=True)
class SplineOptimality(AbstractEvidence):
    """What is left to gain over what a smoother returns, on random data.

    The fitted function is read off through `operator` alone, as a piecewise cubic.

    Attributes
    ----------
    smoother : callable
        From lambda to the smoother.
    smoothings : tuple of float
        lambda; at 0 the objective is the roughness of what interpolates.
    """

    smoother: Callable[[float], AbstractLinearSmoother] = field(repr=False)
    smoothings: tuple[float, ...] = (0.0, 1e-6, 1e-3, 1.0)

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, side, 32, 12, 12, parameter=smoothing, seed=scope.seed)
            for side in ("encoder", "decoder")
            for smoothing in self.smoothings
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The largest relative decrease, and the stationarity's residual; see `AbstractEvidence.examine`."""
        rng = np.random.default_rng([cell.seed, cell.sweep == "encoder"])
        nodes = chebyshev_first_kind(cell.num_data)
        if cell.sweep == "decoder":
            received = AtMost(cell.stragglers).sample(cell.num_workers, rng)
            nodes = chebyshev_second_kind(cell.num_workers)[received]
        values = rng.standard_normal(nodes.size)
        fit = _Fit.of(self.smoother(cell.parameter), nodes, values, cell.parameter)
        directions = [_perturbation(nodes, rng, interpolating=cell.parameter == 0) for _ in range(_PERTURBATIONS)]
        return {"error": max(fit.decrease(direction) for direction in directions), "stationarity": fit.stationarity()}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        decrease, residual = (max(row[name] for row in table) for name in ("error", "stationarity"))
        evidence = {"largest decrease": decrease, "stationarity's residual": residual}
        if decrease <= _OPTIMAL and residual <= _STATIONARY:
            return Verdict.HOLDS, evidence
        return (Verdict.REFUTED if decrease > _NOT_OPTIMAL else Verdict.INCONCLUSIVE), evidence


@dataclass(frozen=True)
class _Fit:
    """A piecewise cubic u through its values, and the objective (1/n) sum (y - u)^2 + lambda int u''^2 about it."""

    nodes: FloatArray
    residuals: FloatArray  # y - u at the nodes
    smoothing: float
    curvature: Callable[[FloatArray], FloatArray]  # u''

    @classmethod
    def of(cls, smoother: AbstractLinearSmoother, nodes: FloatArray, values: FloatArray, smoothing: float) -> "_Fit":
        from scipy.interpolate import PPoly

        breaks = np.concatenate([[-1.0], nodes[(nodes > -1) & (nodes < 1)], [1.0]])
        widths = np.diff(breaks)
        places = chebyshev_first_kind(4) / 2 + 0.5  # four values determine a cubic
        inside = smoother.operator(nodes, (breaks[:-1, None] + widths[:, None] * places).ravel()) @ values
        local = np.linalg.solve(np.vander(places), inside.reshape(-1, 4).T)
        cubics = PPoly(local / widths ** np.arange(3, -1, -1)[:, None], breaks)
        at_nodes = smoother.operator(nodes, nodes) @ values
        return cls(nodes, values - at_nodes, smoothing, cubics.derivative(2))

    def decrease(self, direction: "CubicSpline") -> float:
        """How much of the objective the best multiple of a perturbation removes."""
        if not self.smoothing and np.abs(self.residuals).max() > _MISSES:
            return 1.0  # whose objective is infinite
        points, weights = _quadrature(np.union1d(self.nodes, direction.x))
        bent, bend = self.curvature(points), direction(points, 2)
        moved, n = direction(self.nodes), self.nodes.size
        penalty = self.smoothing or 1.0
        data = 1.0 if self.smoothing else 0.0  # what interpolates is compared with what interpolates
        objective = data * np.mean(self.residuals**2) + penalty * weights @ bent**2
        slope = 2 * (penalty * weights @ (bent * bend) - data * self.residuals @ moved / n)
        square = data * np.mean(moved**2) + penalty * weights @ bend**2
        return float(slope**2 / (4 * square * objective))

    def stationarity(self) -> float:
        """How far n lambda u''(s) = sum_i (y_i - u(t_i)) (t_i - s)_+ is from holding, relative to its size.

        At lambda = 0 the right-hand side is free but for being linear between nodes and zero outside.
        """
        points, _ = _quadrature(self.nodes)
        bent = self.curvature(points)
        size = np.abs(bent).max()
        if self.smoothing:
            moments = np.clip(self.nodes - points[:, None], 0, None) @ self.residuals
            return float(np.abs(moments / (self.nodes.size * self.smoothing) - bent).max() / size)
        just_inside = self.nodes[[0, -1]] * (1 - 1e-12)
        outside = bent[(points < self.nodes[0]) | (points > self.nodes[-1])]
        return float(np.abs(np.concatenate([outside, self.curvature(just_inside)])).max() / size)


def _perturbation(nodes: FloatArray, rng: np.random.Generator, *, interpolating: bool) -> "CubicSpline":
    """A random spline; zero at the nodes where it must not move what interpolates."""
    from scipy.interpolate import CubicSpline

    knots = np.union1d(nodes, np.concatenate([[-1, 1], rng.uniform(-1, 1, 8)]))
    values = rng.standard_normal(knots.size)
    if interpolating:
        values[np.isin(knots, nodes)] = 0
    return CubicSpline(knots, values, bc_type="natural")


def _quadrature(knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and weights on [-1, 1], exact for piecewise cubics with these knots."""
    breaks = np.union1d(knots, [-1.0, 1.0])
    centres, halves = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
    return (centres[:, None] + halves[:, None] * _GAUSS).ravel(), np.repeat(halves, _GAUSS.size)
