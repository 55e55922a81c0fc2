"""Kernel ridge regression in the second-order Sobolev space with its full norm."""

from dataclasses import dataclass
from typing import final, get_args

import numpy as np

from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray, IndexArray
from letcc.selection import Rule, bounds, minimise, scores
from letcc.smoothers._markov import MarkovSystem, Prior
from letcc.smoothers.base import AbstractLinearSmoother, number_or_rule

_INTERPOLATES = 1e-40  # of the smallest innovation: no double can tell it from no smoothing at all


@final
@dataclass(frozen=True)
class SobolevRidge(AbstractLinearSmoother):
    r"""Kernel ridge regression with a Matérn kernel and an unpenalised constant, mean form.

    The minimiser over constants c and functions of the second-order Sobolev space of

    .. math:: \frac1n \sum_i (y_i - u(t_i))^2 + \lambda \|u - c\|_k^2, \qquad
              k(r) = \frac{\ell^3}{12 \sqrt 3} \Bigl(1 + \frac{\sqrt 3 r}{\ell}\Bigr) e^{-\sqrt 3 r / \ell} .

    Where workers are lost it returns to the mean over the length :math:`\ell`, where the smoothing spline goes on as a
    straight line. With this scale of the kernel the spline of the same :math:`\lambda` is its limit for large
    :math:`\ell`, at a distance of order :math:`1/\ell`. Time and memory are linear in n.

    Parameters
    ----------
    length_scale : float, "gcv", "loo" or "likelihood"
        :math:`\ell > 0`, in the unit of the points, finite, or the rule that `resolve` chooses it by: generalised
        cross-validation, leave-one-out or restricted marginal likelihood.
    smoothing : float, "gcv", "loo" or "likelihood"
        :math:`\lambda \ge 0`, or the rule; 0 interpolates, infinity gives the mean of the values.

    Raises
    ------
    InvalidInput
        If `length_scale` is not positive and finite, `smoothing` is negative or NaN, one of them is neither a number
        nor a rule, or they are different rules.

    Notes
    -----
    With :math:`a = \sqrt 3 / \ell` the norm is :math:`\|g\|_k^2 = \int (g'' + 2 a g' + a^2 g)^2 + 4 a^3 g(-1)^2 +
    4 a g'(-1)^2` on (-1, 1) (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2, for
    Matérn 3/2). In the states g and v = g' + a g the process moves by

    .. math:: \Phi = e^{-ah} \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
              C = \int_0^h e^{-2a\tau} \begin{pmatrix} \tau^2 & \tau \\ \tau & 1 \end{pmatrix} d\tau .
    """

    length_scale: float | Rule
    smoothing: float | Rule = 0.0

    def __post_init__(self) -> None:
        """Check the parameters once, so that no operator has to."""
        for name in ("length_scale", "smoothing"):
            object.__setattr__(self, name, number_or_rule(getattr(self, name), name, get_args(Rule)))
        if self.length_scale in (0, np.inf):
            raise InvalidInput(
                f"length_scale is {self.length_scale}: it must be positive and finite (its limit is SmoothingSpline)"
            )
        if len(self._rules) > 1:
            raise InvalidInput(f"{self} has two different rules: choose length_scale and smoothing by the same one")

    @property
    def _rules(self) -> set[Rule]:
        return {value for value in (self.length_scale, self.smoothing) if isinstance(value, str)}

    @property
    def resolved(self) -> bool:
        """Whether both parameters are numbers."""
        return not self._rules

    def _resolve(self, nodes: FloatArray, values: FloatArray) -> "SobolevRidge":
        (rule,) = self._rules
        extent = float(nodes[-1] - nodes[0])
        length, smoothing = self.length_scale, self.smoothing
        if nodes.size <= 2 or smoothing == np.inf:  # too little to choose from, or nothing left to choose
            return SobolevRidge(
                (extent or 1.0) if isinstance(length, str) else length, 0.0 if isinstance(smoothing, str) else smoothing
            )
        lengths = (extent / (2 * nodes.size), 10 * extent) if isinstance(length, str) else (length, length)
        if isinstance(smoothing, str):
            thetas = bounds(nodes)
        else:
            theta = max(nodes.size * smoothing, bounds(nodes)[0])
            thetas = (theta, theta)

        def score(points: FloatArray) -> FloatArray:
            found = np.empty(len(points))
            for each in np.unique(points[:, 0]):
                at = points[:, 0] == each
                prior = _prior(nodes, np.sqrt(3) / each)
                found[at] = scores(rule, prior, values, points[at, 1], min(extent, each))
            return found

        low, high = np.array([lengths, thetas]).T
        best, end = minimise(score, low, high)
        if isinstance(smoothing, str):
            smoothing = {-1: 0.0, 0: best[1] / nodes.size, 1: np.inf}[int(end[1])]
        return SobolevRidge(best[0] if isinstance(length, str) else length, smoothing)

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        n, length = nodes.size, float(self.length_scale)
        theta = n * float(self.smoothing)
        if np.isinf(theta):
            return np.full((targets.size, n), 1 / n)
        rate = np.sqrt(3) / length
        prior = _prior(nodes, rate)
        assert prior.first is not None
        least = min(prior.innovation[0].min(initial=np.inf), prior.first[0])
        system = MarkovSystem(prior, max(theta, _INTERPOLATES * least), min(nodes[-1] - nodes[0], length) or 1)
        return system.rows(*_functionals(nodes, prior.innovation, rate, targets))


def _prior(nodes: FloatArray, rate: float) -> Prior:
    gaps = np.diff(nodes)
    first = np.array([1 / (4 * rate**3), 1 / (4 * rate**2), 1 / (2 * rate)])
    pull = np.column_stack([[1, rate], _pull(gaps, rate)])
    return Prior(gaps, _innovation(gaps, rate), np.exp(-rate * gaps), first, pull)


def _pull(distance: FloatArray, rate: float) -> FloatArray:
    """What is missing of a constant 1, whose state is (1, a), after it has moved by Phi: shape (2, ...)."""
    from scipy.special import gammainc  # costs more to import than the rest of letcc

    return np.stack([gammainc(2, rate * distance), -rate * np.expm1(-rate * distance)])


def _innovation(gaps: FloatArray, rate: float) -> FloatArray:
    """C of each gap, shape (3, ...): incomplete gamma functions over the powers of the gap."""
    from scipy.special import gammainc  # costs more to import than the rest of letcc

    x = 2 * rate * gaps
    small = x < 1e-4
    safe = np.where(small, 1, x)
    return np.stack(
        [
            gaps**3 / 3 * np.where(small, 1 - 3 * x / 4 + 3 * x**2 / 10 - x**3 / 12, 6 * gammainc(3, x) / safe**3),
            gaps**2 / 2 * np.where(small, 1 - 2 * x / 3 + x**2 / 4 - x**3 / 15, 2 * gammainc(2, x) / safe**2),
            gaps * np.where(small, 1 - x / 2 + x**2 / 6 - x**3 / 24, -np.expm1(-x) / safe),
        ]
    )


def _functionals(
    nodes: FloatArray, innovation: FloatArray, rate: float, targets: FloatArray
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """The expected value at each target given its neighbours' states, and what it misses of a constant 1."""
    left = np.searchsorted(nodes[1:-1], targets, side="right")
    right = np.minimum(left + 1, nodes.size - 1)
    after, before = targets - nodes[left], nodes[right] - targets
    ahead, behind = np.exp(-rate * np.abs(after)), np.exp(-rate * np.abs(before))
    # outside, the nearer state is carried out; backwards the derivative v - a g changes its sign
    to_left, to_right = [ahead * (1 - 2 * rate * after), ahead * after], [behind, -behind * before]
    missed = np.where(after < 0, _pull(np.abs(after), rate)[0], _pull(np.abs(before), rate)[0])
    if nodes.size == 1:
        return left, np.where(after < 0, to_left, to_right), missed
    gap = np.maximum(nodes[right] - nodes[left], 0)
    c11, c12, c22 = innovation[:, left]
    within = np.clip(after, 0, gap)
    d11, d12, _ = _innovation(within, rate)
    # first row of C(after) Phi(before)^T C(gap)^-1
    r1, r2 = behind * (d11 + before * d12), behind * d12
    determinant = c11 * c22 - c12**2
    k1, k2 = (r1 * c22 - r2 * c12) / determinant, (r2 * c11 - r1 * c12) / determinant
    across = np.exp(-rate * gap)
    between = [ahead - k1 * across, ahead * after - (k1 * gap + k2) * across, k1, k2]
    end = _pull(gap, rate)
    missed_between = _pull(within, rate)[0] - k1 * end[0] - k2 * end[1]
    zero = np.zeros_like(after)
    functionals = np.where(after < 0, [*to_left, zero, zero], np.where(before < 0, [zero, zero, *to_right], between))
    return left, functionals, np.where((after < 0) | (before < 0), missed, missed_between)
