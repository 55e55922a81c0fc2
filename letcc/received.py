"""Which workers answered: indices in order of arrival, or a mask. Checked here and nowhere else."""

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InvalidInput
from letcc.nodes import IndexArray


def as_indices(received: ArrayLike | None, num_workers: int) -> IndexArray:
    """Indices of the received workers, in the order given.

    Parameters
    ----------
    received : sequence of int, mask of bool, or None
        Worker indices in any order, or a boolean mask with one entry a worker (taken in ascending order). None
        means that every worker answered.
    num_workers : int
        N.

    Returns
    -------
    ndarray of int, shape (|F|,)
        Distinct, in 0..N-1.

    Raises
    ------
    InvalidInput
        If no worker is named, one is out of range, negative or named twice, a mask has the wrong length, or the
        entries are neither integers nor booleans.
    """
    if received is None:
        return np.arange(num_workers)
    if isinstance(received, (set, frozenset, dict)):
        raise InvalidInput(f"received is a {type(received).__name__}, which has no order: pass sorted(received)")
    try:
        array = np.asarray(received)
    except ValueError:
        raise InvalidInput(f"received must be a flat sequence of worker indices, not {received!r}") from None
    if array.ndim != 1:
        raise InvalidInput(f"received must have one axis, not the shape {array.shape}")
    if array.dtype.kind == "b":
        if array.size != num_workers:
            raise InvalidInput(
                f"received is a mask of length {array.size}, but there are {num_workers} workers: "
                "a mask has one entry for each"
            )
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InvalidInput("received is empty: no worker answered, so there is nothing to decode from")
    if array.dtype.kind not in "iu":
        raise InvalidInput(
            f"received must hold integers or be a boolean mask, not {array.dtype}: its first entry is {array[0]!r}"
        )
    outside = (array < 0) | (array >= num_workers)
    if outside.any():
        where = int(np.argmax(outside))
        raise InvalidInput(f"received[{where}] is {array[where]}: the workers are numbered from 0 to {num_workers - 1}")
    counts = np.bincount(array, minlength=num_workers)
    if counts.max() > 1:
        raise InvalidInput(f"worker {int(np.argmax(counts > 1))} is named more than once in received")
    return array.astype(np.intp, copy=False)
