"""The smoothing spline: kernel ridge regression in the second-order Sobolev space."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dptsv

from letcc.exceptions import InvalidInput
from letcc.nodes import BoolArray, FloatArray, IndexArray
from letcc.smoothers.base import AbstractLinearSmoother

_BAND = 2  # no unknown of the optimality system meets another more than two places away
_TINY = 1e-280  # below it gaps**3 / (n lambda) could overflow, and no spline in double precision feels it
_SOLVE_FLOATS = 2**22  # right-hand sides solved at once: bounds the work space at large n


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
    1978): value :math:`g_i` and slope :math:`v_i` at each node, tied across each gap :math:`h` by
    :math:`x_{i+1} = \Phi x_i + C \mu / (n \lambda)` with

    .. math:: \Phi = \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
              C = \begin{pmatrix} h^3/3 & h^2/2 \\ h^2/2 & h \end{pmatrix}.

    States and multipliers :math:`\mu = (p, q)` are solved for together, in one symmetric pentadiagonal system in
    which no gap is ever divided by. Scaled to its natural length :math:`(n\lambda)^{1/3}`, it loses no more than
    a few units in the last place for any smoothing and any spacing of the nodes.
    """

    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the smoothing once, so that no operator has to."""
        try:
            smoothing = float(self.smoothing)
        except (TypeError, ValueError):
            raise InvalidInput(f"smoothing must be a number, not {self.smoothing!r}") from None
        if not smoothing >= 0:
            raise InvalidInput(f"smoothing is {smoothing}: it must be at least 0 (0 interpolates, inf is a line)")
        object.__setattr__(self, "smoothing", smoothing)

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


def _smoothing(nodes: FloatArray, gaps: FloatArray, total: float, targets: FloatArray) -> FloatArray:
    """Rows for ``total`` = n lambda > 0, by the optimality system of states and multipliers.

    Unknowns in the order g_0, v_0, p_0, q_0, g_1, ... The system is symmetric, so that its solution for
    the evaluation functional of a target, restricted to the values g, is that target's row.
    """
    n, k = nodes.size, targets.size
    length = min(np.cbrt(total), nodes[-1] - nodes[0])
    shear = 1 / np.sqrt(1 + gaps**3 / total)  # the scales of p, q and v that make the system's entries
    moment = 1 / np.sqrt(gaps / total + length**-2.0)  # of order one
    slope = np.empty(n)
    slope[:-1] = gaps * shear
    slope[-1] = 0
    np.maximum(slope[:-1], moment, out=slope[:-1])
    np.maximum(slope[1:], moment, out=slope[1:])
    np.reciprocal(slope, out=slope)

    band = np.zeros((3 * _BAND + 1, 4 * n - 2), order="F")
    centre = 2 * _BAND  # entry (i, j) of the matrix stands at band[centre + i - j, j]
    band[centre, 0::4] = 1
    band[centre, 2::4] = -(gaps**3) * shear**2 / (3 * total)
    band[centre, 3::4] = -gaps * moment**2 / total
    band[centre - 1, 3::4] = band[centre + 1, 2::4] = -(gaps**2) * shear * moment / (2 * total)  # q with p
    band[centre - 1, 2::4] = band[centre + 1, 1:-1:4] = -gaps * shear * slope[:-1]  # p with v, left
    band[centre - 2, 2::4] = band[centre + 2, 0:-2:4] = -shear  # p with g, left
    band[centre - 2, 4::4] = band[centre + 2, 2::4] = shear  # right
    band[centre - 2, 3::4] = band[centre + 2, 1:-2:4] = -moment * slope[:-1]  # q with v, left
    band[centre - 2, 5::4] = band[centre + 2, 3::4] = moment * slope[1:]  # right
    factors, pivots, info = dgbtrf(band, _BAND, _BAND, overwrite_ab=True)
    assert info == 0, "the optimality system is non-singular for n >= 2 and n lambda > 0"

    left, after, before, inside = _intervals(nodes, targets)
    gap = gaps[left]
    d, e = after / gap, -before / gap  # cubic Hermite inside, the end's value and slope outside
    first = after < 0
    rows = np.empty((k, n))
    step = max(1, _SOLVE_FLOATS // (4 * n))
    coefficients = np.stack(
        [
            np.where(inside, e * e * (1 + 2 * d), first),
            np.where(inside, after * e * e, first * after) * slope[left],
            np.where(inside, d * d * (1 + 2 * e), ~first),
            np.where(inside, d * d * before, ~first * before) * slope[left + 1],
        ]
    )
    places = 4 * left + np.array([[0], [1], [4], [5]])
    for start in range(0, k, step):
        chunk = slice(start, min(start + step, k))
        functional = np.zeros((4 * n - 2, chunk.stop - start), order="F")
        functional[places[:, chunk], np.arange(chunk.stop - start)] = coefficients[:, chunk]
        # the transposed solve is the faster one in LAPACK, and the matrix is symmetric
        solution, _ = dgbtrs(factors, _BAND, _BAND, functional, pivots, trans=1, overwrite_b=True)
        rows[chunk] = solution[0::4].T
    return rows


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
