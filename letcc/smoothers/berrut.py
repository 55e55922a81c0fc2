"""Berrut's first rational interpolant, the encoder and decoder of BACC."""

from dataclasses import dataclass
from typing import final

import numpy as np

from letcc.nodes import FloatArray
from letcc.smoothers.base import AbstractLinearSmoother

_FLOATS = 2**17  # of a block of rows worked on together


@final
@dataclass(frozen=True)
class BerrutRational(AbstractLinearSmoother):
    r"""Berrut's rational interpolant, with weights of alternating sign.

    .. math:: r(x) = \frac{\sum_i (-1)^i y_i / (x - t_i)}{\sum_i (-1)^i / (x - t_i)}

    over the nodes in ascending order (Berrut, *Comput. Math. Appl.* 15, 1988; as a code: Jahani-Nezhad and
    Maddah-Ali, arXiv 2009.08327). The sign follows the rank among the nodes given, so that the denominator has no
    real zero; signs by a worker's index would give it one for nearly every set of stragglers.

    Notes
    -----
    The denominator is summed in pairs of neighbours, outward from the target on either side. Each pair,
    :math:`1/(x - t_i) - 1/(x - t_{i+1})`, is formed as a product and all have one sign, so that nothing cancels and
    every entry is right to a few units in the last place, beside a node as well as on it.
    """

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        return self._sorted_operators(nodes[None], targets)[0]

    def _sorted_operators(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        (sets, n), k = nodes.shape, targets.size
        rows = np.empty((sets, k, n))
        at_once = max(1, _FLOATS // n)  # rows that fit the cache
        step = max(1, at_once // (k or 1))
        for first in range(0, sets, step):
            for start in range(0, k, at_once):
                block, chunk = slice(first, first + step), slice(start, start + at_once)
                rows[block, chunk] = _rows(nodes[block, None], targets[chunk, None])
        return rows


def _rows(nodes: FloatArray, targets: FloatArray) -> FloatArray:
    """Rows for nodes of shape (B, 1, n) and targets of shape (k, 1)."""
    n = nodes.shape[-1]
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    distances = targets - nodes
    hits = distances == 0
    distances[hits] = 1  # their rows are unit vectors, written last
    sizes = np.abs(distances)
    nearest = sizes.min(axis=-1, keepdims=True)  # a factor that cancels; without it 1/distance may overflow
    below = (nodes <= targets).sum(axis=-1, keepdims=True)  # how many nodes lie to the left
    near = np.minimum(sizes[..., :-1], sizes[..., 1:])
    pairs = (nearest / near) * (np.diff(nodes) / np.maximum(sizes[..., :-1], sizes[..., 1:]))
    start = np.arange(n - 1)
    # the pairs that start at the target's neighbours; not the one that straddles it
    outward = ((start - below) % 2 == 0) & (start != below - 1)
    left = np.where(below % 2, nearest / sizes[..., :1], 0)  # the outermost node where its side is odd
    right = np.where((n - below) % 2, nearest / sizes[..., -1:], 0)
    magnitude = np.sum(pairs, axis=-1, keepdims=True, where=outward) + left + right
    # the node next to the target on its left carries the sign of the whole sum, or minus the one on its right
    sign = np.where(below > 0, signs[below - 1], -signs[0])
    rows: FloatArray = (nearest / distances) * (signs / (sign * magnitude))
    hit = hits.any(axis=-1)
    rows[hit] = hits[hit]
    return rows
