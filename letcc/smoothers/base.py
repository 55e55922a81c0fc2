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
        if nodes.size == 0:
            raise InvalidInput("there are no nodes: no worker answered, so there is nothing to decode from")
        if nodes.size < self.min_nodes:
            raise TooFewReceived(f"{self} needs at least {self.min_nodes} nodes, not {nodes.size}")
        order = sorting_order(nodes, "nodes")
        if order is None:
            return self._sorted_operator(nodes, targets)
        matrix = np.empty((targets.size, nodes.size))
        matrix[:, order] = self._sorted_operator(nodes[order], targets)
        return matrix

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
