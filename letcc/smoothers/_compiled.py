"""The smoothing spline compiled by numba: what `spline` does without, one set of nodes after the other.

With smoothing it is the recursion of `_markov_batch`. Importing this takes half a second, and once a few more.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
from numba import njit, types

from letcc.nodes import FloatArray

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Four: TypeAlias = tuple[float, float, float, float]

if numba.config.DISABLE_JIT:
    raise ImportError("numba compiles nothing, and without it these loops would be slow")

_POINTS = types.Array(types.float64, 1, "C", readonly=True)  # arrays that can be written to pass, too
_SETS = types.Array(types.float64, 2, "C", readonly=True)
_ROWS, _WORK = types.float64[:, :, ::1], types.float64[:, ::1]
_BLOCK = 4096  # nodes that one target after the other passes, so that the steps stay in the cache


def _jit(*signature: Any) -> Callable[[Kernel], Kernel]:
    """Compile, and with a signature at once and for later processes; nothing is rounded but as it is written."""

    def jitted(function: Kernel) -> Kernel:
        try:
            return njit(*signature, cache=bool(signature), nogil=True, error_model="numpy")(function)
        except (OSError, RuntimeError):  # there is no folder to keep it in
            return njit(*signature, nogil=True, error_model="numpy")(function)

    return jitted


@_jit()
def _pass(h: float, rate: float, told: Four) -> tuple[Four, Four, tuple[float, float, float]]:
    """What is known of the state beyond a gap; the step back across it, and its bridge, as in `_markov_batch`."""
    f11, a12, a22, det = told
    square = h * h
    c11, c12, c22 = square * h * rate / 3, square * rate / 2, h * rate
    c_det = c11 * c22 / 4
    a11, a_det = f11 + 1, det + a22
    scale = 1 / (1 + c11 * a11 + 2 * c12 * a12 + c22 * a22 + c_det * a_det)
    reach = a12 + h * a11
    beyond = (
        (a11 + a_det * c22) * scale,
        (reach + a_det * c12) * scale,
        (a22 + h * (a12 + reach) + a_det * c11) * scale,
        a_det * scale,
    )
    back = (
        (1 + c12 * a12 + c22 * a22) * scale,
        (h + c11 / 2 * a12 + c12 * a22) * scale,
        (c12 * a11 + c22 * a12) * scale,
        (1 - c11 / 2 * a11 - c12 * a12) * scale,
    )
    return beyond, back, ((c11 + c_det * a22) * scale, (c12 - c_det * a12) * scale, (c22 + c_det * a11) * scale)


@_jit()
def _hermite(x: float, start: float, stop: float) -> Four:
    """Value at a target from the values and slopes at its gap's ends; outside, from those of the nearer end."""
    after, before, gap = x - start, x - stop, stop - start
    if after < 0:
        return 1.0, after, 0.0, 0.0
    if before > 0:
        return 0.0, 0.0, 1.0, before
    d, e = after / gap, -before / gap
    return e * e * (1 + 2 * d), after * e * e, d * d * (1 + 2 * e), d * d * before


@_jit(types.boolean(_SETS, types.float64, _POINTS, _ROWS, _WORK))
def _spline(nodes: FloatArray, theta: float, targets: FloatArray, rows: FloatArray, work: FloatArray) -> bool:
    """Fill the rows for theta > 0; False where a product could leave the range of double precision."""
    n, rate = nodes.shape[1], 1 / theta
    # information from below and above; the steps down and up across the gap from each node to the next; its bridge
    below, above, down, up, bridge = work[:, :4], work[:, 4:8], work[:, 8:12], work[:, 12:16], work[:, 16:]
    above[n - 1] = 0
    at, low, high = np.empty(targets.size, np.intp), np.empty((targets.size, 2)), np.empty((targets.size, 2))
    for b in range(nodes.shape[0]):
        extent = nodes[b, n - 1] - nodes[b, 0]
        if not (1e-40 < extent < 1e40 and theta >= 1e-100 * extent**3):
            return False
        told, heard = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
        for i in range(n - 1):
            j = n - 2 - i
            told, (t11, t12, t21, t22), (q11, q12, q22) = _pass(nodes[b, i + 1] - nodes[b, i], rate, told)
            heard, (u11, u12, u21, u22), _ = _pass(nodes[b, j + 1] - nodes[b, j], rate, heard)
            below[i + 1, 0], below[i + 1, 1], below[i + 1, 2], below[i + 1, 3] = told
            above[j, 0], above[j, 1], above[j, 2], above[j, 3] = heard
            down[i, 0], down[i, 1], down[i, 2], down[i, 3] = t11, t12, t21, t22
            up[j, 0], up[j, 1], up[j, 2], up[j, 3] = u11, u12, u21, u22
            bridge[i, 0], bridge[i, 1], bridge[i, 2] = q11, q12, q22
        for k, left in enumerate(np.searchsorted(nodes[b, 1:-1], targets, side="right")):
            g, v, right_g, right_v = _hermite(targets[k], nodes[b, left], nodes[b, left + 1])
            # the states at both ends of the target's gap, the right one first
            t11, t12, t21, t22 = down[left]
            right_g, right_v = right_g + t11 * g + t21 * v, right_v - t12 * g + t22 * v
            f11, f12, f22, f_det = below[left + 1]
            b11, b12, b22, b_det = above[left + 1]
            scale = 1 / (f_det + b_det + f22 + b22 + f11 * b22 + f22 * b11 + 2 * f12 * b12)
            cross = f12 - b12
            right_g, right_v = (
                ((f22 + b22) * right_g + cross * right_v) * scale,
                (cross * right_g + (f11 + 1 + b11) * right_v) * scale,
            )
            q11, q12, q22 = bridge[left]
            g, v = (
                t11 * right_g - t12 * right_v + q11 * g - q12 * v,
                t21 * right_g + t22 * right_v - q12 * g + q22 * v,
            )
            rows[b, k, left], rows[b, k, left + 1] = g, right_g
            at[k], low[k, 0], low[k, 1], high[k, 0], high[k, 1] = left, g, v, right_g, -right_v  # mirrored
        for stop in range(n - 1, 0, -_BLOCK):
            for k in range(targets.size):
                g, v = low[k, 0], low[k, 1]
                for i in range(min(at[k], stop) - 1, max(stop - _BLOCK, 0) - 1, -1):
                    g, v = down[i, 0] * g - down[i, 1] * v, down[i, 2] * g + down[i, 3] * v
                    rows[b, k, i] = g
                low[k, 0], low[k, 1] = g, v
        for start in range(0, n - 1, _BLOCK):
            for k in range(targets.size):
                g, v = high[k, 0], high[k, 1]
                for i in range(max(at[k] + 1, start), min(start + _BLOCK, n - 1)):
                    g, v = up[i, 0] * g - up[i, 1] * v, up[i, 2] * g + up[i, 3] * v
                    rows[b, k, i + 1] = g
                high[k, 0], high[k, 1] = g, v
    return True


@_jit(types.void(_SETS, _POINTS, _ROWS, _WORK))
def _interpolation(nodes: FloatArray, targets: FloatArray, rows: FloatArray, work: FloatArray) -> None:
    """Fill the rows for theta = 0, by second derivatives eliminated from both ends towards each target's gap."""
    n = nodes.shape[1]
    # z is a row's coefficient of a second derivative; factors to it from the next above and below, slopes for each z
    down, up, below, above = work[0], work[1], work[2], work[3]
    down[0] = below[0] = up[n - 1] = above[n - 1] = 0
    for b in range(nodes.shape[0]):
        for i in range(1, n):
            h = nodes[b, i] - nodes[b, i - 1]
            below[i] = (1 - down[i - 1]) / h
            if i < n - 1:
                beyond = nodes[b, i + 1] - nodes[b, i]
                down[i] = -beyond / (2 * (h + beyond) + h * down[i - 1])
        for i in range(n - 2, -1, -1):
            h = nodes[b, i + 1] - nodes[b, i]
            above[i] = (1 - up[i + 1]) / h
            if i > 0:
                beyond = nodes[b, i] - nodes[b, i - 1]
                up[i] = -beyond / (2 * (h + beyond) + h * up[i + 1])
        for k, left in enumerate(np.searchsorted(nodes[b, 1:-1], targets, side="right")):
            after, before = targets[k] - nodes[b, left], targets[k] - nodes[b, left + 1]
            gap = nodes[b, left + 1] - nodes[b, left]
            d, e = after / gap, -before / gap
            if after < 0:  # only the inner node's second derivative bends the end's slope
                at_left, at_right = 0.0, -after
            elif before > 0:
                at_left, at_right = before, 0.0
            else:
                at_left, at_right = d * before * (1 + e), d * before * (1 + d)
            scale = 1 / (1 - down[left] * up[left + 1])
            z = -down[left] * (at_left + up[left + 1] * at_right) * scale
            right = -up[left + 1] * (at_right + down[left] * at_left) * scale
            shear = (right - z) / gap
            rows[b, k, left] = e + (shear - z * below[left])
            rows[b, k, left + 1] = d - (shear + right * above[left + 1])
            for i in range(left - 1, -1, -1):
                bent = z * below[i + 1]
                z *= down[i]
                rows[b, k, i] = bent - z * below[i]
            for i in range(left + 2, n):
                bent = right * above[i - 1]
                right *= up[i]
                rows[b, k, i] = bent - right * above[i]


def _plain(points: FloatArray) -> FloatArray:
    return np.ascontiguousarray(points) if points.flags.aligned else points.copy()


def rows(nodes: FloatArray, theta: float, targets: FloatArray) -> FloatArray | None:
    """Rows of the spline for sets of nodes.

    Parameters
    ----------
    nodes : ndarray, shape (B, n)
        Each row ascending, n >= 2.
    theta : float
        n lambda; zero and infinity are allowed.
    targets : ndarray, shape (k,)

    Returns
    -------
    ndarray, shape (B, k, n), or None
        None where a product could leave the range of double precision.
    """
    sets, n = nodes.shape
    nodes, targets = _plain(nodes), _plain(targets)
    filled = np.empty((sets, targets.size, n))
    if theta == 0:
        _interpolation(nodes, targets, filled, np.empty((4, n)))
        return filled
    return filled if _spline(nodes, theta, targets, filled, np.empty((n, 19))) else None
