"""Kernel ridge regression in the second-order Sobolev space with its full norm."""

from dataclasses import dataclass
from typing import final

import numpy as np

from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray, IndexArray
from letcc.smoothers._markov import MarkovSystem, Prior
from letcc.smoothers.base import AbstractLinearSmoother, checked_smoothing

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
    length_scale : float
        :math:`\ell > 0`, in the unit of the points; finite.
    smoothing : float
        :math:`\lambda \ge 0`; 0 interpolates, infinity gives the mean of the values.

    Raises
    ------
    InvalidInput
        If `length_scale` is not positive and finite, or `smoothing` is negative, NaN or not a number.

    Notes
    -----
    With :math:`a = \sqrt 3 / \ell` the norm is :math:`\|g\|_k^2 = \int (g'' + 2 a g' + a^2 g)^2 + 4 a^3 g(-1)^2 +
    4 a g'(-1)^2` on (-1, 1) (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2, for
    Matérn 3/2). In the states g and v = g' + a g the process moves by

    .. math:: \Phi = e^{-ah} \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
              C = \int_0^h e^{-2a\tau} \begin{pmatrix} \tau^2 & \tau \\ \tau & 1 \end{pmatrix} d\tau .
    """

    length_scale: float
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters once, so that no operator has to."""
        object.__setattr__(self, "smoothing", checked_smoothing(self.smoothing))
        try:
            length = float(self.length_scale)
        except (TypeError, ValueError):
            raise InvalidInput(f"length_scale must be a number, not {self.length_scale!r}") from None
        if not 0 < length < np.inf:
            raise InvalidInput(
                f"length_scale is {length}: it must be positive and finite (for its limit use SmoothingSpline)"
            )
        object.__setattr__(self, "length_scale", length)

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        n = nodes.size
        theta = n * self.smoothing
        if np.isinf(theta):
            return np.full((targets.size, n), 1 / n)
        rate = np.sqrt(3) / self.length_scale
        gaps = np.diff(nodes)
        innovation = _innovation(gaps, rate)
        first = np.array([1 / (4 * rate**3), 1 / (4 * rate**2), 1 / (2 * rate)])
        least = min(innovation[0].min(initial=np.inf), first[0])
        pull = np.column_stack([[1, rate], _pull(gaps, rate)])
        prior = Prior(gaps, innovation, np.exp(-rate * gaps), first, pull)
        system = MarkovSystem(
            prior, max(theta, _INTERPOLATES * least), min(nodes[-1] - nodes[0], self.length_scale) or 1
        )
        return system.rows(*_functionals(nodes, innovation, rate, targets))


def _pull(distance: FloatArray, rate: float) -> FloatArray:
    """What is missing of a constant 1, whose state is (1, a), after it has moved by Phi: shape (2, ...)."""
    from scipy.special import gammainc  # costs more to import than the rest of letcc

    return np.stack([gammainc(2, rate * distance), -rate * np.expm1(-rate * distance)])


def _innovation(gaps: FloatArray, rate: float) -> FloatArray:
    """C of each gap, shape (3, ...): incomplete gamma functions over the powers of the gap."""
    from scipy.special import gammainc  # costs more to import than the rest of letcc

    x = 2 * rate * gaps
    small = x < 1e-5
    safe = np.where(small, 1, x)
    return np.stack(
        [
            gaps**3 / 3 * np.where(small, 1 - 3 * x / 4, 6 * gammainc(3, x) / safe**3),
            gaps**2 / 2 * np.where(small, 1 - 2 * x / 3, 2 * gammainc(2, x) / safe**2),
            gaps * np.where(small, 1 - x / 2, -np.expm1(-x) / safe),
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
