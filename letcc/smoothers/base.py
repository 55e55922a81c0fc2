"""The one abstraction of a method: values at nodes become values at targets by one matrix."""

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import IllConditionedWarning, InvalidInput, TooFewReceived, Unresolved
from letcc.nodes import FloatArray, as_points, sorting_order

_FEW_DIGITS = 1e10  # amplification of rounding beyond which the user is told


class AbstractLinearSmoother(ABC):
    """A linear method of interpolation or smoothing.

    A concrete smoother is a frozen dataclass whose only state is its parameters, final, in
    a file of its own. It defines `_sorted_operator`, and `min_nodes` where one node is not enough.
    """

    @property
    def min_nodes(self) -> int:
        """The fewest nodes that the method can work with."""
        return 1

    @property
    def resolved(self) -> bool:
        """Whether every parameter is a number, and none a rule that chooses it from the values."""
        return True

    @final
    def resolve(self, nodes: ArrayLike, values: ArrayLike) -> Self:
        """Put numbers in place of every rule.

        Parameters
        ----------
        nodes : array_like, shape (n,)
            As for `operator`.
        values : array_like, shape (n, m)
            What the rules choose from: one choice for all m columns jointly.

        Returns
        -------
        AbstractLinearSmoother
            This one where there is no rule.

        Raises
        ------
        InvalidInput
            As for `operator`, or if the values are not finite real numbers, one row a node.
        DuplicateNodes, TooFewReceived
            As for `operator`.
        """
        if self.resolved:
            return self
        nodes, columns = self._checked_nodes(nodes), np.asarray(values)
        if columns.ndim != 2 or len(columns) != nodes.size or columns.dtype.kind not in "biuf":
            raise InvalidInput(
                f"values must be real and of shape ({nodes.size}, m), not {columns.dtype} {columns.shape}"
            )
        if not np.isfinite(columns).all():
            raise InvalidInput("values must be finite: leave out the nodes of those that are not")
        # no rule feels a constant or a factor, which could cancel or overflow
        columns = columns - columns.mean(axis=0)
        largest = np.abs(columns).max(initial=0.0)
        columns = (columns / (largest or 1)).astype(np.float64) if columns.size else np.zeros((nodes.size, 1))
        # every rule depends on Y only through Y Y^T: a thousand outputs need no more columns than nodes
        narrow = columns if columns.shape[1] <= nodes.size else np.asarray(np.linalg.qr(columns.T, mode="r")).T
        order = np.argsort(nodes)
        with np.errstate(all="ignore"):
            return self._resolve(nodes[order], narrow[order])

    def _resolve(self, nodes: FloatArray, values: FloatArray) -> Self:
        """`resolve` for strictly ascending nodes and at most as many columns; for a smoother that has rules."""
        raise NotImplementedError

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
        Unresolved
            If a parameter is a rule.
        """
        self._check_resolved()
        targets = as_points(targets, "targets")
        nodes = as_points(nodes, "nodes")
        self._check_count(nodes.size)
        order = sorting_order(nodes, "nodes")
        if order is None:
            return self._guarded(self._sorted_operator, nodes, targets)
        matrix = np.empty((targets.size, nodes.size))
        matrix[:, order] = self._guarded(self._sorted_operator, nodes[order], targets)
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
        InvalidInput
            As for `operator`, or if the sets are not of one size.
        DuplicateNodes, TooFewReceived, Unresolved
            As for `operator`.
        """
        self._check_resolved()
        targets = as_points(targets, "targets")
        try:
            sets = np.asarray(nodes)
        except ValueError:
            raise InvalidInput("sets of nodes must have one size; take those of each size together") from None
        if sets.ndim != 2:
            raise InvalidInput(f"sets of nodes have the shape (sets, nodes), not {sets.shape}")
        count = sets.shape[1]
        self._check_count(count)
        flat = as_points(sets.ravel(), "nodes").reshape(-1, count)
        if len(flat) == 0:
            return np.empty((0, targets.size, count))
        if (flat[:, 1:] > flat[:, :-1]).all():
            return self._guarded(self._sorted_operators, flat, targets)
        order = np.argsort(flat, axis=1, kind="stable")
        ascending = np.take_along_axis(flat, order, axis=1)
        repeated = np.flatnonzero((ascending[:, 1:] == ascending[:, :-1]).any(axis=1))
        if repeated.size:
            sorting_order(flat[repeated[0]], f"nodes[{repeated[0]}]")
        matrices = np.empty((len(flat), targets.size, count))
        np.put_along_axis(
            matrices, order[:, None, :], self._guarded(self._sorted_operators, ascending, targets), axis=2
        )
        return matrices

    def _guarded(
        self, build: Callable[[FloatArray, FloatArray], FloatArray], nodes: FloatArray, targets: FloatArray
    ) -> FloatArray:
        """Build a matrix whatever the caller's settings for floating-point errors; refuse one that is not finite."""
        with np.errstate(all="ignore"):
            matrix = build(nodes, targets)
            if np.isfinite(matrix).all():
                return matrix
        raise InvalidInput(
            f"{self} leaves the range of double precision on these nodes, the closest of which are "
            f"{np.diff(nodes).min():.1e} apart: drop one of them, or use less extreme parameters"
        )

    def _checked_nodes(self, nodes: ArrayLike) -> FloatArray:
        points = as_points(nodes, "nodes")
        self._check_count(points.size)
        sorting_order(points, "nodes")
        return points

    def _check_resolved(self) -> None:
        if not self.resolved:
            raise Unresolved(
                f"{self} chooses from the values: use the smoother that resolve(nodes, values) returns, or the scheme "
                "that scheme.resolve(outputs, received) returns"
            )

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


RuleName = TypeVar("RuleName", bound=str)


def checked_degree(degree: int, kind: str) -> int:
    """A polynomial degree as an integer of at least 0.

    Parameters
    ----------
    degree : int
    kind : str
        What it must be, for an error message.

    Returns
    -------
    int

    Raises
    ------
    InvalidInput
        If it is no integer, or negative.
    """
    try:
        checked = operator.index(degree)
    except TypeError:
        raise InvalidInput(f"degree must be {kind}, not {degree!r}") from None
    if checked < 0:
        raise InvalidInput(f"degree is {checked}: it must be at least 0")
    return checked


def number_or_rule(value: float | RuleName, name: str, rules: tuple[RuleName, ...]) -> float | RuleName:
    """A parameter as a float of at least 0, or the rule that chooses it.

    Parameters
    ----------
    value : float or str
    name : str
        What to call it in an error message.
    rules : tuple of str

    Returns
    -------
    float or str
        Infinity is allowed.

    Raises
    ------
    InvalidInput
        If it is negative, NaN, or neither a number nor a rule.
    """
    if isinstance(value, str):
        if value not in rules:
            raise InvalidInput(f"{name} must be a number or one of {', '.join(rules)}, not {value!r}")
        return value
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInput(f"{name} must be a number or one of {', '.join(rules)}, not {value!r}") from None
    if not number >= 0:
        raise InvalidInput(f"{name} is {number}: it must be at least 0")
    return number


def check_amplification(smoother: AbstractLinearSmoother, rows: FloatArray) -> None:
    """Report the Lebesgue constant of a smoother that has a degree, from its `_sorted_operator`, where it is hopeless.

    Parameters
    ----------
    smoother : AbstractLinearSmoother
    rows : ndarray, shape (k, n)
        Its matrix.

    Raises
    ------
    InvalidInput
        If it is beyond the range of a double.

    Warns
    -----
    IllConditionedWarning
        If it leaves fewer than six digits.
    """
    with np.errstate(over="ignore"):
        amplification = np.abs(rows).sum(axis=1).max(initial=0.0)
    n = rows.shape[1]
    if not np.isfinite(amplification):
        raise InvalidInput(
            f"{smoother} on these {n} nodes has a Lebesgue constant beyond the range of a double: "
            "use Chebyshev points, a lower degree, or a spline"
        )
    if amplification > _FEW_DIGITS:
        warnings.warn(
            f"{smoother} on these {n} nodes has the Lebesgue constant {amplification:.1e}, by which it "
            "multiplies rounding errors: use nodes that leave no wide gaps, a lower degree, or a spline",
            IllConditionedWarning,
            stacklevel=4,
        )
