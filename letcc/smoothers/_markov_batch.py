"""The prior of `_markov` solved by a recursion, across many sets of nodes or many values of theta at once.

What the nodes on one side say of the state (g, v) at a node is an information matrix. Passing a gap and adding a value
update it by sums of terms of one sign, so that nothing cancels and no pivoting is needed. From the gap of a target its
row then spreads outward, by one two by two matrix for each node. Every step is a vector operation over the sets.
"""

from dataclasses import dataclass

import numpy as np

from letcc.nodes import FloatArray, IndexArray

_FLOATS = 2**19  # of a block of rows worked on together: large enough to hide the interpreter, small for the cache


def spline_rows(nodes: FloatArray, theta: float, left: IndexArray, functionals: FloatArray) -> FloatArray:
    """Rows of the smoothing spline for many sets of nodes.

    Parameters
    ----------
    nodes : ndarray, shape (B, n)
        Each row ascending, n >= 2.
    theta : float
        n lambda, positive; infinity is allowed.
    left : ndarray of int, shape (B, k)
        The gap of each target, by its left node.
    functionals : ndarray, shape (4, B, k)
        Coefficients of g and v at the left node and of g and v at the right one.

    Returns
    -------
    ndarray, shape (B, k, n)
    """
    rows = np.empty((*left.shape, nodes.shape[1]))
    step = max(1, _FLOATS // (left.shape[1] * nodes.shape[1] or 1))
    for start in range(0, len(nodes), step):
        sets = slice(start, start + step)
        gaps, start_at = np.diff(nodes[sets]).T.copy(), left[sets].T.copy()
        rows[sets] = _rows(theta, gaps, start_at, functionals[:, sets].transpose(0, 2, 1).copy())
    return rows


def information(
    h: FloatArray,
    spread: tuple[FloatArray, FloatArray],
    trace: tuple[FloatArray, FloatArray],
    c22: FloatArray,
    c_det: FloatArray,
    first: FloatArray | None = None,
    before: FloatArray | None = None,
    after: FloatArray | None = None,
) -> FloatArray:
    """What the nodes passed so far, and any prior, say of the state at each node, its own value left out.

    Parameters
    ----------
    h : ndarray, shape (n - 1, B) or (n - 1, 1)
        Gaps in the order in which they are passed.
    spread, trace : tuple of ndarray, shape (n - 1, B)
        Forward (c11, c12) and (q11, -q12) of C / theta and Q = U^-1 C U^-T / theta for U = [[1, h], [0, 1]]; backward
        the other way round.
    c22, c_det : ndarray, shape (n - 1, B)
        Entry and determinant, the same for both.
    first : ndarray, shape (4, B), optional
        What is known of the first state passed.
    before, after : ndarray, shape (n - 1, B), optional
        Factors on the information before and after each gap: the state's decay.

    Returns
    -------
    ndarray, shape (4, n, B)
        f11, +-f12, f22 and the determinant of the information matrix, all positive.
    """
    told = np.zeros((4, len(h) + 1, c22.shape[1]))
    if first is not None:
        told[:, 0] = first
    for i in range(len(h)):
        f11, a12, a22, det = told[:, i]
        a11, a_det = f11 + 1, det + a22  # with the value at the node
        if before is not None:
            a11, a12, a22, a_det = a11 * before[i], a12 * before[i], a22 * before[i], a_det * before[i] ** 2
        scale = 1 / (1 + trace[0][i] * a11 + 2 * trace[1][i] * a12 + c22[i] * a22 + c_det[i] * a_det)
        reach = a12 + h[i] * a11
        told[0, i + 1] = (a11 + a_det * c22[i]) * scale
        told[1, i + 1] = (reach + a_det * spread[1][i]) * scale
        told[2, i + 1] = (a22 + h[i] * (a12 + reach) + a_det * spread[0][i]) * scale
        told[3, i + 1] = a_det * scale
        if after is not None:
            told[:3, i + 1] *= after[i]
            told[3, i + 1] *= after[i] ** 2
    return told


@dataclass(frozen=True)
class _Side:
    """Information from one side, and how a row spreads to it. For the other side, mirror: v and f12 change sign."""

    information: FloatArray  # as from `information`, shape (4, n, B)
    spread: FloatArray  # t11, -t12, t21, t22 of the step back across each gap, shape (4, n - 1, B)
    bridge: FloatArray  # (Q^-1 + A)^-1 as its entries 11, -12, 22; shape (3, n - 1, B)

    @classmethod
    def of(cls, h: FloatArray, theta: float) -> "_Side":
        """From the gaps, shape (n - 1, B), in the order in which they are passed."""
        square = h * h  # numpy is slow to raise to the third power
        c11, c12, c22 = square * h / (3 * theta), square / (2 * theta), h / theta
        c_det = c11 * c22 / 4
        told = information(h, (c11, c12), (c11, c12), c22, c_det)
        f11, a12, a22, det = told[:, :-1]
        a11, a_det = f11 + 1, det + a22
        scale = 1 / (1 + c11 * a11 + 2 * c12 * a12 + c22 * a22 + c_det * a_det)
        spread = [
            1 + c12 * a12 + c22 * a22,
            h + c11 / 2 * a12 + c12 * a22,
            c12 * a11 + c22 * a12,
            1 - c11 / 2 * a11 - c12 * a12,
        ]
        bridge = [c11 + c_det * a22, c12 - c_det * a12, c22 + c_det * a11]
        return cls(told, np.stack(spread) * scale, np.stack(bridge) * scale)


def _rows(theta: float, gaps: FloatArray, left: IndexArray, functionals: FloatArray) -> FloatArray:
    """`spline_rows` of a block, with the sets on the last axis of its arguments."""
    below, above = _Side.of(gaps, theta), _Side.of(gaps[::-1], theta)
    sets = np.arange(gaps.shape[1])
    # the states at both ends of each target's gap, the right one first
    t11, t12, t21, t22 = below.spread[:, left, sets]
    g_left, v_left, g_right, v_right = functionals
    g_right, v_right = g_right + t11 * g_left + t21 * v_left, v_right - t12 * g_left + t22 * v_left
    f11, f12, f22, f_det = below.information[:, left + 1, sets]
    b11, b12, b22, b_det = above.information[:, len(gaps) - 1 - left, sets]
    scale = 1 / (f_det + b_det + f22 + b22 + f11 * b22 + f22 * b11 + 2 * f12 * b12)
    cross = f12 - b12
    right = np.stack([(f22 + b22) * g_right + cross * v_right, cross * g_right + (f11 + 1 + b11) * v_right]) * scale
    q11, q12, q22 = below.bridge[:, left, sets]
    near = np.stack(
        [
            t11 * right[0] - t12 * right[1] + q11 * g_left - q12 * v_left,
            t21 * right[0] + t22 * right[1] - q12 * g_left + q22 * v_left,
        ]
    )
    rows = np.zeros((len(gaps) + 1, *left.shape))
    _spread(rows, below.spread, left, near)
    right[1] *= -1
    _spread(rows[::-1], above.spread, len(gaps) - 1 - left, right)
    return rows.transpose(2, 1, 0)


def _spread(rows: FloatArray, matrices: FloatArray, start: IndexArray, states: FloatArray) -> None:
    """Fill the values at all nodes from `start` down to 0, given the states at `start`."""
    order = np.argsort(start, axis=None, kind="stable")
    bounds = np.searchsorted(start.ravel()[order], np.arange(len(rows)))
    reached = start.max(axis=1)  # of each target, over the sets
    state, step, product = np.zeros_like(states), np.zeros_like(states), np.empty_like(states[0])
    for i in range(len(rows) - 2, -1, -1):
        active = np.flatnonzero(reached >= i)
        if not active.size:
            continue
        part = slice(active[0], active[-1] + 1)  # it only grows; outside of it all is still zero
        t11, t12, t21, t22 = matrices[:, i]
        (g, v), (next_g, next_v), spare = state[:, part], step[:, part], product[part]
        np.multiply(t11, g, out=next_g)
        next_g -= np.multiply(t12, v, out=spare)
        np.multiply(t21, g, out=next_v)
        next_v += np.multiply(t22, v, out=spare)
        state, step = step, state
        starting = order[bounds[i] : bounds[i + 1]]
        state.reshape(2, -1)[:, starting] = states.reshape(2, -1)[:, starting]
        rows[i, part] += state[0, part]
