"""Which workers answered: indices in order of arrival, or a mask. Checked here and nowhere else."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letcc.exceptions import InvalidInput
from letcc.nodes import IndexArray, is_masked


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
    array = as_array(received)
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
    return _in_range(array[None], num_workers)[0]


def as_array(received: ArrayLike | None) -> NDArray[Any]:
    """What was passed as an array, not yet checked; None gives an array of no axis.

    Parameters
    ----------
    received : sequence of int, mask of bool, or None

    Returns
    -------
    ndarray

    Raises
    ------
    InvalidInput
        If it has no order, or its entries no common shape.
    """
    if isinstance(received, (set, frozenset, dict)):
        raise InvalidInput(f"received is a {type(received).__name__}, which has no order: pass sorted(received)")
    if isinstance(received, (list, tuple)) and bool in map(type, received) and int in map(type, received):
        raise InvalidInput(f"received mixes booleans and integers: {received!r}; pass indices, or a mask")
    if is_masked(received):
        raise InvalidInput("received is a masked array: pass the indices that are valid, received.compressed()")
    try:
        array = np.asarray(received)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"received must be a flat sequence of worker indices, not {received!r} ({error})") from None
    if array.ndim == 0 and received is not None:
        raise InvalidInput(f"received is a {type(received).__name__}: pass a list of worker indices or a mask")
    return array


def as_index_sets(received_sets: ArrayLike, num_workers: int) -> IndexArray:
    """Many received sets of one size, each as `as_indices` takes it.

    Parameters
    ----------
    received_sets : array_like of int, shape (B, |F|), or of bool, shape (B, N)
    num_workers : int
        N.

    Returns
    -------
    ndarray of int, shape (B, |F|)

    Raises
    ------
    InvalidInput
        As for `as_indices`, or if the sets differ in size.
    """
    try:
        array = np.asarray(received_sets)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput("the received sets must have one size; take those of each size together") from None
    if array.ndim != 2 or array.dtype.kind not in "biu":
        raise InvalidInput(
            f"received sets must be integers of shape (sets, received) or masks of shape (sets, workers), "
            f"not {array.dtype} of shape {array.shape}"
        )
    if array.dtype.kind == "b":
        sizes = np.unique(array.sum(axis=1))
        if array.shape[1] != num_workers or sizes.size > 1:
            raise InvalidInput(
                f"masks of shape {array.shape} must have one entry for each of {num_workers} workers and name equally "
                f"many each, not {sizes.tolist()}"
            )
        array = np.nonzero(array)[1].reshape(len(array), int(sizes[0]) if sizes.size else array.shape[1])
    if array.shape[1] == 0:
        raise InvalidInput("the received sets are empty: no worker answered, so there is nothing to decode from")
    return _in_range(array, num_workers)


def _in_range(sets: NDArray[np.integer], num_workers: int) -> IndexArray:
    """Check that every row names distinct workers in 0..N-1."""
    outside = (sets < 0) | (sets >= num_workers)
    if outside.any():
        row, where = np.argwhere(outside)[0]
        raise InvalidInput(
            f"received[{where}]{_of_set(sets, row)} is {sets[row, where]}: "
            f"the workers are numbered from 0 to {num_workers - 1}"
        )
    ascending = np.sort(sets, axis=1)
    repeated = ascending[:, 1:] == ascending[:, :-1]
    if repeated.any():
        row, where = np.argwhere(repeated)[0]
        raise InvalidInput(f"worker {ascending[row, where]} is named more than once in received{_of_set(sets, row)}")
    return sets.astype(np.intp, copy=False)


def _of_set(sets: NDArray[np.integer], row: int) -> str:
    return f" of set {row}" if len(sets) > 1 else ""
