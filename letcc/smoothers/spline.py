"""The smoothing spline: kernel ridge regression in the second-order Sobolev space."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg.lapack import dptsv

from letcc.exceptions import InvalidInput
from letcc.nodes import BoolArray, FloatArray, IndexArray
from letcc.smoothers._markov import MarkovSystem, Prior
from letcc.smoothers.base import AbstractLinearSmoother, checked_smoothing

_TINY = 1e-280  # below it gaps**3 / (n lambda) could overflow, and no spline in double precision feels it


@final
@dataclass(frozen=True)
class SmoothingSpline(AbstractLinearSmoother):
    r"""Natural cubic smoothing spline, mean form.

    The minimiser over the second-order Sobolev space of

    .. math:: \frac1n \sum_i (y_i - u(t_i))^2 + \lambda \int u''(t)^2 \, dt .

    It interpolates at :math:`\lambda = 0`, is the least-squares line at infinity, and is linear outside the
    outermost nodes. One node gives a constant, two give their line. Time and memory are linear in n.

    Parameters
    ----------
    smoothing : float
        :math:`\lambda \ge 0`; infinity is allowed. SciPy's ``make_smoothing_spline`` has the sum form,
        ``lam = n * smoothing``; csaps has ``smooth = 1 / (1 + n * smoothing)``.

    Raises
    ------
    InvalidInput
        If `smoothing` is negative, NaN or not a number.

    Notes
    -----
    The usual equations for the second derivatives (Reinsch, Numer. Math. 10, 1967) divide by the gaps and square
    the condition number. Here the spline is the path of a two-state Markov process (Wahba, *J. R. Stat. Soc. B* 40,
    1978): value and slope at each node, tied across each gap h by

    .. math:: \Phi = \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
              C = \begin{pmatrix} h^3/3 & h^2/2 \\ h^2/2 & h \end{pmatrix},

    which `_markov` solves to a few units in the last place for any smoothing and any spacing of the nodes.
    """

    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the smoothing once, so that no operator has to."""
        object.__setattr__(self, "smoothing", checked_smoothing(self.smoothing))

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        if nodes.size == 1:
            return np.ones((targets.size, 1))
        gaps = np.diff(nodes)
        total = nodes.size * self.smoothing
        if total < _TINY or nodes.size == 2:
            return _interpolation(nodes, gaps, targets)
        return _smoothing(nodes, gaps, total, targets)


def _intervals(nodes: FloatArray, targets: FloatArray) -> tuple[IndexArray, FloatArray, FloatArray, BoolArray]:
    """The gap that each target is evaluated in, its distances from both ends, and where it lies inside."""
    left = np.searchsorted(nodes[1:-1], targets, side="right")
    after, before = targets - nodes[left], targets - nodes[left + 1]
    return left, after, before, (after >= 0) & (before <= 0)


def _smoothing(nodes: FloatArray, gaps: FloatArray, theta: float, targets: FloatArray) -> FloatArray:
    """Rows for theta = n lambda > 0: value and slope as states, cubic Hermite between the nodes."""
    square = gaps * gaps
    prior = Prior(gaps, np.stack([square * gaps / 3, square / 2, gaps]))
    system = MarkovSystem(prior, theta, nodes[-1] - nodes[0])
    left, after, before, inside = _intervals(nodes, targets)
    gap = gaps[left]
    d, e = after / gap, -before / gap
    functionals = np.stack([e * e * (1 + 2 * d), after * e * e, d * d * (1 + 2 * e), d * d * before])
    if not inside.all():  # outside, the value and the slope of the nearer end
        first = after < 0
        ends = np.stack([first, first * after, ~first, ~first * before])
        functionals = np.where(inside, functionals, ends)
    return system.rows(left, functionals)


def _interpolation(nodes: FloatArray, gaps: FloatArray, targets: FloatArray) -> FloatArray:
    """Rows for lambda = 0, by the tridiagonal system of the second derivatives."""
    left, after, before, inside = _intervals(nodes, targets)
    gap = gaps[left]
    d, e = after / gap, -before / gap
    k = np.arange(targets.size)
    rows = np.zeros((targets.size, nodes.size))
    rows[k, left], rows[k, left + 1] = e, d
    if nodes.size == 2:
        return rows
    # outside, only the inner node's second derivative bends the end's slope; the outer one is zero
    bending = np.zeros((nodes.size, targets.size), order="F")
    bending[left, k] = np.where(inside, after * before * (1 + e), np.where(after < 0, 0, before * gap)) / 6
    bending[left + 1, k] = np.where(inside, after * before * (1 + d), np.where(after < 0, -after * gap, 0)) / 6
    _, _, second, info = dptsv((gaps[:-1] + gaps[1:]) / 3, gaps[1:-1] / 6, bending[1:-1])
    assert info == 0, "the system of a spline's second derivatives is positive definite"
    bending[1:-1] = second
    bending[[0, -1]] = 0
    with np.errstate(over="ignore"):
        shears = (np.diff(bending, axis=0) / gaps[:, None]).T
    if not np.isfinite(shears).all():
        i = int(gaps.argmin())
        raise InvalidInput(
            f"the nodes {nodes[i]} and {nodes[i + 1]} are too close for an interpolating spline in double precision: "
            "drop one of them or use a positive smoothing"
        )
    rows[:, :-1] += shears
    rows[:, 1:] -= shears
    return rows
