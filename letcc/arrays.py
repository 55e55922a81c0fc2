"""Applying a matrix to anyone's array: numpy or torch, any real or complex dtype, any trailing shape."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from letcc.exceptions import InvalidInput, NonFiniteValues
from letcc.nodes import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array")


def combine(
    matrix: FloatArray,
    values: Array,
    name: str,
    labels: Sequence[Any] | None = None,
    *,
    check_finite: bool = True,
) -> Array:
    """The product of a matrix with the first axis of an array.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, q)
    values : array_like or torch.Tensor, shape (q, ...)
        Integers and booleans are computed and returned as floats.
    name : str
        What to call the values in an error message.
    labels : sequence, optional
        What to call each entry of the first axis; its index by default.
    check_finite : bool
        Raise on NaN and infinity instead of spreading them over every result.

    Returns
    -------
    ndarray or torch.Tensor, shape (p, ...)
        In the dtype of the values (a torch tensor also on its device, with its gradient). Half precision is
        accumulated in single precision.

    Raises
    ------
    InvalidInput
        If the first axis does not match or the values are not numbers.
    NonFiniteValues
        If a value is NaN or infinite, or the result overflows the dtype.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        _check_shape(tuple(values.shape), matrix.shape[1], name)
        result = _combine_torch(torch, matrix, values)
        isfinite = torch.isfinite
    else:
        values = _numeric(values, name)  # type: ignore[assignment]
        _check_shape(values.shape, matrix.shape[1], name)  # type: ignore[attr-defined]
        result = _combine_numpy(matrix, values)  # type: ignore[arg-type]
        isfinite = np.isfinite
    # a NaN or infinity among the values reaches the result, which is the smaller of the two to look through
    if check_finite and not isfinite(result).all():
        _blame(values, isfinite, name, labels)
    return result  # type: ignore[no-any-return]


def _numeric(values: Any, name: str) -> "NDArray[Any]":
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(f"{name} must form one array, but their shapes differ: {error}") from None
    if array.dtype.kind not in "biufc":
        raise InvalidInput(f"{name} must be numbers, not {array.dtype}: give them one shape and one numeric dtype")
    return array


def _check_shape(shape: tuple[int, ...], expected: int, name: str) -> None:
    if not shape or shape[0] != expected:
        raise InvalidInput(f"{name} must have {expected} entries on their first axis, but their shape is {shape}")


def _combine_numpy(matrix: FloatArray, values: "NDArray[Any]") -> "NDArray[Any]":
    dtype = values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)
    working = np.result_type(dtype, np.float32)
    flat = np.ascontiguousarray(values, dtype=working).reshape(len(values), -1)
    real = flat.real.dtype
    # a complex column is two real ones, which halves the work of promoting the matrix
    product = matrix.astype(real, copy=False) @ flat.view(real)
    with np.errstate(over="ignore"):  # an overflow is reported by the check for finite results
        result: NDArray[Any] = product.view(working).astype(dtype, copy=False)
    return result.reshape(len(matrix), *values.shape[1:])


def _combine_torch(torch: Any, matrix: FloatArray, values: Any) -> Any:
    dtype = values.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    working = torch.promote_types(dtype, torch.float32)
    # autocast would round the product to half precision behind the caller's back
    with torch.autocast(device_type=values.device.type, enabled=False):
        flat = values.to(working).reshape(values.shape[0], -1)
        if working.is_complex:
            flat = torch.view_as_real(flat.resolve_conj()).flatten(1)
        operator = torch.tensor(matrix, dtype=flat.dtype, device=values.device)
        product = operator @ flat
        if working.is_complex:
            product = torch.view_as_complex(product.unflatten(1, (-1, 2)))
        return product.to(dtype).reshape(len(matrix), *values.shape[1:])


def _blame(values: Any, isfinite: Any, name: str, labels: Sequence[Any] | None) -> None:
    finite = isfinite(values).reshape(len(values), -1).all(1).tolist()
    bad = [i if labels is None else labels[i] for i, good in enumerate(finite) if not good]
    if not bad:
        raise NonFiniteValues(f"the result overflows {values.dtype}: pass {name} in a wider dtype")
    shown = ", ".join(map(str, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
    raise NonFiniteValues(f"{name} {shown} contain NaN or infinity, which would spread to every result: leave them out")
