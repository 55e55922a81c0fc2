"""Point sets on [-1, 1], and the checks that every set of points passes once."""

import operator
import sys
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letcc.exceptions import DuplicateNodes, InvalidInput

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

MOST_POINTS = 2**53


def chebyshev_first_kind(n: int) -> FloatArray:
    """Chebyshev points of the first kind, the roots of ``T_n``.

    Parameters
    ----------
    n : int
        How many points, at least 1.

    Returns
    -------
    ndarray, shape (n,)
        Ascending, inside (-1, 1), antisymmetric to the last bit.

    Raises
    ------
    InvalidInput
        If `n` is not a positive integer.
    """
    n = _count(n)
    return _antisymmetric(np.sin(np.pi * _centred(n) / (2 * n)))


def chebyshev_second_kind(n: int) -> FloatArray:
    """Chebyshev points of the second kind, the extrema of ``T_{n-1}``.

    Parameters
    ----------
    n : int
        How many points, at least 1; a single point is 0.

    Returns
    -------
    ndarray, shape (n,)
        Ascending, from -1 to 1, antisymmetric to the last bit.

    Raises
    ------
    InvalidInput
        If `n` is not a positive integer.
    """
    n = _count(n)
    return _antisymmetric(np.sin(np.pi * _centred(n) / (2 * max(n - 1, 1))))


def equispaced(n: int, interior: bool = False) -> FloatArray:
    """Evenly spaced points.

    Parameters
    ----------
    n : int
        How many points, at least 1; a single point is 0.
    interior : bool
        Leave the two ends out, ``linspace(-1, 1, n + 2)[1:-1]``: for data points, which
        should have workers on both sides.

    Returns
    -------
    ndarray, shape (n,)
        Ascending, in [-1, 1], antisymmetric to the last bit.

    Raises
    ------
    InvalidInput
        If `n` is not a positive integer.
    """
    n = _count(n)
    return _centred(n) / (n + 1 if interior else max(n - 1, 1))


def clustered(n: int, cells: int, width: float) -> FloatArray:
    """Evenly spaced points drawn towards the centre of the cell that each lies in.

    Parameters
    ----------
    n : int
        How many points, at least 1.
    cells : int
        Into how many equal cells the interval is cut, at least 1.
    width : float
        By what factor each cell's points are drawn together: 1 leaves them, near 0 they almost coincide.

    Returns
    -------
    ndarray, shape (n,)
        Ascending, in [-1, 1].

    Raises
    ------
    InvalidInput
        If a number is out of its range.
    """
    points, cells = equispaced(n), _count(cells)
    if not 0 < width <= 1:
        raise InvalidInput(f"width is {width}: it must be above 0 and at most 1")
    cell = np.minimum((points + 1) * cells // 2, cells - 1)
    centres = (2 * cell + 1 - cells) / cells
    return centres + width * (points - centres)


def _count(n: int) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        raise InvalidInput(f"the number of points must be an integer, not {n!r}") from None
    if count < 1:
        raise InvalidInput(f"the number of points must be at least 1, not {count}")
    if count > MOST_POINTS:
        raise InvalidInput(f"the number of points must be at most {MOST_POINTS}, which floats can tell apart")
    return count


def _centred(n: int) -> FloatArray:
    """The integers 1-n, 3-n, ..., n-1: exact, so that any odd function of them is antisymmetric."""
    return np.arange(1.0 - n, n, 2.0)


def _antisymmetric(points: FloatArray) -> FloatArray:
    # sin is odd, but a vectorised sin need not treat both ends of an array alike in the last bit
    return 0.5 * (points - points[::-1])


def as_points(points: ArrayLike, name: str) -> FloatArray:
    """Check one set of points: real, finite, one axis.

    Parameters
    ----------
    points : array_like, shape (n,)
        Real numbers; integers are accepted.
    name : str
        What to call them in an error message.

    Returns
    -------
    ndarray of float64, shape (n,)
        The argument itself where it is already such an array.

    Raises
    ------
    InvalidInput
        If the points are not real, not finite or not one-dimensional.
    """
    if is_masked(points):
        raise InvalidInput(f"{name} are a masked array: leave out what is masked, for instance by compressed()")
    try:
        array = np.asarray(points)
    except (RuntimeError, TypeError, ValueError):
        raise InvalidInput(f"{name} must be a flat sequence of real numbers, not {points!r}") from None
    if array.dtype.kind not in "fiu":
        raise InvalidInput(f"{name} must be real numbers, not {array.dtype}: {points!r}")
    array = array.astype(np.float64, copy=False)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one axis, not the shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        where = int(np.argmin(finite))
        raise InvalidInput(f"{name}[{where}] is {array[where]}: points must be finite")
    return array


def is_masked(values: object) -> bool:
    """Whether an array has masked entries, which a conversion would silently unmask.

    Parameters
    ----------
    values : object
        Of any type.

    Returns
    -------
    bool
    """
    # who has a masked array has imported the module; for all others it would cost more than the rest of letcc
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(values))


def sorting_order(points: FloatArray, name: str) -> IndexArray | None:
    """The permutation that sorts distinct points, or None where they are sorted already.

    Parameters
    ----------
    points : ndarray, shape (n,)
        Checked by `as_points`.
    name : str
        What to call them in an error message.

    Returns
    -------
    ndarray of int or None, shape (n,)
        `points[order]` ascends strictly.

    Raises
    ------
    DuplicateNodes
        If two points coincide; the message gives both indices and the value.
    """
    if (points[1:] > points[:-1]).all():
        return None
    order = np.argsort(points, kind="stable")
    equal = np.flatnonzero(points[order[1:]] == points[order[:-1]])
    if equal.size:
        first, second = sorted(order[equal[0] : equal[0] + 2].tolist())
        raise DuplicateNodes(
            f"{name}[{first}] and {name}[{second}] are both {float(points[first])!r}: "
            "points must be distinct; drop one of them or average their values"
        )
    return order
