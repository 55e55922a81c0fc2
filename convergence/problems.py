"""Synthetic functions on both sides of the second-order Sobolev space, tagged by what they test."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# |t - c|^p has int g''^2 < infinity iff p > 3/2: this is as close to the edge of the space as a fit can tell
EDGE_POWER = 1.51


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
        singularity is where errors are measured, "kink off data" where it is half way between two data points.
    """

    name: str
    function: Callable[[Array], Array]
    inputs: Callable[[Array], Array]
    tags: frozenset[str]


def _identity(points: Array) -> Array:
    return points


def _curve(points: Array) -> Array:
    return np.stack([points, points**2], axis=1)


def _bilinear(x: Array) -> Array:
    return np.stack([np.exp(x[:, 0]), np.sin(2 * x[:, 1]), x[:, 0] * x[:, 1]], axis=1)


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
    )
    return {problem.name: problem for problem in problems}
