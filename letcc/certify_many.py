"""The certificates of many received sets at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from letcc.certificates import Ball, check_ball, check_noise, check_reproduces_lines
from letcc.nodes import FloatArray
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
    ball, noise_std
        As for `letcc.certify`.

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
    step = max(1, _FLOATS // (scheme.num_data * sets.shape[1]))
    for start in range(0, len(sets), step):
        block = slice(start, start + step)
        matrices, nodes = scheme.decoding_matrices(sets[block]), scheme.worker_points[sets[block]]
        constants, lines = 1 - matrices.sum(axis=2), scheme.data_points - np.einsum("bkn,bn->bk", matrices, nodes)
        bias[block] = _kernel_norms(matrices, nodes, scheme.data_points)
        if ball == "full":
            bias[block] += constants**2 + (lines + constants) ** 2
        else:
            check_reproduces_lines(scheme, constants, lines)
        np.einsum("bkn,bkn->bk", matrices, matrices, out=gain[block])
    return Certificates(bias, gain, float(noise_std))


def _kernel_norms(matrices: FloatArray, nodes: FloatArray, targets: FloatArray) -> FloatArray:
    """Integral of the squared Peano kernel over [-1, 1] for ascending nodes (B, n); shape (B, K)."""
    ends = np.ones((len(nodes), 1))
    points = np.concatenate([-ends, nodes, ends], axis=1)[:, None]
    gaps = np.diff(points)
    # kappa falls from point to point by its own (target - s)_+ and rises by the weights beyond
    own = np.clip(targets[:, None] - points[..., :-1], 0, gaps)
    beyond = np.zeros_like(own)
    beyond[..., :-1] = matrices[..., ::-1].cumsum(axis=2)[..., ::-1]
    kernel = np.zeros((*own.shape[:2], own.shape[2] + 1))
    kernel[..., :-1] = (own - gaps * beyond)[..., ::-1].cumsum(axis=2)[..., ::-1]
    a, b = kernel[..., :-1], kernel[..., 1:]
    squares = gaps * (a * a + a * b + b * b)
    # in the target's gap the kernel has a corner at the target, and two pieces
    place = np.minimum((points[..., 1:-1] <= targets[:, None]).sum(axis=2), gaps.shape[2] - 1)[..., None]
    a, b, own, beyond, whole = (np.take_along_axis(part, place, 2) for part in (a, b, own, beyond, squares))
    right = np.take_along_axis(np.broadcast_to(gaps, kernel[..., 1:].shape), place, 2) - own
    corner = b - right * beyond
    pieces = own * (a * a + a * corner + corner * corner) + right * (corner * corner + corner * b + b * b)
    return (squares.sum(axis=2) + (pieces - whole)[..., 0]) / 3
