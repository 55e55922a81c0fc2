"""How far an estimate is off, and how much an operator amplifies what it is given."""

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InvalidInput


def rmse(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Root mean square error over data points and outputs.

    Parameters
    ----------
    estimate, truth : array_like or torch.Tensor, shape (K, ...)
        Real or complex.

    Returns
    -------
    float
        ``sqrt(mean(|estimate - truth|^2))`` over every axis, in double precision.

    Raises
    ------
    InvalidInput
        If the shapes differ or are empty.
    """
    a, b = _pair(estimate, truth)
    return float(np.sqrt(np.mean(np.abs(a - b) ** 2)))


def relative_accuracy(estimate: ArrayLike, reference: ArrayLike) -> float:
    """Share of data points whose largest output is the reference's largest output.

    Parameters
    ----------
    estimate, reference : array_like or torch.Tensor, shape (K, m)
        Decoded outputs and the outputs of f itself, for instance logits over m classes.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    InvalidInput
        If the shapes differ, are empty, or do not have two axes.
    """
    a, b = _pair(estimate, reference)
    if a.ndim != 2:
        raise InvalidInput(f"relative accuracy compares arrays of shape (K, m), not {a.shape}")
    return float(np.mean(a.argmax(axis=1) == b.argmax(axis=1)))


def lebesgue_constant(matrix: ArrayLike) -> float:
    """Largest amplification of the largest value: the operator's maximum norm.

    Parameters
    ----------
    matrix : array_like, shape (targets, nodes)
        An operator of a smoother or a decoding matrix.

    Returns
    -------
    float
        The largest row sum of absolute values. Over dense targets it is the Lebesgue constant of the method.

    Raises
    ------
    InvalidInput
        If the matrix is empty or does not have two axes.
    """
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(f"an operator has the shape (targets, nodes), not {array.shape}")
    return float(np.abs(array).sum(axis=1).max())


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Any, Any]:
    first, second = _array(a), _array(b)
    if first.shape != second.shape or first.size == 0:
        raise InvalidInput(f"two arrays of one shape are compared, not {first.shape} and {second.shape}")
    return first, second


def _array(values: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        values = (values.to(torch.complex128) if values.is_complex() else values.double()).numpy()
    array = np.asarray(values)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
