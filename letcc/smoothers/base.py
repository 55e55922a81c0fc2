"""The one abstraction of a method: values at nodes become values at targets by one matrix."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InvalidInput, TooFewReceived
from letcc.nodes import FloatArray, as_points, sorting_order


class AbstractLinearSmoother(ABC):
    """A linear method of interpolation or smoothing.

    A concrete smoother is a frozen dataclass whose only state is its parameters, final, in
    a file of its own. It defines `_sorted_operator`, and `min_nodes` where one node is not enough.
    """

    @property
    def min_nodes(self) -> int:
        """The fewest nodes that the method can work with."""
        return 1

    @final
    def operator(self, nodes: ArrayLike, targets: ArrayLike) -> FloatArray:
        """The matrix that turns values at `nodes` into values at `targets`.

        Parameters
        ----------
        nodes : array_like, shape (n,)
            Distinct, in any order.
        targets : array_like, shape (k,)
            In any order; they may repeat, coincide with nodes, or lie outside them.

        Returns
        -------
        ndarray of float64, shape (k, n)
            Rows in the order of `targets`, columns in the order of `nodes`.

        Raises
        ------
        InvalidInput
            If a point is not a finite real number or there is no node.
        DuplicateNodes
            If two nodes coincide.
        TooFewReceived
            If there are fewer nodes than `min_nodes`.
        """
        nodes, targets = as_points(nodes, "nodes"), as_points(targets, "targets")
        self._check_count(nodes.size)
        order = sorting_order(nodes, "nodes")
        if order is None:
            return self._sorted_operator(nodes, targets)
        matrix = np.empty((targets.size, nodes.size))
        matrix[:, order] = self._sorted_operator(nodes[order], targets)
        return matrix

    @final
    def operators(self, nodes: ArrayLike, targets: ArrayLike) -> FloatArray:
        """The matrices of many sets of nodes at once, equal to those of `operator` to rounding.

        Parameters
        ----------
        nodes : array_like, shape (B, n)
            Each row distinct, in any order.
        targets : array_like, shape (k,)
            Shared by all sets.

        Returns
        -------
        ndarray of float64, shape (B, k, n)

        Raises
        ------
        InvalidInput, DuplicateNodes, TooFewReceived
            As for `operator`.
        """
        targets = as_points(targets, "targets")
        sets = np.asarray(nodes)
        if sets.ndim != 2:
            raise InvalidInput(f"sets of nodes have the shape (sets, nodes), not {sets.shape}")
        count = sets.shape[1]
        self._check_count(count)
        flat = as_points(sets.ravel(), "nodes").reshape(-1, count)
        if (flat[:, 1:] > flat[:, :-1]).all():
            return self._sorted_operators(flat, targets)
        order = np.argsort(flat, axis=1, kind="stable")
        ascending = np.take_along_axis(flat, order, axis=1)
        repeated = np.flatnonzero((ascending[:, 1:] == ascending[:, :-1]).any(axis=1))
        if repeated.size:
            sorting_order(flat[repeated[0]], f"nodes[{repeated[0]}]")
        matrices = np.empty((len(flat), targets.size, count))
        np.put_along_axis(matrices, order[:, None, :], self._sorted_operators(ascending, targets), axis=2)
        return matrices

    def _check_count(self, count: int) -> None:
        if count == 0:
            raise InvalidInput("there are no nodes: no worker answered, so there is nothing to decode from")
        if count < self.min_nodes:
            raise TooFewReceived(f"{self} needs at least {self.min_nodes} nodes, not {count}")

    def _sorted_operators(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        """`operators` for strictly ascending sets; a smoother that has a faster way overrides it."""
        matrices = np.empty((len(nodes), targets.size, nodes.shape[1]))
        for matrix, each in zip(matrices, nodes, strict=True):
            matrix[:] = self._sorted_operator(each, targets)
        return matrices

    @abstractmethod
    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        """`operator` for at least `min_nodes` strictly ascending nodes."""


def checked_smoothing(smoothing: float) -> float:
    """A smoothing parameter as a float.

    Parameters
    ----------
    smoothing : float

    Returns
    -------
    float
        At least 0; may be infinite.

    Raises
    ------
    InvalidInput
        If it is negative, NaN or not a number.
    """
    try:
        value = float(smoothing)
    except (TypeError, ValueError):
        raise InvalidInput(f"smoothing must be a number, not {smoothing!r}") from None
    if not value >= 0:
        raise InvalidInput(f"smoothing is {value}: it must be at least 0 (0 interpolates, inf smooths completely)")
    return value
