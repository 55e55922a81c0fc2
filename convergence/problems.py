"""Synthetic functions on both sides of the second-order Sobolev space, tagged by what they test."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# |t - c|^p has int g''^2 < infinity iff p > 3/2: this is as close to the edge of the space as a fit can tell
EDGE_POWER = 1.51

_SIDE = 4  # of the matrices of the curve
_ROWS, _COLUMNS = 6, 4  # of those without any order
_SEED = 20240601  # of the matrices: the zoo is the same in every run


@dataclass(frozen=True)
class Problem:
    """One function to be computed on coded inputs.

    Attributes
    ----------
    name : str
    function : callable
        From coded inputs (N, ...) to outputs (N, ...).
    inputs : callable
        From the data points (K,) to the data x (K, ...).
    tags : frozenset of str
        "smooth" (analytic) or "edge" (barely in the space); "oscillating"; "vector"; "kink on data" where the
        singularity is where errors are measured, "kink off data" where it is half way between two data points;
        "polynomial", of high-dimensional data; "unordered" where the data are independent, along no smooth curve.
    degree : int or None
        Of a polynomial map, for which Lagrange is exact.
    """

    name: str
    function: Callable[[Array], Array]
    inputs: Callable[[Array], Array]
    tags: frozenset[str]
    degree: int | None = None


def _identity(points: Array) -> Array:
    return points


def _curve(points: Array) -> Array:
    return np.stack([points, points**2], axis=1)


def _bilinear(x: Array) -> Array:
    return np.stack([np.exp(x[:, 0]), np.sin(2 * x[:, 1]), x[:, 0] * x[:, 1]], axis=1)


def _matrix_curve(points: Array) -> Array:
    """Pairs of matrices (K, 2, 4, 4) whose entries are waves of random frequency and phase, analytic in the points."""
    frequencies, phases = np.random.default_rng(_SEED).uniform(0, [[3.0], [2 * np.pi]], (2, 2 * _SIDE**2))
    return np.cos(np.multiply.outer(points, frequencies) + phases).reshape(-1, 2, _SIDE, _SIDE)


def _unordered_matrices(points: Array) -> Array:
    """Independent matrices (K, 6, 4), as data usually are: the encoder's curve through them is far rougher."""
    return np.random.default_rng(_SEED).standard_normal((points.size, _ROWS, _COLUMNS))


def _matrix_product(pairs: Array) -> Array:
    return pairs[:, 0] @ pairs[:, 1]


def _gram(matrices: Array) -> Array:
    return matrices.transpose(0, 2, 1) @ matrices


def zoo(data_points: Array) -> dict[str, Problem]:
    """Every problem, for one set of data points.

    Parameters
    ----------
    data_points : ndarray, shape (K,)
        Ascending, K >= 2: kinks are placed on one and between two of them, right of the middle.

    Returns
    -------
    dict of str to Problem
    """
    kink = data_points[data_points.size // 2]
    between = (kink + data_points[data_points.size // 2 - 1]) / 2
    problems = (
        Problem("smooth", lambda t: np.exp(np.sin(3 * t)), _identity, frozenset({"smooth"})),
        Problem("oscillating", lambda t: np.sin(20 * t), _identity, frozenset({"smooth", "oscillating"})),
        Problem("edge", lambda t: np.abs(t - kink) ** EDGE_POWER, _identity, frozenset({"edge", "kink on data"})),
        Problem(
            "edge-between",
            lambda t: np.abs(t - between) ** EDGE_POWER,
            _identity,
            frozenset({"edge", "kink off data"}),
        ),
        Problem("vector", _bilinear, _curve, frozenset({"smooth", "vector"})),
        Problem("matrix product", _matrix_product, _matrix_curve, frozenset({"smooth", "polynomial"}), degree=2),
        Problem("Gram matrix", _gram, _unordered_matrices, frozenset({"smooth", "polynomial", "unordered"}), degree=2),
    )
    return {problem.name: problem for problem in problems}
