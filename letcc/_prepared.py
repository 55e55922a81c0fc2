"""Matrices as they are applied: built once, converted once, remembered up to a number of bytes."""

from typing import Any

from letcc._cache import BoundedCache
from letcc.arrays import as_tensor, holds_numbers
from letcc.nodes import FloatArray, IndexArray


def read_only(matrix: FloatArray) -> FloatArray:
    """A view that, unlike its base, cannot be made writeable again."""
    matrix.setflags(write=False)
    return matrix.view()


class Prepared:
    """A matrix, and the same in every dtype and on every device that it was applied in.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, q)
    labels : ndarray of int, shape (q,)
        What its columns belong to: data points or workers.
    """

    def __init__(self, matrix: FloatArray, labels: IndexArray) -> None:
        self.matrix, self.labels = read_only(matrix), labels
        self.nbytes = 3 * matrix.nbytes  # with the conversions that a user is likely to need
        self._converted: dict[tuple[Any, Any], Any] = {}

    def supply(self, dtype: Any, device: Any) -> Any:
        """The matrix in a real dtype of numpy (device None) or torch, converted once."""
        if device is None and dtype == self.matrix.dtype:
            return self.matrix
        if (dtype, device) not in self._converted:
            matrix = self.matrix.astype(dtype) if device is None else as_tensor(self.matrix, dtype, device)
            if device is not None and not holds_numbers(matrix):
                return matrix  # made while something is being exported
            self._converted[dtype, device] = matrix
        return self._converted[dtype, device]


PREPARED: BoundedCache[Prepared] = BoundedCache(max_bytes=2**28)
