"""The optimal recovery: the worst case below which no decoder gets, linear or not."""

import numpy as np
from numpy.typing import ArrayLike

from letcc.certificates import Ball, check_ball
from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray, as_points, sorting_order

_COINCIDES = 4 * np.finfo(float).eps  # points of two families that are equal on paper differ so much


def optimal_squared_bias(nodes: ArrayLike, targets: ArrayLike, *, ball: Ball = "seminorm") -> FloatArray:
    r"""The least worst-case squared error at each target of any method that sees g at the nodes only.

    No method, linear or not, can tell g from -g where g vanishes at every node, so that it errs by \|g(target)\| on one
    of them, and one method errs by no more on any (optimal recovery: Micchelli and Rivlin, *A survey of optimal
    recovery*, 1977; the same number is the kriging variance of the ball's kernel):

    .. math:: W^*_k = 1 / \min\{\|g\|^2 : g(\beta_v) = 0 \text{ for all } v, \; g(\alpha_k) = 1\}.

    Nothing of letcc's smoothers or certificates goes into it.

    Parameters
    ----------
    nodes : array_like, shape (n,)
        Distinct, in [-1, 1], in any order.
    targets : array_like, shape (K,)
        In [-1, 1], inside or outside the hull of the nodes.
    ball : {"seminorm", "full"}
        As for `letcc.certify`. On "seminorm" the interpolating natural spline attains it.

    Returns
    -------
    ndarray, shape (K,)
        To about fifteen digits. 0 where a target coincides with a node up to rounding; infinity elsewhere if there is
        one node only and the ball is the seminorm's.

    Raises
    ------
    InvalidInput
        If there are no nodes, points are repeated, not finite or outside [-1, 1], or the ball is unknown.

    Examples
    --------
    LeTCC without smoothing leaves nothing to gain:

    >>> import letcc
    >>> scheme = letcc.CodedScheme.letcc(num_data=4, num_workers=30)
    >>> best = letcc.optimal_squared_bias(scheme.worker_points, scheme.data_points)
    >>> (letcc.certify(scheme).squared_bias / best).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    check_ball(ball)
    known, wanted = as_points(nodes, "nodes"), as_points(targets, "targets")
    if known.size == 0:
        raise InvalidInput("nodes is empty: at least one is needed")
    for name, points in (("nodes", known), ("targets", wanted)):
        if (np.abs(points) > 1).any():
            raise InvalidInput(f"{name} must lie in [-1, 1], on which the balls are defined: rescale them")
    sorting_order(known, "nodes")  # refuses repeated ones
    return optimal_squared_biases(np.sort(known)[None], wanted, ball)[0]


def optimal_squared_biases(nodes: FloatArray, targets: FloatArray, ball: Ball) -> FloatArray:
    """The same for many sets of nodes.

    Among the functions with given values at the nodes and a given slope s at one of them, the least energy to one side
    of it is a quadratic in s. It is handed from node to node, and the two sides meet at the target. Every term is
    positive, so that nothing cancels.

    Parameters
    ----------
    nodes : ndarray, shape (B, n)
        Ascending rows.
    targets : ndarray, shape (K,)
    ball : {"seminorm", "full"}

    Returns
    -------
    ndarray, shape (B, K)
    """
    first = _end_stiffness(nodes[:, 0] + 1) if ball == "full" else np.zeros(len(nodes))
    from_left = _stiffness(np.diff(nodes), first)
    from_right = _stiffness(np.diff(nodes)[:, ::-1], np.zeros(len(nodes)))[:, ::-1]
    after = (nodes[:, :, None] <= targets).sum(axis=1)  # (B, K): how many nodes are left of each target
    rows, left, right = np.arange(len(nodes))[:, None], np.maximum(after - 1, 0), np.minimum(after, nodes.shape[1] - 1)
    to_left, to_right = targets - nodes[rows, left], nodes[rows, right] - targets
    coincide = np.minimum(np.abs(to_left), np.abs(to_right)) <= _COINCIDES
    # where there is no node on a side, or the target is on one, any width does: its result is not used
    width_left, width_right = (np.where(gap > _COINCIDES, gap, 1) for gap in (to_left, to_right))
    p, r, f = _side(width_left, from_left[rows, left])
    q, s, g = _side(width_right, from_right[rows, right])
    end = _end_side(targets + 1) if ball == "full" else 3 * (np.zeros_like(targets),)
    p, r, f = (np.where(after > 0, inner, outer) for inner, outer in zip((p, r, f), end, strict=True))
    q, s, g = (np.where(after < nodes.shape[1], inner, 0) for inner in (q, s, g))
    together = p + q
    meeting = p * q / np.where(together > 0, together, 1)
    energy = meeting * (r + s) ** 2 + f + g
    with np.errstate(divide="ignore"):
        best: FloatArray = np.where(coincide, 0, 1 / energy)
    return best


def _stiffness(gaps: FloatArray, first: FloatArray) -> FloatArray:
    """A, for each node, of the least energy A s^2 before it of what vanishes at the nodes and has slope s there."""
    stiffness = np.empty((len(gaps), gaps.shape[1] + 1))
    stiffness[:, 0] = first
    for i, c in enumerate((4 / gaps).T):  # a cubic that vanishes at both ends has energy c (s^2 + s t + t^2)
        stiffness[:, i + 1] = c * (3 * c + 4 * stiffness[:, i]) / (4 * (c + stiffness[:, i]))
    return stiffness


def _side(width: FloatArray, stiffness: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P, r, f of the energy P (s - r)^2 + f that it takes to rise from 0 at a node to 1 with slope s."""
    c = 4 / width
    rest = 4 * stiffness + 3 * c
    return (
        c * rest / (4 * (stiffness + c)),
        (1 + 2 * stiffness / rest) / width,
        3 * c * stiffness / (rest * width**2),
    )


def _end_stiffness(distance: FloatArray) -> FloatArray:
    """A of `_stiffness` at the first node: between it and -1 the energy has g(-1)^2 + g'(-1)^2 as well."""
    value, _, determinant = _end_moments(distance)
    return value / determinant


def _end_side(distance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P, r, f of `_side` for a target left of all nodes."""
    value, mixed, determinant = _end_moments(distance)
    return value / determinant, mixed / value, 1 / value


def _end_moments(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The ball's kernel of g(u - 1) with itself and with g'(u - 1), and the determinant of the Gram matrix of both."""
    return 1 + u**2 + u**3 / 3, u + u**2 / 2, 1 + u + u**3 / 3 + u**4 / 12
