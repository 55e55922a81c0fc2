"""The smoothing spline: kernel ridge regression in the second-order Sobolev space."""

import warnings
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Literal, TypeAlias, final, get_args

import numpy as np
from scipy.linalg.lapack import dpttrf, dpttrs

from letcc.nodes import FloatArray, IndexArray
from letcc.selection import bounds, minimise, scores
from letcc.smoothers._markov import MarkovSystem, Prior
from letcc.smoothers._markov_batch import spline_rows
from letcc.smoothers.base import AbstractLinearSmoother, number_or_rule

_TINY = 1e-280  # below it gaps**3 / (n lambda) could overflow, and no spline in double precision feels it
SplineRule: TypeAlias = Literal["gcv", "loo"]

_INTERPOLATES = 1e-40  # times the smallest gap cubed: no double can tell it from no smoothing at all
_FLOATS = 2**18  # of a block of interpolating rows worked on together


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
    smoothing : float, "gcv" or "loo"
        :math:`\lambda \ge 0`, infinity included, or the rule that `resolve` chooses it by: generalised
        cross-validation or leave-one-out. SciPy's ``make_smoothing_spline`` has the sum form,
        ``lam = n * smoothing``; csaps has ``smooth = 1 / (1 + n * smoothing)``.

    Raises
    ------
    InvalidInput
        If `smoothing` is negative, NaN, or neither a number nor a rule.

    Notes
    -----
    The usual equations for the second derivatives (Reinsch, Numer. Math. 10, 1967) divide by the gaps and square
    the condition number. Here the spline is the path of a two-state Markov process (Wahba, *J. R. Stat. Soc. B* 40,
    1978): value and slope at each node, tied across each gap h by

    .. math:: \Phi = \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
              C = \begin{pmatrix} h^3/3 & h^2/2 \\ h^2/2 & h \end{pmatrix},

    which `_markov` and, where numba is installed, `_compiled` solve to a few units in the last place for any smoothing
    and any spacing of the nodes.
    """

    smoothing: float | SplineRule = 0.0

    def __post_init__(self) -> None:
        """Check the smoothing once, so that no operator has to."""
        object.__setattr__(self, "smoothing", number_or_rule(self.smoothing, "smoothing", get_args(SplineRule)))

    @property
    def resolved(self) -> bool:
        """Whether the smoothing is a number."""
        return not isinstance(self.smoothing, str)

    def stored(self, nodes: FloatArray) -> int:
        """How many numbers the factored system of an operator holds, by counting them.

        Parameters
        ----------
        nodes : ndarray, shape (n,)
            Ascending, n >= 3, for a smoothing above 0.

        Returns
        -------
        int
        """
        theta = nodes.size * float(self.smoothing)
        return MarkovSystem(_prior(np.diff(nodes)), theta, nodes[-1] - nodes[0]).stored

    def _resolve(self, nodes: FloatArray, values: FloatArray) -> "SmoothingSpline":
        rule = self.smoothing
        assert isinstance(rule, str)
        if nodes.size <= 3:  # at most one degree of freedom is left, about which every score says nothing
            return SmoothingSpline(0.0)
        prior, length = _prior(np.diff(nodes)), nodes[-1] - nodes[0]
        low, high = bounds(nodes)
        best, end = minimise(
            lambda theta: scores(rule, prior, values, theta[:, 0], length), np.array([low]), np.array([high])
        )
        return SmoothingSpline({-1: 0.0, 0: best[0] / nodes.size, 1: np.inf}[int(end[0])])

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        theta = nodes.size * float(self.smoothing)
        if nodes.size <= 2 or theta < _TINY:
            return _interpolation(nodes[None], targets)[0]
        rows = _compiled_rows(nodes[None], theta, targets)
        if rows is not None:
            return rows[0]
        system = MarkovSystem(_prior(np.diff(nodes)), theta, nodes[-1] - nodes[0])
        return system.rows(*_functionals(nodes, targets))

    def _sorted_operators(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        sets, n = nodes.shape
        theta = n * float(self.smoothing)
        if n <= 2 or theta < _INTERPOLATES * np.diff(nodes).min() ** 3:
            return _interpolation(nodes, targets)
        rows = _compiled_rows(nodes, theta, targets)
        if rows is not None:
            return rows
        if sets < n:  # the recursion takes one step a node, however few the sets
            return super()._sorted_operators(nodes, targets)
        return spline_rows(nodes, theta, *_functionals(nodes, targets))


@cache
def _compiled() -> ModuleType | None:
    """The module of that name, or None where numba is missing or does not work."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba's, about a matter that is not the caller's
            from letcc.smoothers import _compiled
    except Exception:  # numba is no requirement, so that nothing that is wrong with it may stop anyone
        return None
    return _compiled


def _compiled_rows(nodes: FloatArray, theta: float, targets: FloatArray) -> FloatArray | None:
    """Rows for sets of two nodes or more; None without compiled code, or at scales which that does not take."""
    compiled = _compiled()
    return None if compiled is None else compiled.rows(nodes, theta, targets)


def _prior(gaps: FloatArray) -> Prior:
    square = gaps * gaps
    return Prior(gaps, np.stack([square * gaps / 3, square / 2, gaps]))


def _intervals(nodes: FloatArray, targets: FloatArray) -> tuple[IndexArray, FloatArray, FloatArray, FloatArray]:
    """The gap in which each target is evaluated, by its left node; the distances from both its ends; its width."""
    if nodes.ndim == 1:
        left = np.searchsorted(nodes[1:-1], targets, side="right")
        start, stop = nodes[left], nodes[left + 1]
        return left, targets - start, targets - stop, stop - start
    if len(nodes) == 1:
        left, after, before, gap = _intervals(nodes[0], targets)
        return left[None], after[None], before[None], gap[None]
    right_of = nodes[:, None, 1:] > targets[:, None]
    right_of[..., -1] = True
    left = right_of.argmax(axis=2)  # the first of them ends the gap
    start, stop = np.take_along_axis(nodes, left, 1), np.take_along_axis(nodes, left + 1, 1)
    return left, targets - start, targets - stop, stop - start


def _functionals(nodes: FloatArray, targets: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Value at each target from the values and slopes at its gap's ends: cubic Hermite, shape (4, ..., k)."""
    left, after, before, gap = _intervals(nodes, targets)
    d, e = after / gap, -before / gap
    functionals = np.array([e * e * (1 + 2 * d), after * e * e, d * d * (1 + 2 * e), d * d * before])
    inside = (after >= 0) & (before <= 0)
    if not inside.all():  # outside, the value and the slope of the nearer end
        first = after < 0
        functionals = np.where(inside, functionals, np.stack([first, first * after, ~first, ~first * before]))
    return left, functionals


def _interpolation(nodes: FloatArray, targets: FloatArray) -> FloatArray:
    """Rows for lambda = 0 and sets of nodes, by the second derivatives: one tridiagonal system for many sets."""
    (sets, n), k = nodes.shape, targets.size
    if n == 1:
        return np.ones((sets, k, 1))
    compiled = _compiled_rows(nodes, 0.0, targets)
    if compiled is not None:
        return compiled
    rows = np.empty((sets, k, n))
    at_once = max(1, _FLOATS // n)  # rows that fit the cache
    sets_at_once, targets_at_once = max(1, at_once // (k or 1)), min(k, at_once)
    for first in range(0, sets, sets_at_once):
        block = slice(first, first + sets_at_once)
        gaps = np.diff(nodes[block])
        factors = _second_derivatives(gaps)
        for start in range(0, k, targets_at_once or 1):
            chunk = slice(start, start + targets_at_once)
            rows[block, chunk] = _interpolating_rows(nodes[block], gaps, factors, targets[chunk])
    return rows


def _second_derivatives(gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The factored system of the second derivatives, zero at both ends of each set; a row of ones for n = 2."""
    diagonal, neighbours = np.ones((len(gaps), gaps.shape[1] + 1)), np.zeros((len(gaps), gaps.shape[1] + 1))
    diagonal[:, 1:-1] = (gaps[:, :-1] + gaps[:, 1:]) / 3
    neighbours[:, 1:-2] = gaps[:, 1:-1] / 6
    # positive definite but where gaps underflow, which shows in the result
    d, e, _ = dpttrf(diagonal.ravel(), neighbours.ravel()[:-1], overwrite_d=True, overwrite_e=True)
    return d, e


def _interpolating_rows(
    nodes: FloatArray, gaps: FloatArray, factors: tuple[FloatArray, FloatArray], targets: FloatArray
) -> FloatArray:
    (sets, n), k = nodes.shape, targets.size
    left, after, before, gap = _intervals(nodes, targets)
    d, e = after / gap, -before / gap
    # outside, only the inner node's second derivative bends the end's slope; the outer one is zero
    inside = (after >= 0) & (before <= 0)
    at_left, at_right = after * before * (1 + e) / 6, after * before * (1 + d) / 6
    if not inside.all():
        at_left = np.where(inside, at_left, np.where(after < 0, 0, before * gap / 6))
        at_right = np.where(inside, at_right, np.where(after < 0, -after * gap / 6, 0))
    here = np.arange(k)[:, None], np.arange(sets), left.T
    beside = (*here[:2], left.T + 1)
    bending = np.zeros((k, sets, n))
    bending[here], bending[beside] = at_left.T, at_right.T
    bending[:, :, 0] = bending[:, :, -1] = 0
    second, _ = dpttrs(*factors, bending.reshape(k, sets * n).T, overwrite_b=True)
    second = second.T.reshape(k, sets, n)
    shears = second[..., 1:] - second[..., :-1]
    shears /= gaps
    rows = bending  # has done its work
    rows[..., :-1], rows[..., -1] = shears, 0
    rows[..., 1:] -= shears
    rows[here] += e.T
    rows[beside] += d.T
    return rows.transpose(1, 0, 2)
