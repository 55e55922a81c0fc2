"""A coding scheme: two smoothers and two sets of points."""

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from letcc._prepared import PREPARED, Prepared, read_only
from letcc.arrays import Values, as_columns, combine, untraced
from letcc.exceptions import InvalidInput, NotFitted, TooFewReceived
from letcc.nodes import (
    MOST_POINTS,
    FloatArray,
    as_points,
    chebyshev_first_kind,
    chebyshev_second_kind,
    clustered,
    equispaced,
    sorting_order,
)
from letcc.ordering import ShortPath
from letcc.received import as_array, as_index_sets, as_indices
from letcc.smoothers import AbstractLinearSmoother, BerrutRational, LagrangePolynomial, SmoothingSpline, SobolevRidge
from letcc.smoothers.spline import SplineRule

if TYPE_CHECKING:
    from collections.abc import Hashable

Array = TypeVar("Array")
PointFamily = Literal["chebyshev", "equispaced"]


_INPUTS = Values("the inputs", "replace them: every coded input is made of every input")
_OUTPUTS = Values("the outputs of workers", "leave those workers out of received")


@dataclass(frozen=True, eq=False, repr=False)
class CodedScheme:
    """A linear code for computing any function on workers some of which never answer.

    The encoder turns K inputs at the data points into N coded inputs at the worker points, each worker computes the
    function on one, and the decoder estimates the K values at the data points from whichever workers answered.

    Parameters
    ----------
    encoder, decoder : AbstractLinearSmoother
    data_points : array_like, shape (K,)
        Distinct, in [-1, 1], in any order.
    worker_points : array_like, shape (N,)
        Distinct, in [-1, 1], in any order.
    ordering : ShortPath, optional
        How `fit` places the data points for given inputs. A scheme that has one is adaptive: it encodes and decodes
        once it is fitted.

    Raises
    ------
    InvalidInput
        If points are missing, repeated, not finite or outside [-1, 1], or an argument is not a smoother.

    See Also
    --------
    letcc, bacc, lagrange : The schemes of the literature.
    recommended : What does best on networks.

    Examples
    --------
    >>> import numpy as np, letcc
    >>> scheme = letcc.CodedScheme.letcc(num_data=4, num_workers=30)
    >>> x = np.array([0.1, 0.2, 0.4, 0.3])
    >>> outputs = np.sin(scheme.encode(x))
    >>> received = [n for n in range(30) if n % 7]
    >>> bool(np.abs(scheme.decode(outputs[received], received) - np.sin(x)).max() < 1e-4)
    True
    """

    encoder: AbstractLinearSmoother
    decoder: AbstractLinearSmoother
    data_points: FloatArray
    worker_points: FloatArray
    ordering: ShortPath | None = None
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        """Check everything once and make the points immutable."""
        for name in ("encoder", "decoder"):
            smoother = getattr(self, name)
            if not isinstance(smoother, AbstractLinearSmoother):
                raise InvalidInput(f"{name} must be a smoother such as SmoothingSpline(0.0), not {smoother!r}")
        data, workers = (
            _immutable(self.data_points, "data_points"),
            _immutable(self.worker_points, "worker_points"),
        )
        for name, points in (("data_points", data), ("worker_points", workers)):
            object.__setattr__(self, name, points)
        if not isinstance(self.ordering, ShortPath | None):
            raise InvalidInput(f"ordering must be a ShortPath or None, not {self.ordering!r}")
        if not self.encoder.resolved:
            raise InvalidInput(f"the encoder {self.encoder} must have numbers: only a decoder can choose from outputs")
        if self.num_data < self.encoder.min_nodes:
            raise InvalidInput(f"{self.encoder} needs at least {self.encoder.min_nodes} data points, not {len(data)}")
        if self.num_workers < self.min_received:
            raise InvalidInput(
                f"{self.decoder} decodes from at least {self.min_received} workers, but there are only {len(workers)}"
            )
        identity = self.encoder, self.decoder, self.ordering, data.tobytes(), workers.tobytes()
        object.__setattr__(self, "_hash", hash(identity))

    @classmethod
    def letcc(
        cls,
        num_data: int,
        num_workers: int,
        *,
        encoder_smoothing: float = 0.0,
        decoder_smoothing: float | SplineRule = 0.0,
        points: PointFamily = "chebyshev",
    ) -> Self:
        """Smoothing splines as encoder and decoder (LeTCC: Moradi et al., arXiv 2406.00300).

        Parameters
        ----------
        num_data : int
            K, at least 1.
        num_workers : int
            N, at least 1.
        encoder_smoothing, decoder_smoothing : float
            lambda_e and lambda_d, in mean form on (-1, 1). For lambda_d also a rule, "gcv" or "loo", that chooses it
            from each set of outputs; see `resolve`.
        points : {"chebyshev", "equispaced"}
            "chebyshev": first kind for data, second kind for workers. "equispaced": workers on both ends.

        Returns
        -------
        CodedScheme

        Raises
        ------
        InvalidInput
            If a number is out of its range.
        """
        encoder, decoder = SmoothingSpline(encoder_smoothing), SmoothingSpline(decoder_smoothing)
        return cls(encoder, decoder, *_points(num_data, num_workers, points))

    @classmethod
    def bacc(cls, num_data: int, num_workers: int, *, points: PointFamily = "chebyshev") -> Self:
        """Berrut's rational interpolant as encoder and decoder (BACC: arXiv 2009.08327).

        It reproduces straight lines from an even number of received workers only: certify it over ``ball="full"``.

        Parameters
        ----------
        num_data : int
            K, at least 1.
        num_workers : int
            N, at least 1.
        points : {"chebyshev", "equispaced"}
            As for `letcc`.

        Returns
        -------
        CodedScheme

        Raises
        ------
        InvalidInput
            If a number is out of its range.
        """
        return cls(BerrutRational(), BerrutRational(), *_points(num_data, num_workers, points))

    @classmethod
    def lagrange(cls, num_data: int, num_workers: int, *, degree: int, points: PointFamily = "chebyshev") -> Self:
        """Lagrange coded computing (Yu et al., arXiv 1806.00939): exact for polynomials.

        Parameters
        ----------
        num_data : int
            K, at least 1.
        num_workers : int
            N, at least the threshold (K - 1) * degree + 1.
        degree : int
            Degree of the function to be computed.
        points : {"chebyshev", "equispaced"}
            As for `letcc`.

        Returns
        -------
        CodedScheme
            Its decoder fits the polynomial by least squares to all that was received.

        Raises
        ------
        InvalidInput
            If a number is out of its range, or there are fewer workers than the threshold.
        """
        alphas, betas = _points(num_data, num_workers, points)
        if _integer(degree, "degree") < 0:
            raise InvalidInput(f"degree is {degree}: it must be at least 0")
        decoder = LagrangePolynomial((alphas.size - 1) * degree)
        if betas.size < decoder.min_nodes:
            raise InvalidInput(
                f"num_workers is {betas.size}, but a function of degree {degree} of {alphas.size} inputs needs "
                f"(num_data - 1) * degree + 1 = {decoder.min_nodes} workers: use more workers or fewer inputs"
            )
        return cls(LagrangePolynomial(), decoder, alphas, betas)

    @classmethod
    def recommended(
        cls, num_data: int, num_workers: int, *, width: float = 0.7, length_scale: float | None = None
    ) -> Self:
        """What decodes networks best where workers are lost at random, to be fitted: ``recommended(K, N).fit(x)``.

        The inputs in the order of a short path through them (`letcc.ordering.ShortPath`); worker points clustered about
        the data points, since half way between two images a network says little of either; an interpolating spline as
        encoder; as decoder kernel ridge regression in the second-order Sobolev space with its full norm, which where
        many workers are lost returns to the mean instead of running off along a line. docs/choosing.md has what each
        part gains, and what clusters cost in the worst case.

        Parameters
        ----------
        num_data : int
            K, at least 1.
        num_workers : int
            N, at least 1.
        width : float
            How far the workers of each data point spread: 1 is equispaced, near 0 each repeats a data point, where a
            data point whose workers are all lost is estimated from its neighbours.
        length_scale : float, optional
            Of the decoder, in the unit of the points. None means 4 / K, twice the distance between data points.

        Returns
        -------
        CodedScheme
            Adaptive: see `fit`.

        Raises
        ------
        InvalidInput
            If a number is out of its range.
        """
        ordering = ShortPath(power=0.0)
        data_points = ordering.data_points(np.arange(_at_least_one(num_data, "num_data")))
        worker_points = clustered(_at_least_one(num_workers, "num_workers"), num_data, width)
        decoder = SobolevRidge(4 / num_data if length_scale is None else length_scale)
        return cls(SmoothingSpline(0.0), decoder, data_points, worker_points, ordering)

    @property
    def num_data(self) -> int:
        """K, the number of data points."""
        return self.data_points.size

    @property
    def num_workers(self) -> int:
        """N, the number of workers."""
        return self.worker_points.size

    @property
    def min_received(self) -> int:
        """The fewest workers that the decoder can work with."""
        return self.decoder.min_nodes

    def encoding_matrix(self) -> FloatArray:
        """The matrix from inputs to coded inputs.

        Returns
        -------
        ndarray of float64, shape (N, K)
            Read-only.
        """
        return self._encoding().matrix

    def decoding_matrix(self, received: ArrayLike | None = None) -> FloatArray:
        """The matrix from received outputs to estimates.

        Parameters
        ----------
        received : sequence of int, mask of bool, or None
            Which workers answered; None means all.

        Returns
        -------
        ndarray of float64, shape (K, |F|)
            Read-only; columns in the order of `received`, for a mask in ascending order.

        Raises
        ------
        InvalidInput
            If `received` is not a valid set of workers.
        TooFewReceived
            If it has fewer than `min_received`.
        Unresolved
            If the decoder chooses a parameter from the outputs: see `resolve`.
        """
        return self._decoding(received).matrix

    def decoding_matrices(self, received_sets: ArrayLike) -> FloatArray:
        """The decoding matrices of many received sets of one size, far faster than one by one.

        Parameters
        ----------
        received_sets : array_like of int, shape (B, |F|), or of bool, shape (B, N)
            One received set a row.

        Returns
        -------
        ndarray of float64, shape (B, K, |F|)
            Read-only; equal to `decoding_matrix` of each row to rounding.

        Raises
        ------
        InvalidInput
            If a row is not a valid set of workers, or masks name different numbers of workers.
        TooFewReceived
            If they have fewer than `min_received`.
        """
        self._check_fitted()
        indices = as_index_sets(received_sets, self.num_workers)
        self._check_enough(indices.shape[1])
        return read_only(self.decoder.operators(self.worker_points[indices], self.data_points))

    def _encoding(self) -> Prepared:
        def build() -> Prepared:
            self._check_fitted()
            return Prepared(self.encoder.operator(self.data_points, self.worker_points), np.arange(self.num_data))

        return PREPARED.get((self, "encode"), build)

    def _decoding(self, received: ArrayLike | None) -> Prepared:
        # keyed by what was passed, so that a set seen before is not even checked again; only valid ones get in
        key: tuple[Hashable, ...]
        if isinstance(received, list) and set(map(type, received)) == {int}:
            key = self, tuple(received)
        else:
            raw = as_array(received)
            key = self, raw.dtype.str, raw.shape, raw.tobytes() if raw.ndim else b""

        def build() -> Prepared:
            prepared = self._prepare(received)
            # with what the key keeps
            prepared.nbytes += 8 * prepared.labels.nbytes + self.data_points.nbytes + self.worker_points.nbytes
            return prepared

        return PREPARED.get(key, build)

    def _prepare(self, received: ArrayLike | None) -> Prepared:
        self._check_fitted()
        indices = as_indices(received, self.num_workers)
        self._check_enough(indices.size)
        return Prepared(self.decoder.operator(self.worker_points[indices], self.data_points), indices)

    def _check_fitted(self) -> None:
        if self.ordering is not None:
            raise NotFitted(f"{self} places its data points by the inputs: use the scheme that fit(x) returns")

    def _check_enough(self, received: int) -> None:
        if received < self.min_received:
            raise TooFewReceived(
                f"{received} of {self.num_workers} workers answered, but this scheme decodes from at least "
                f"{self.min_received}: wait for {self.min_received - received} more"
            )

    def resolve(self, outputs: Array, received: ArrayLike | None = None) -> "CodedScheme":
        """Put numbers in place of the decoder's rules, chosen from outputs: one choice for all of them jointly.

        A choice made from the outputs makes decoding non-linear, so that matrices and certificates belong to the scheme
        that this returns; its numbers are readable as ``.decoder.smoothing``. Gradients do not flow through a choice.

        Parameters
        ----------
        outputs : array_like or torch.Tensor, shape (|F|, ...)
            The received outputs, in the order of `received`.
        received : sequence of int, mask of bool, or None
            Which workers they came from; None means all.

        Returns
        -------
        CodedScheme
            This one where the decoder has no rule.

        Raises
        ------
        InvalidInput, TooFewReceived, NonFiniteValues
            As for `decode`.
        """
        self._check_fitted()
        if self.decoder.resolved:
            return self
        indices = as_indices(received, self.num_workers)
        self._check_enough(indices.size)
        values = as_columns(outputs, _OUTPUTS, indices)
        decoder = self.decoder.resolve(self.worker_points[indices], values)
        return CodedScheme(self.encoder, decoder, self.data_points, self.worker_points)

    def fit(self, x: Array) -> Self:
        """Place the data points for given inputs.

        Parameters
        ----------
        x : array_like or torch.Tensor, shape (K, ...)
            The inputs that will be encoded.

        Returns
        -------
        CodedScheme
            With the data points in the order of `x`, so that nothing is permuted in `encode` or `decode`. This one
            where it is not adaptive.

        Raises
        ------
        InvalidInput
            If the first axis is not K, or `x` does not hold numbers.
        NonFiniteValues
            If an input is NaN or infinite.
        """
        if self.ordering is None:
            return self
        count = len(x) if hasattr(x, "__len__") and np.ndim(x) else None  # type: ignore[arg-type]
        if count != self.num_data:
            raise InvalidInput(f"the scheme has {self.num_data} data points, but there are {count or 'no'} inputs")
        return type(self)(self.encoder, self.decoder, self.ordering.data_points(x), self.worker_points)

    def encode(self, x: Array, *, check_finite: bool = True) -> Array:
        """Coded inputs, one for each worker.

        Parameters
        ----------
        x : array_like or torch.Tensor, shape (K, ...)
            One input for each data point. Integers and booleans are computed as floats.
        check_finite : bool
            Whether to look for NaN and infinity.

        Returns
        -------
        ndarray or torch.Tensor, shape (N, ...)
            Of the kind, dtype and device of `x`.

        Raises
        ------
        InvalidInput
            If the first axis is not K, or `x` does not hold numbers.
        NonFiniteValues
            If an input is NaN or infinite.
        """
        prepared = untraced(x, self._encoding)
        return combine(prepared.supply, x, _INPUTS, prepared.labels, check_finite)

    def decode(self, outputs: Array, received: ArrayLike | None = None, *, check_finite: bool = True) -> Array:
        """Estimates of the function at the inputs from what was received.

        Parameters
        ----------
        outputs : array_like or torch.Tensor, shape (|F|, ...)
            The received outputs, in the order of `received`.
        received : sequence of int, mask of bool, or None
            Which workers they came from, in any order of arrival; None means all.
        check_finite : bool
            Whether to look for NaN and infinity.

        Returns
        -------
        ndarray or torch.Tensor, shape (K, ...)
            Of the kind, dtype and device of `outputs`.

        Raises
        ------
        InvalidInput
            If `received` is not a valid set of workers, or the outputs do not match it.
        TooFewReceived
            If fewer than `min_received` workers answered.
        NonFiniteValues
            If an output is NaN or infinite; the message names the workers.
        """
        if self.decoder.resolved:
            prepared = untraced(outputs, self._decoding, received)
        else:  # chosen for these outputs, and hardly ever met again
            prepared = untraced(outputs, lambda: self.resolve(outputs, received)._prepare(received))
        return combine(prepared.supply, outputs, _OUTPUTS, prepared.labels, check_finite)

    def __eq__(self, other: object) -> bool:
        """Equal smoothers and equal points, in order."""
        if not isinstance(other, CodedScheme):
            return NotImplemented
        return (
            self._hash == other._hash
            and (self.encoder, self.decoder, self.ordering) == (other.encoder, other.decoder, other.ordering)
            and np.array_equal(self.data_points, other.data_points)
            and np.array_equal(self.worker_points, other.worker_points)
        )

    def __hash__(self) -> int:
        """Consistent with equality."""
        return self._hash

    def __repr__(self) -> str:
        """The smoothers and the sizes; the points are attributes."""
        ordering = f", ordering={self.ordering}" if self.ordering else ""
        return (
            f"CodedScheme(encoder={self.encoder}, decoder={self.decoder}, "
            f"num_data={self.num_data}, num_workers={self.num_workers}{ordering})"
        )

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        """Copy and unpickle through the constructor, which makes the points immutable again."""
        return type(self), (self.encoder, self.decoder, self.data_points, self.worker_points, self.ordering)


def _integer(value: int, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name} must be an integer, not {value!r}") from None


def _at_least_one(count: int, name: str) -> int:
    if _integer(count, name) < 1:
        raise InvalidInput(f"{name} is {count}: it must be at least 1")
    if count > MOST_POINTS:
        raise InvalidInput(f"{name} is {count}: it must be at most {MOST_POINTS}, which floats can tell apart")
    return _integer(count, name)


def _points(num_data: int, num_workers: int, points: PointFamily) -> tuple[FloatArray, FloatArray]:
    _at_least_one(num_data, "num_data")
    _at_least_one(num_workers, "num_workers")
    if points == "chebyshev":
        return chebyshev_first_kind(num_data), chebyshev_second_kind(num_workers)
    if points == "equispaced":
        return equispaced(num_data, interior=True), equispaced(num_workers)
    raise InvalidInput(f'points must be "chebyshev" or "equispaced", not {points!r}')


def _immutable(points: ArrayLike, name: str) -> FloatArray:
    array = as_points(points, name)
    if array.size == 0:
        raise InvalidInput(f"{name} is empty: at least one point is needed")
    outside = np.abs(array) > 1
    if outside.any():
        where = int(np.argmax(outside))
        raise InvalidInput(
            f"{name}[{where}] is {array[where]}: points lie in [-1, 1], on which smoothing and certificates are "
            "defined; rescale them"
        )
    sorting_order(array, name)
    # memory that belongs to bytes cannot be made writable again; adding zero makes -0.0 and 0.0 one point
    return np.frombuffer((array + 0.0).tobytes())
