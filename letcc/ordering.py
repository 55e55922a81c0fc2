"""Where the data points lie: along a short path through the data, spaced by how far apart they are.

The coded inputs follow one curve through all K inputs. The shorter and smoother it is, the smoother is the function
that the decoder has to recover, whatever the scheme.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from letcc.arrays import Values, as_columns
from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray, IndexArray

_INPUTS = Values("the inputs", "leave them out: every coded input is made of every input")
_AT_ONCE = 200  # inputs among which every pair is looked at
_SWEEPS = 50
_LEAST_GAP = 1e-2  # of the mean gap: inputs that are alike still have data points of their own
_ITERATIONS = 30  # of the power method: the direction need not be exact
_SHORTER = 1e-12  # by how much, relative to the path, a change must shorten it


@final
@dataclass(frozen=True)
class ShortPath:
    """Data points along a short path through the inputs.

    Neighbours on the path get a gap proportional to a power of their distance; 1/2 is the centripetal
    parametrisation of curves (Lee, *Computer-Aided Design* 21, 1989). The order is that of the nearest neighbour, from
    the input farthest from the mean, improved by reversing pieces while that shortens it (2-opt: Croes, *Oper. Res.* 6,
    1958). Deterministic. Up to 200 inputs every pair is looked at, in O(K^2) time for each sweep; more are first sorted
    along their first principal component, and ordered within runs of 200.

    Parameters
    ----------
    power : float
        Of the distance, from 0 (even gaps) to 1 (chord length).
    metric : str
        Of the distance: a name that ``scipy.spatial.distance.cdist`` knows.

    Raises
    ------
    InvalidInput
        If the power is out of its range or the metric is unknown.
    """

    power: float = 0.5
    metric: str = "euclidean"

    def __post_init__(self) -> None:
        """Check the parameters once."""
        if not isinstance(self.power, (int, float)) or not 0 <= self.power <= 1:
            raise InvalidInput(f"power is {self.power!r}: it must be a number from 0 to 1")
        try:
            self._distances(np.eye(2), np.eye(2))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"metric must be a name that scipy's cdist knows, not {self.metric!r}") from error

    def data_points(self, x: Any) -> FloatArray:
        """Data points fitted to the inputs.

        Parameters
        ----------
        x : array_like or torch.Tensor, shape (K, ...)
            The inputs. They are compared as flat vectors.

        Returns
        -------
        ndarray, shape (K,)
            In the order of `x`, in (-1, 1), with half a mean gap at both ends.

        Raises
        ------
        InvalidInput
            If `x` does not hold numbers, or the metric gives no distance between two inputs.
        NonFiniteValues
            If an input is NaN or infinite.
        """
        vectors = self._vectors(x)
        path = self._path(vectors)
        pairs = zip(path[:-1, None], path[1:, None], strict=True)
        steps = np.array([self._distances(vectors[a], vectors[b])[0, 0] for a, b in pairs])
        return self._placed(path, steps)

    def path(self, x: Any) -> IndexArray:
        """The order of the inputs along the path.

        Parameters
        ----------
        x : array_like or torch.Tensor, shape (K, ...)

        Returns
        -------
        ndarray of int, shape (K,)
            Indices of the inputs, from one end to the other.

        Raises
        ------
        InvalidInput, NonFiniteValues
            As for `data_points`.
        """
        return self._path(self._vectors(x))

    def _vectors(self, x: Any) -> FloatArray:
        count = len(x) if np.ndim(x) or isinstance(x, (list, tuple)) else 0
        if not count:
            raise InvalidInput("there is no input: x has one entry for each data point on its first axis")
        return as_columns(x, _INPUTS, np.arange(count))

    def _path(self, vectors: FloatArray) -> IndexArray:
        centred = vectors - vectors.mean(axis=0)
        if len(vectors) <= _AT_ONCE:
            start = int(np.argmax((centred**2).sum(axis=1)))
            return _shortened(self._distances(vectors, vectors), start)
        order = np.argsort(centred @ _principal(centred), kind="stable")
        path: list[int] = []
        for first in range(0, len(order), _AT_ONCE):
            run = order[first : first + _AT_ONCE]
            start = 0
            if path:
                start = int(np.argmin(self._distances(vectors[path[-1:]], vectors[run])))
            path.extend(run[_shortened(self._distances(vectors[run], vectors[run]), start)])
        return np.array(path)

    def _distances(self, a: FloatArray, b: FloatArray) -> FloatArray:
        from scipy.spatial.distance import cdist  # costs more to import than the rest of letcc

        found: FloatArray = cdist(a, b, self.metric)
        if not np.isfinite(found).all():
            raise InvalidInput(f"the metric {self.metric!r} gives no distance between two of the inputs: use another")
        return found

    def _placed(self, path: IndexArray, steps: FloatArray) -> FloatArray:
        gaps = steps**self.power if steps.any() else np.ones_like(steps)
        mean = gaps.mean() if gaps.size else 1.0
        gaps = np.concatenate([[mean / 2], np.maximum(gaps, _LEAST_GAP * mean), [mean / 2]])
        points = np.empty(path.size)
        points[path] = 2 * gaps.cumsum()[:-1] / gaps.sum() - 1
        return points


def _principal(centred: FloatArray) -> FloatArray:
    """About the first principal direction, in time linear in the inputs."""
    direction = centred[int(np.argmax((centred**2).sum(axis=1)))]
    for _ in range(_ITERATIONS):
        direction = (centred @ direction) @ centred
        direction = direction / (np.linalg.norm(direction) or 1.0)
    return direction


def _shortened(distances: FloatArray, start: int) -> IndexArray:
    """The nearest-neighbour path from `start`, shortened by 2-opt."""
    count = len(distances)
    path, left = [start], np.ones(count, dtype=bool)
    for _ in range(count - 1):
        left[path[-1]] = False
        path.append(int(np.argmin(np.where(left, distances[path[-1]], np.inf))))
    order = np.array(path)
    enough = _SHORTER * distances[order[:-1], order[1:]].sum()
    # reversing order[i:j + 1] replaces the two steps at its ends; a path has none beyond its own ends
    for _ in range(_SWEEPS):
        shorter = False
        for i in range(count - 1):
            tail = order[i + 1 :]
            after = np.append(order[i + 2 :], -1)
            gains = np.where(after >= 0, distances[tail, after] - distances[order[i], after], 0.0)
            if i:
                gains += distances[order[i - 1], order[i]] - distances[order[i - 1], tail]
            best = int(np.argmax(gains))
            if gains[best] > enough:
                order[i : i + best + 2] = order[i : i + best + 2][::-1].copy()
                shorter = True
        if not shorter:
            break
    return order
