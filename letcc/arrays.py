"""Applying a matrix to anyone's array: numpy or torch, any real or complex dtype, any trailing shape."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from letcc.exceptions import InvalidInput, NonFiniteValues
from letcc.nodes import FloatArray, is_masked

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array")
Result = TypeVar("Result")

# From a real dtype, and a torch device or None, to the matrix in that dtype and on that device.
Supply = Callable[[Any, Any], Any]

_AS_THEY_ARE = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True)
class Values:
    """How to speak of values in an error message.

    Attributes
    ----------
    name : str
    remedy : str
        What to do about those that are not finite.
    """

    name: str
    remedy: str


def combine(supply: Supply, values: Array, what: Values, labels: "NDArray[Any]", check_finite: bool) -> Array:
    """The product of a matrix with the first axis of an array.

    Parameters
    ----------
    supply : callable
        Gives the matrix, shape (p, q).
    values : array_like or torch.Tensor, shape (q, ...)
        Integers and booleans are computed and returned as floats.
    what : Values
        How to speak of the values in an error message.
    labels : ndarray, shape (q,)
        What to call each entry of the first axis.
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
    values = _stacked(torch, values)
    if torch is not None and isinstance(values, torch.Tensor):
        _check_shape(tuple(values.shape), len(labels), what.name)
        result = _combine_torch(torch, supply, values)
        isfinite = torch.isfinite
    else:
        values = _numeric(values, what.name)  # type: ignore[assignment]
        _check_shape(values.shape, len(labels), what.name)  # type: ignore[attr-defined]
        result = _combine_numpy(supply, values)  # type: ignore[arg-type]
        isfinite = np.isfinite
    # a NaN or infinity among the values reaches the result, which is the smaller of the two to look through
    if check_finite and not _all_finite(result, isfinite):
        _blame(values, isfinite, what, labels)
    return result


def _stacked(torch: Any, values: Any) -> Any:
    """A list of tensors, as outputs arrive, as one tensor."""
    if torch is None or not isinstance(values, (list, tuple)) or not values:
        return values
    if not all(isinstance(value, torch.Tensor) for value in values):
        return values
    shapes = {tuple(value.shape) for value in values}
    if len(shapes) > 1:
        raise InvalidInput(f"tensors of one shape can be combined, not of {sorted(shapes)}")
    return torch.stack(list(values))


def untraced(values: Any, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function as it is, even where torch.compile traces the caller.

    Parameters
    ----------
    values : array_like or torch.Tensor
        What the result will be applied to: only torch is ever traced.
    function : callable
        Builds or remembers a matrix, which is not for tracing.
    *arguments
        Of the function.

    Returns
    -------
    object
        What the function returns.
    """
    # who never compiles does not pay the second that it takes to import the compiler
    if "torch._dynamo" not in sys.modules or isinstance(values, np.ndarray):
        return function(*arguments)
    return sys.modules["torch"].compiler.disable(function)(*arguments)


def holds_numbers(tensor: Any) -> bool:
    """Whether a tensor is a real one, and not a stand-in of torch.export or a fake mode."""
    return type(tensor) is sys.modules["torch"].Tensor


def _numeric(values: Any, name: str) -> "NDArray[Any]":
    if is_masked(values):
        where = np.flatnonzero(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))
        raise InvalidInput(f"{name} are a masked array, with entries {where.tolist()} masked: leave those out")
    try:
        array = np.asarray(values)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must form one array: {error}") from None
    if array.dtype.kind not in "biufc":
        raise InvalidInput(f"{name} must be numbers, not {array.dtype}: give them one shape and one numeric dtype")
    return array


def _check_shape(shape: tuple[int, ...], expected: int, name: str) -> None:
    if not shape or shape[0] != expected:
        raise InvalidInput(f"{name} must have {expected} entries on their first axis, but their shape is {shape}")


def _combine_numpy(supply: Supply, values: "NDArray[Any]") -> "NDArray[Any]":
    if values.dtype in _AS_THEY_ARE and values.ndim == 2:  # the common case, as directly as can be
        with np.errstate(over="ignore", invalid="ignore"):
            direct: NDArray[Any] = supply(values.dtype, None) @ values
        return direct
    dtype = values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)
    working = np.promote_types(dtype, np.float32)
    flat = np.ascontiguousarray(values, dtype=working).reshape(len(values), -1)
    real = flat.real.dtype
    matrix = supply(real, None)
    with np.errstate(over="ignore", invalid="ignore"):  # reported by the check for finite results
        # a complex column is two real ones, which halves the work of promoting the matrix
        result: NDArray[Any] = (matrix @ flat.view(real)).view(working).astype(dtype, copy=False)
    return result.reshape(len(matrix), *values.shape[1:])


def _combine_torch(torch: Any, supply: Supply, values: Any) -> Any:
    dtype = values.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    working = torch.promote_types(dtype, torch.float32)
    # autocast would round the product to half precision behind the caller's back
    with torch.autocast(device_type=values.device.type, enabled=False):
        flat = values.to(working).reshape(values.shape[0], -1)
        if working.is_complex:
            flat = torch.view_as_real(flat.resolve_conj()).flatten(1)
        matrix = untraced(values, supply, flat.dtype, values.device)
        product = matrix @ flat
        if working.is_complex:
            product = torch.view_as_complex(product.unflatten(1, (-1, 2)))
        return product.to(dtype).reshape(len(matrix), *values.shape[1:])


def as_columns(values: Any, what: Values, labels: "NDArray[Any]") -> FloatArray:
    """Any array as real columns in double precision, for choosing parameters from.

    Parameters
    ----------
    values : array_like or torch.Tensor, shape (q, ...)
    what : Values
        How to speak of the values in an error message.
    labels : ndarray, shape (q,)
        What to call each entry of the first axis.

    Returns
    -------
    ndarray of float64, shape (q, m)
        A complex value gives two columns.

    Raises
    ------
    InvalidInput
        As for `combine`, or if the numbers are hidden in a transform of torch.func.
    NonFiniteValues
        As for `combine`.
    """
    torch = sys.modules.get("torch")
    values = _stacked(torch, values)
    if torch is not None and isinstance(values, torch.Tensor):
        values = values.detach().cpu().resolve_conj().resolve_neg()
        try:
            values = values.to(torch.complex128 if values.is_complex() else torch.float64).numpy()
        except RuntimeError as error:
            raise InvalidInput(
                "a rule chooses from numbers, which are hidden here (inside a transform of torch.func?): pass them to "
                "scheme.resolve(outputs, received) first, and decode with the scheme that it returns"
            ) from error
    array = _numeric(values, what.name)
    _check_shape(array.shape, len(labels), what.name)
    if not np.isfinite(array).all():
        _blame(array, np.isfinite, what, labels)
    flat = array.reshape(len(array), math.prod(array.shape[1:]))
    columns: FloatArray = np.concatenate([flat.real, flat.imag], axis=1) if flat.dtype.kind == "c" else flat
    return columns.astype(np.float64)


def as_tensor(matrix: FloatArray, dtype: Any, device: Any) -> Any:
    """A torch copy of a matrix that autograd can save, even if it is made in inference mode.

    Parameters
    ----------
    matrix : ndarray
    dtype : torch.dtype
    device : torch.device

    Returns
    -------
    torch.Tensor
    """
    torch = sys.modules["torch"]
    with torch.inference_mode(False):
        return torch.tensor(matrix, dtype=dtype).to(device)


def _all_finite(result: Any, isfinite: Any) -> bool:
    try:
        # first in one pass, which tells nothing where finite numbers overflow it
        once = float(np.vdot(result, result).real) if isinstance(result, np.ndarray) else result.sum()
        return (math.isfinite(once) if isinstance(once, float) else bool(isfinite(once))) or bool(
            isfinite(result).all()
        )
    except RuntimeError as error:  # inside torch.func.vmap or torch.export no value may be looked at
        raise InvalidInput(
            "the results cannot be checked for NaN here (inside torch.func.vmap or torch.export?): pass "
            "check_finite=False, or put the batch on a trailing axis, which needs no vmap"
        ) from error


def _blame(values: Any, isfinite: Any, what: Values, labels: "NDArray[Any]") -> None:
    finite = isfinite(values).reshape(len(values), -1).all(1).tolist()
    bad = [label for label, good in zip(labels, finite, strict=True) if not good]
    if not bad:
        raise NonFiniteValues(f"the result overflows {values.dtype}: pass {what.name} in a wider dtype")
    shown = ", ".join(map(str, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
    raise NonFiniteValues(
        f"{what.name} {shown} contain NaN or infinity, which would spread to every result: {what.remedy}"
    )
