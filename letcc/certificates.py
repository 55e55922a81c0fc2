"""The exact worst case of any linear scheme over a ball of the second-order Sobolev space."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InfiniteCertificate, InvalidInput
from letcc.nodes import FloatArray
from letcc.received import as_indices
from letcc.scheme import CodedScheme
from letcc.smoothers import AbstractLinearSmoother

Ball = Literal["seminorm", "full"]

_REPRODUCES = 1e-10  # how exactly a matrix reproduces lines for its worst case to count as finite
_LOUDEST = 1e100  # noise whose variance is far inside the range of a double
_ZERO = (64 * np.finfo(float).eps) ** 2  # a squared bias below this is rounding


def certify(
    scheme: CodedScheme,
    received: ArrayLike | None = None,
    *,
    ball: Ball = "seminorm",
    noise_std: float = 0.0,
) -> "Certificate":
    r"""Certify the worst error of decoding from one received set.

    The error at a data point is a linear functional of the decoded function g = f o u_e,

    .. math:: e_k(g) = g(\alpha_k) - \sum_v L_{kv} g(\beta_v),

    whose norm is computed exactly: with the Peano kernel :math:`\kappa_k(s) = e_k[(\cdot - s)_+]`, piecewise linear,
    :math:`W_{kj} = \int_{-1}^1 \kappa_k \kappa_j \, ds` (Sard, *Linear Approximation*, 1963, chapter 1).

    Parameters
    ----------
    scheme : CodedScheme
        Any: only its points and its decoding matrix matter.
    received : sequence of int, mask of bool, or None
        Which workers answered; None means all.
    ball : {"seminorm", "full"}
        "seminorm": all g with :math:`\int g''^2 \le 1`, finite iff the decoding matrix reproduces straight lines.
        "full": :math:`g(-1)^2 + g'(-1)^2 + \int g''^2 \le 1`, always finite. Both agree where both are finite.
    noise_std : float
        Standard deviation of independent noise added by each worker to its output.

    Returns
    -------
    Certificate

    Raises
    ------
    InfiniteCertificate
        If the seminorm's worst case is unbounded for this scheme and received set.
    InvalidInput
        If an argument is out of its range.
    TooFewReceived
        If fewer than ``scheme.min_received`` workers answered.

    Examples
    --------
    The function on which the scheme is worst is decoded exactly as badly as certified:

    >>> import numpy as np, letcc
    >>> scheme = letcc.CodedScheme.letcc(num_data=4, num_workers=30)
    >>> received = [n for n in range(30) if n % 7]
    >>> certificate = letcc.certify(scheme, received)
    >>> f"{certificate.worst_pointwise_mse:.3g}"
    '1.89e-06'
    >>> g = certificate.extremal
    >>> error = scheme.decode(g(scheme.worker_points)[received], received) - g(scheme.data_points)
    >>> f"{np.abs(error).max() ** 2:.3g}"
    '1.89e-06'
    """
    check_ball(ball)
    check_noise(noise_std)
    indices = as_indices(received, scheme.num_workers)
    matrix, nodes = scheme.decoding_matrix(indices), scheme.worker_points[indices]
    functionals = _ErrorFunctionals.of(matrix, nodes, scheme.data_points)
    if ball == "seminorm":
        amplified = np.abs(matrix).sum(axis=1)
        check_reproduces_lines(
            scheme.decoder, functionals.constants, functionals.slopes - functionals.constants, amplified
        )
        functionals = functionals.on_seminorm()
    return Certificate(functionals, functionals.squared_norms(), (matrix**2).sum(axis=1), float(noise_std))


def check_ball(ball: str) -> None:
    """Refuse an unknown ball."""
    if ball not in ("seminorm", "full"):
        raise InvalidInput(f'ball must be "seminorm" or "full", not {ball!r}')


def check_noise(noise_std: float) -> None:
    """Refuse a negative or infinite standard deviation."""
    if not isinstance(noise_std, (int, float, np.integer, np.floating)) or not 0 <= noise_std <= _LOUDEST:
        raise InvalidInput(f"noise_std is {noise_std!r}: it must be a number from 0 to {_LOUDEST}")


def reproduces_lines(constants: FloatArray, lines: FloatArray, amplified: FloatArray) -> bool:
    """Whether all of the errors e_k[1] and e_k[t] are rounding, as the matrix's row sums amplify it."""
    return bool(_line_defect(constants, lines, amplified).max() <= _REPRODUCES)


def check_reproduces_lines(
    decoder: AbstractLinearSmoother, constants: FloatArray, lines: FloatArray, amplified: FloatArray
) -> None:
    """Refuse the seminorm where lines are not reproduced."""
    if not reproduces_lines(constants, lines, amplified):
        defect = _line_defect(constants, lines, amplified)
        *_, k = np.unravel_index(np.argmax(defect), defect.shape)
        raise InfiniteCertificate(
            f"{decoder} does not reproduce straight lines from what was received (off by {defect.max():.1e} at "
            f"data point {k}), so that its worst case over int g''^2 <= 1 is infinite: use ball=\"full\""
        )


def _line_defect(constants: FloatArray, lines: FloatArray, amplified: FloatArray) -> FloatArray:
    defect: FloatArray = np.maximum(np.abs(constants), np.abs(lines)) / np.maximum(amplified, 1)
    return defect


@dataclass(frozen=True, eq=False)
class Certificate:
    """The exact worst case of a scheme for one received set, and the function that attains it.

    Attributes
    ----------
    squared_bias : ndarray, shape (K,)
        W_kk: the largest squared error at each data point over the ball.
    noise_gain : ndarray, shape (K,)
        Sum of the squared decoding weights: the variance at each data point for noise of variance 1.
    noise_std : float
        Standard deviation of the workers' noise.
    """

    _functionals: "_ErrorFunctionals" = field(repr=False)
    squared_bias: FloatArray
    noise_gain: FloatArray
    noise_std: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.squared_bias.setflags(write=False)
        self.noise_gain.setflags(write=False)

    @property
    def worst_pointwise_mse(self) -> float:
        """Largest expected squared error at any one data point."""
        return float(np.max(self.squared_bias + self.noise_std**2 * self.noise_gain))

    def bounded_curvature_error(self, curvature: float, slope: float) -> FloatArray:
        r"""Largest error at each data point over another ball: functions of bounded derivatives.

        Parameters
        ----------
        curvature, slope : float
            Bounds on :math:`|g''|` and :math:`|g'|` over [-1, 1]. The slope matters only where the decoding matrix
            does not reproduce straight lines.

        Returns
        -------
        ndarray, shape (K,)
            :math:`\int |\kappa_k| \, ds \max|g''| + |e_k[t]| \max|g'|`, with the kernel anchored at the data point:
            exact where lines are reproduced, an upper bound elsewhere.
        """
        return self._functionals.bounded_curvature_error(curvature, slope)

    @cached_property
    def worst_average_mse(self) -> float:
        """Largest expected squared error averaged over the data points, one function against all of them."""
        bias = float(np.linalg.eigvalsh(self._functionals.gram())[-1]) / self.squared_bias.size
        return bias + self.noise_std**2 * float(np.mean(self.noise_gain))

    def extremal(self, x: ArrayLike) -> FloatArray:
        """The function of the unit ball on which the worst pointwise squared bias is attained.

        Parameters
        ----------
        x : array_like
            Where to evaluate it, of any shape; outside [-1, 1] it goes on as a straight line.

        Returns
        -------
        ndarray of float64
            Of the shape of `x`. Zero everywhere where the certificate is zero.
        """
        k = int(np.argmax(self.squared_bias))
        bias = float(self.squared_bias[k])
        if bias <= _ZERO:
            return np.zeros(np.shape(x))
        values: FloatArray = self._functionals.representer(k, np.asarray(x, dtype=np.float64)) / np.sqrt(bias)
        return values


@dataclass(frozen=True)
class _ErrorFunctionals:
    """The errors e_k as elements of the dual space: two moments about -1 and a piecewise linear Peano kernel."""

    targets: FloatArray  # alpha_k, shape (K,)
    constants: FloatArray  # e_k[1], shape (K,)
    slopes: FloatArray  # e_k[t + 1], shape (K,)
    breakpoints: FloatArray  # ascending from -1 to 1, shape (B,)
    kernels: FloatArray  # kappa_k at the breakpoints, shape (K, B)

    @classmethod
    def of(cls, matrix: FloatArray, nodes: FloatArray, targets: FloatArray) -> "_ErrorFunctionals":
        points = np.concatenate([[-1.0, 1.0], nodes, targets])
        breakpoints, place = np.unique(points, return_inverse=True)
        k = np.arange(targets.size)
        weights = np.zeros((targets.size, breakpoints.size))
        weights[:, place[2 : 2 + nodes.size]] = -matrix
        weights[k, place[2 + nodes.size :]] += 1
        # kappa(s) sums weight * (point - s) over the points beyond s: two running sums from the right, in which
        # nothing of order one cancels as it does in the sum of weight * weight * |x - y|^3
        beyond = weights[:, :0:-1].cumsum(axis=1)
        kernels = np.zeros_like(weights)
        kernels[:, -2::-1] = (beyond * np.diff(breakpoints)[::-1]).cumsum(axis=1)
        return cls(targets, 1 - matrix.sum(axis=1), targets + 1 - matrix @ (nodes + 1), breakpoints, kernels)

    def on_seminorm(self) -> "_ErrorFunctionals":
        """The same without the moments, which are rounding where lines are reproduced."""
        zero = np.zeros_like(self.constants)
        return _ErrorFunctionals(self.targets, zero, zero, self.breakpoints, self.kernels)

    def squared_norms(self) -> FloatArray:
        """The diagonal of `gram`, without the rest of it."""
        a, b = self.kernels[:, :-1], self.kernels[:, 1:]
        norms: FloatArray = self.constants**2 + self.slopes**2 + (a * a + a * b + b * b) @ np.diff(self.breakpoints) / 3
        return norms

    def bounded_curvature_error(self, curvature: float, slope: float) -> FloatArray:
        """See `Certificate.bounded_curvature_error`; e_k[1] is taken as 0."""
        lines = self.slopes - self.constants  # e_k[t]
        left = self.breakpoints[1:] <= self.targets[:, None]
        # left of the anchor, (t - s)_+ is t - s plus the part that points left
        a, b = (
            np.where(left, kernel - lines[:, None], kernel) for kernel in (self.kernels[:, :-1], self.kernels[:, 1:])
        )
        size = np.abs(a) + np.abs(b)
        crossing = np.where(a * b < 0, (a * a + b * b) / np.where(size > 0, size, 1), size)
        error: FloatArray = curvature * (crossing @ np.diff(self.breakpoints)) / 2 + slope * np.abs(lines)
        return error

    def gram(self) -> FloatArray:
        """Inner products W_kj, shape (K, K)."""
        a, b = self.kernels[:, :-1], self.kernels[:, 1:]
        weighted = np.diff(self.breakpoints) / 6
        kernel_part = (a * weighted) @ (2 * a + b).T + (b * weighted) @ (a + 2 * b).T
        gram: FloatArray = np.outer(self.constants, self.constants) + np.outer(self.slopes, self.slopes) + kernel_part
        return gram

    def representer(self, k: int, x: FloatArray) -> FloatArray:
        """The function g with <g, h> = e_k(h) for every h, at x."""
        from scipy.interpolate import PPoly  # costs more to import than the rest of letcc

        values = self.kernels[k]
        second = PPoly(np.stack([np.diff(values) / np.diff(self.breakpoints), values[:-1]]), self.breakpoints)
        inside = np.clip(x, -1, 1)
        bent = second.antiderivative(2)(inside) + second.antiderivative(1)(inside) * (x - inside)
        result: FloatArray = self.constants[k] + self.slopes[k] * (x + 1) + bent
        return result
