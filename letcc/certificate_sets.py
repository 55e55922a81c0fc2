"""The certificates of many received sets at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from letcc.certificates import Ball, check_ball, check_noise, check_reproduces_lines
from letcc.nodes import FloatArray, IndexArray
from letcc.received import as_index_sets
from letcc.scheme import CodedScheme

_FLOATS = 2**18  # of a block of kernels worked on together


@dataclass(frozen=True, eq=False)
class Certificates:
    """Exact worst cases of a scheme for B received sets.

    Attributes
    ----------
    squared_bias : ndarray, shape (B, K)
        W_kk: the largest squared error at each data point over the ball.
    noise_gain : ndarray, shape (B, K)
        Sum of the squared decoding weights.
    noise_std : float
        Standard deviation of the workers' noise.
    """

    squared_bias: FloatArray
    noise_gain: FloatArray
    noise_std: float

    @property
    def worst_pointwise_mse(self) -> FloatArray:
        """Largest expected squared error at any one data point, for each set; shape (B,)."""
        mse: FloatArray = (self.squared_bias + self.noise_std**2 * self.noise_gain).max(axis=1)
        return mse


def certify_many(
    scheme: CodedScheme, received_sets: ArrayLike, *, ball: Ball = "seminorm", noise_std: float = 0.0
) -> Certificates:
    """Certify many received sets of one size, far faster than one by one.

    Parameters
    ----------
    scheme : CodedScheme
    received_sets : array_like of int, shape (B, |F|), or of bool, shape (B, N)
        One received set a row.
    ball, noise_std : as for `letcc.certify`

    Returns
    -------
    Certificates
        Equal to those of `letcc.certify` to rounding.

    Raises
    ------
    InfiniteCertificate, InvalidInput, TooFewReceived
        As for `letcc.certify`, where any of the sets gives reason to.
    """
    check_ball(ball)
    check_noise(noise_std)
    sets = np.sort(as_index_sets(received_sets, scheme.num_workers), axis=1)
    if (np.diff(scheme.worker_points) <= 0).any():
        sets = np.take_along_axis(sets, np.argsort(scheme.worker_points[sets], axis=1), axis=1)
    bias, gain = np.empty((2, len(sets), scheme.num_data))
    for block in blocks_of(sets, scheme.num_data):
        matrices, nodes = scheme.decoding_matrices(sets[block]), scheme.worker_points[sets[block]]
        bias[block], constants, lines = error_norms(matrices, nodes, scheme.data_points)
        if ball == "full":
            bias[block] += constants**2 + (lines + constants) ** 2
        else:
            check_reproduces_lines(scheme.decoder, constants, lines, np.abs(matrices).sum(axis=2))
        np.einsum("bkn,bkn->bk", matrices, matrices, out=gain[block])
    for array in (bias, gain):
        array.setflags(write=False)
    return Certificates(bias.view(), gain.view(), float(noise_std))


def blocks_of(sets: IndexArray, num_data: int) -> Iterator[slice]:
    """Slices of received sets (B, n) whose matrices fit into the processor's cache together."""
    step = max(1, _FLOATS // (num_data * sets.shape[1]))
    return (slice(start, start + step) for start in range(0, len(sets), step))


def error_norms(
    matrices: FloatArray, nodes: FloatArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The errors of any decoding matrices (B, K, n) over ascending nodes (B, n), each of shape (B, K).

    The squared norm of e_k on the seminorm's ball, e_k[1] and e_k[t]; the full ball's squared norm has
    e_k[1]^2 + e_k[t + 1]^2 more.
    """
    constants, lines = 1 - matrices.sum(axis=2), targets - np.einsum("bkn,bn->bk", matrices, nodes)
    return _kernel_norms(matrices, nodes, targets), constants, lines


def _kernel_norms(matrices: FloatArray, nodes: FloatArray, targets: FloatArray) -> FloatArray:
    """Integral of the squared Peano kernel over [-1, 1] for ascending nodes (B, n); shape (B, K)."""
    (sets, n), k = nodes.shape, targets.size
    ends = np.ones((sets, 1))
    points = np.concatenate([-ends, nodes, ends], axis=1)
    gaps = np.diff(points)
    right_of = points[:, None, 1:] > targets[:, None]
    right_of[..., -1] = True
    place = right_of.argmax(axis=2)[..., None]  # the gap of each target
    # kappa' is the sum of the weights beyond less 1 left of the target; in the target's gap it has two values
    slopes = np.zeros((sets, k, n + 1))
    np.cumsum(matrices[..., ::-1], axis=2, out=slopes[..., -2::-1])
    beyond = np.take_along_axis(slopes, place, 2)
    slopes -= ~right_of
    kernel = np.zeros((sets, k, n + 2))
    falls = np.multiply(slopes, gaps[:, None], out=slopes)
    own = np.clip(targets[:, None] - np.take_along_axis(points, place[..., 0], 1)[..., None], 0, None)
    width = np.take_along_axis(gaps, place[..., 0], 1)[..., None]
    np.put_along_axis(falls, place, width * beyond - own, axis=2)
    np.cumsum(falls[..., ::-1], axis=2, out=kernel[..., -2::-1])
    np.negative(kernel, out=kernel)
    # the integral of the square of a piecewise linear function, gap by gap, but for each target's own
    around = np.concatenate([gaps[:, :1], gaps[:, :-1] + gaps[:, 1:], gaps[:, -1:]], axis=1)
    norms = np.einsum("bkn,bkn,bn->bk", kernel, kernel, around)
    norms += np.einsum("bkn,bkn,bn->bk", kernel[..., :-1], kernel[..., 1:], gaps)
    a, b = np.take_along_axis(kernel, place, 2), np.take_along_axis(kernel, place + 1, 2)
    rest = width - own
    corner = b - rest * beyond
    pieces = own * (a * a + a * corner + corner * corner) + rest * (corner * corner + corner * b + b * b)
    norms += (pieces - width * (a * a + a * b + b * b))[..., 0]
    return norms / 3
