"""The certified rates of anyone's linear scheme, and its distance from the best that any could do."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from letcc._foreign import AnyScheme, ForeignScheme
from letcc.certificate_sets import blocks_of, error_norms
from letcc.certificates import Ball, reproduces_lines
from letcc.exceptions import InvalidInput, Unresolved
from letcc.nodes import FloatArray
from letcc.optimum import optimal_squared_biases
from letcc.rates import Exponent, fit_exponent
from letcc.scheme import CodedScheme
from letcc.stragglers import ConsecutiveBlock

_ROUNDING = 1e3 * np.finfo(float).eps  # of the error of decoding values of order one, before it is amplified
_BALLS: tuple[Ball, Ball] = ("seminorm", "full")


@dataclass(frozen=True)
class RateReport:
    """What `certify_rates` found.

    Attributes
    ----------
    exponent_n, exponent_s : Exponent
        Of the worst squared error against N, and against S + 1.
    ball : {"seminorm", "full"}
        The ball that all numbers are of, see `letcc.certify`: the seminorm's if straight lines are reproduced from
        every received set that was examined.
    ratio : float
        The worst squared error over the least possible one, both as the largest at any data point, of the received set
        where this is largest. 1 is optimal.
    lebesgue : float
        The largest sum of the sizes of decoding weights: what an error of 1 in every output can grow to.
    rows : list of dict
        A row for each point of the two sweeps: `sweep` ("N" or "S"), `num_workers`, `num_data`, `stragglers`, and over
        the sets examined there the largest `error`, `optimum` (least possible error) and `lebesgue`.
    """

    exponent_n: Exponent
    exponent_s: Exponent
    ball: Ball
    ratio: float
    lebesgue: float
    rows: list[dict[str, Any]]


def certify_rates(
    make_scheme: Callable[[int, int], CodedScheme | AnyScheme],
    *,
    workers: Sequence[int] = (32, 64, 128, 256, 512),
    num_data: int = 8,
    stragglers: Sequence[int] = (1, 3, 7, 15, 31),
    straggler_workers: int = 256,
    straggler_num_data: int = 32,
) -> RateReport:
    """Certify how the worst error of a linear scheme falls with the workers and grows with the stragglers.

    N runs with all workers received. S runs over every block of S workers whose points are neighbours, and of S - 1,
    because at most S are lost and a scheme may fare worse with fewer. For an interpolating spline such a block is the
    worst set; for others there may be worse ones, and the numbers are those of these blocks.

    Parameters
    ----------
    make_scheme : callable
        From K and N to a `CodedScheme`, or to an object of any class with `data_points` (K,), `worker_points` (N,) and
        ``decode(outputs, received)``, which is given outputs (n, m) and the ascending indices of the n workers that
        they came from, and returns estimates (K, m).
    workers : sequence of int
        N of the sweep over N, ascending, with `num_data` data points. Keep to one parity, on which errors may depend.
        N at which every data point is a worker point (2^m + 1 on Chebyshev points) have a row but no part in the fit.
    num_data : int
    stragglers : sequence of int
        S of the sweep over S, ascending and of one parity, with `straggler_workers` and `straggler_num_data`.
    straggler_workers, straggler_num_data : int

    Returns
    -------
    RateReport

    Raises
    ------
    InvalidInput
        If a scheme is not linear (tried out once for every N and S), has points outside [-1, 1] or not as many as
        asked for, or decodes to another shape or to what is not finite.
    Unresolved
        If a decoder chooses a parameter from the outputs, which is not linear either.

    Examples
    --------
    >>> import letcc
    >>> report = letcc.certify_rates(letcc.CodedScheme.letcc)
    >>> report.ball, round(report.ratio, 6), report.exponent_n.judge(-3.0).value, report.exponent_s.judge(3.0).value
    ('seminorm', 1.0, 'attained', 'attained')
    """
    _check_callable(make_scheme)
    _check_grid(workers, "workers", 1)
    _check_grid(stragglers, "stragglers", 0)
    points = [("N", n, num_data, 0) for n in workers]
    points += [("S", straggler_workers, straggler_num_data, s) for s in stragglers]
    examined = [_examine(make_scheme, data, n, s) for _, n, data, s in points]
    ball = _BALLS[not all(found.reproduces_lines for found in examined)]
    rows = [
        {
            "sweep": sweep,
            "num_workers": n,
            "num_data": data,
            "stragglers": s,
            "error": float(found.errors[ball].max()),
            "optimum": float(found.optima[ball].max()),
            "lebesgue": float(found.lebesgue.max()),
        }
        for (sweep, n, data, s), found in zip(points, examined, strict=True)
    ]
    return RateReport(
        _fit([row for row in rows if row["sweep"] == "N"]),
        _fit([row for row in rows if row["sweep"] == "S"]),
        ball,
        max(found.ratio(ball) for found in examined),
        max(float(found.lebesgue.max()) for found in examined),
        rows,
    )


def _check_callable(make_scheme: Any) -> None:
    try:
        inspect.signature(make_scheme).bind(8, 32)
    except ValueError:
        return  # built in, without a signature to look at
    except TypeError as error:
        raise InvalidInput(
            f"make_scheme must be a function of the number of data points and the number of workers, not "
            f"{getattr(make_scheme, '__name__', type(make_scheme).__name__)} ({error})"
        ) from None


def _check_grid(grid: Any, name: str, least: int) -> None:
    integers = isinstance(grid, Sequence) and all(isinstance(n, (int, np.integer)) for n in grid)
    if not integers or any(n < least for n in grid) or any(a >= b for a, b in pairwise(grid)):
        raise InvalidInput(f"{name} must be ascending integers of at least {least}, not {grid!r}")


def _fit(rows: list[dict[str, Any]]) -> Exponent:
    floor = max(_floor(row["lebesgue"]) for row in rows) if rows else 0.0
    rows = [row for row in rows if row["optimum"] > floor]  # else the data points are worker points
    x = [row["stragglers"] + 1 if row["sweep"] == "S" else row["num_workers"] for row in rows]
    return fit_exponent(x, [row["error"] for row in rows], floor=floor)


def _floor(lebesgue: Any) -> Any:
    """The squared error that is rounding, where outputs are so much amplified."""
    return (_ROUNDING * np.maximum(lebesgue, 1)) ** 2


@dataclass(frozen=True, eq=False)
class _Examined:
    """The largest numbers over the data points, for each received set."""

    errors: dict[Ball, FloatArray]  # shape (B,)
    optima: dict[Ball, FloatArray]  # shape (B,)
    lebesgue: FloatArray  # shape (B,)
    reproduces_lines: bool

    def ratio(self, ball: Ball) -> float:
        floor = _floor(self.lebesgue)  # at data points that are worker points nothing but rounding is left
        return float((np.maximum(self.errors[ball], floor) / np.maximum(self.optima[ball], floor)).max())


def _examine(
    make_scheme: Callable[[int, int], CodedScheme | AnyScheme], num_data: int, num_workers: int, stragglers: int
) -> _Examined:
    """Every block of at most S neighbours."""
    scheme = _as_scheme(make_scheme(num_data, num_workers))
    sizes = scheme.data_points.size, scheme.worker_points.size
    if sizes != (num_data, num_workers):
        raise InvalidInput(
            f"make_scheme({num_data}, {num_workers}) gave {sizes[0]} data points and {sizes[1]} worker points: it is "
            "called with the number of data points and the number of workers"
        )
    with np.errstate(all="ignore"):  # what is not finite is refused
        parts = [_examine_blocks(scheme, lost) for lost in range(max(0, stragglers - 1), stragglers + 1)]
    return _Examined(
        {ball: np.concatenate([part.errors[ball] for part in parts]) for ball in _BALLS},
        {ball: np.concatenate([part.optima[ball] for part in parts]) for ball in _BALLS},
        np.concatenate([part.lebesgue for part in parts]),
        all(part.reproduces_lines for part in parts),
    )


def _as_scheme(scheme: CodedScheme | AnyScheme) -> CodedScheme | ForeignScheme:
    if not isinstance(scheme, CodedScheme):
        return ForeignScheme.of(scheme)
    if not scheme.decoder.resolved:
        raise Unresolved(
            f"{scheme} chooses a parameter from the outputs, so that it has no certificate: let make_scheme return "
            "what scheme.resolve(outputs, received) gives, or put a number in place of the rule"
        )
    return scheme


def _examine_blocks(scheme: CodedScheme | ForeignScheme, lost: int) -> _Examined:
    by_point = np.argsort(scheme.worker_points)  # blocks are of neighbours, in whatever order the workers are numbered
    blocks = np.array(list(ConsecutiveBlock(lost).all(by_point.size)))
    sets = np.sort(by_point[blocks], axis=1)
    ascending = np.argsort(scheme.worker_points[sets], axis=1)
    targets = scheme.data_points
    if isinstance(scheme, ForeignScheme):
        scheme.check_linear(sets[0])
    errors, optima = ({ball: np.empty(len(sets)) for ball in _BALLS} for _ in range(2))
    lebesgue, lines_reproduced = np.empty(len(sets)), True
    for block in blocks_of(sets, targets.size):
        order = ascending[block]
        nodes = np.take_along_axis(scheme.worker_points[sets[block]], order, axis=1)
        matrices = np.take_along_axis(scheme.decoding_matrices(sets[block]), order[:, None], axis=2)
        bent, constants, lines = error_norms(matrices, nodes, targets)
        amplified = np.abs(matrices).sum(axis=2)
        lebesgue[block] = amplified.max(axis=1)
        lines_reproduced = lines_reproduced and reproduces_lines(constants, lines, amplified)
        errors["seminorm"][block] = bent.max(axis=1)
        errors["full"][block] = (bent + constants**2 + (lines + constants) ** 2).max(axis=1)
        for ball in _BALLS:
            optima[ball][block] = optimal_squared_biases(nodes, targets, ball).max(axis=1)
    if not all(np.isfinite(found).all() for found in (*errors.values(), lebesgue)):
        raise InvalidInput(f"the worst errors of {scheme} leave the range of double precision: scale its decoder down")
    return _Examined(errors, optima, lebesgue, lines_reproduced)
