"""Rounds of coded computing without waiting for them, and with: when who has answered."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letcc.exceptions import InvalidInput
from letcc.latency import AbstractLatency, Seed
from letcc.nodes import FloatArray

_AT_ONCE = 2**20  # times in memory


@dataclass(frozen=True, eq=False)
class Rounds:
    """What happened in each round.

    Attributes
    ----------
    elapsed : ndarray, shape (rounds,)
        Seconds until it was decoded: when enough had answered, or the deadline.
    received : ndarray of bool, shape (rounds, N)
        Who had answered by then.
    """

    elapsed: FloatArray
    received: NDArray[np.bool_]


def simulate(
    latency: AbstractLatency,
    rounds: int,
    num_workers: int,
    seed: Seed,
    *,
    wait_for: int | None = None,
    deadline: float | None = None,
) -> Rounds:
    """What `letcc.coded_map` would do, round after round, if its workers took the times of a model.

    Parameters
    ----------
    latency : AbstractLatency
    rounds, num_workers : int
    seed : int, numpy.random.Generator or SeedSequence
    wait_for : int, optional
        Outputs to wait for, from 1 to N. None means N.
    deadline : float, optional
        Seconds, more than 0.

    Returns
    -------
    Rounds

    Raises
    ------
    InvalidInput
        If an argument is out of its range.

    Examples
    --------
    The slowest of 100 workers, and the 80th:

    >>> import numpy as np
    >>> from letcc.latency import Pareto
    >>> from letcc.simulation import simulate
    >>> for wait_for in (100, 80):
    ...     rounds = simulate(Pareto(1.0, 2.0), rounds=10_000, num_workers=100, seed=0, wait_for=wait_for)
    ...     np.quantile(rounds.elapsed, [0.5, 0.99]).round(1).tolist()
    [12.1, 97.0]
    [2.2, 2.8]
    """
    waited = num_workers if wait_for is None else wait_for
    if isinstance(num_workers, (int, np.integer)) and not 1 <= waited <= num_workers:
        raise InvalidInput(f"wait_for is {waited}: it must be from 1 to {num_workers}")
    if deadline is not None and not deadline > 0:
        raise InvalidInput(f"deadline is {deadline}: it must be more than 0")
    elapsed, received = [], []
    for times in batches(latency, rounds, num_workers, seed):
        stopped = kth(times, waited)
        if deadline is not None:
            stopped = np.minimum(stopped, deadline)
        elapsed.append(stopped)
        received.append(times <= stopped[:, None])
    return Rounds(np.concatenate(elapsed), np.concatenate(received))


def kth(times: FloatArray, wait_for: int) -> FloatArray:
    """When the k-th answer is there.

    Parameters
    ----------
    times : ndarray, shape (rounds, N)
    wait_for : int
        k.

    Returns
    -------
    ndarray, shape (rounds,)
    """
    if wait_for == times.shape[1]:
        return times.max(axis=1)
    return np.partition(times, wait_for - 1, axis=1)[:, wait_for - 1]


def replicated(times: FloatArray, copies: int) -> FloatArray:
    """When one copy of every task is there: worker n computes task n modulo N / copies.

    Parameters
    ----------
    times : ndarray, shape (rounds, N)
        N a multiple of `copies`.
    copies : int

    Returns
    -------
    ndarray, shape (rounds,)
    """
    return times.reshape(len(times), copies, -1).min(axis=1).max(axis=1)


def batches(latency: AbstractLatency, rounds: int, num_workers: int, seed: Seed) -> Iterator[FloatArray]:
    """The rounds of a model in parts that fit into memory; a slow spell ends with its part.

    Parameters
    ----------
    latency : AbstractLatency
    rounds, num_workers : int
    seed : int, numpy.random.Generator or SeedSequence

    Yields
    ------
    ndarray, shape (some rounds, N)

    Raises
    ------
    InvalidInput
        If `rounds` is not a positive integer, or as for `letcc.latency.AbstractLatency.sample`.
    """
    if not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise InvalidInput(f"rounds must be an integer of at least 1, not {rounds!r}")
    generator = np.random.default_rng(seed)
    some = max(1, _AT_ONCE // max(1, num_workers)) if isinstance(num_workers, (int, np.integer)) else 1
    for first in range(0, rounds, some):
        yield latency.sample(min(some, rounds - first), num_workers, generator)


class DelayedExecutor(Executor):
    """An executor whose workers take the times of a model: to rehearse stragglers with real threads or processes.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Computes the tasks. It needs one worker for each task of a round, or tasks wait for each other; it is not shut
        down with this one.
    times : array_like, shape (rounds, N)
        Seconds by which tasks are delayed, such as `letcc.latency.AbstractLatency.sample` gives: the tasks of the first
        round in order, then those of the second; after the last round, the first again.

    Raises
    ------
    InvalidInput
        If a time is negative or not finite, or there is none.
    """

    def __init__(self, executor: Executor, times: ArrayLike) -> None:
        table = np.asarray(times, dtype=np.float64)
        if table.ndim != 2 or table.size == 0 or not (np.isfinite(table) & (table >= 0)).all():
            raise InvalidInput(f"times must be of shape (rounds, N) and at least 0, not {table.shape}: {times!r}")
        self._executor = executor
        self._seconds = cycle(table.ravel().tolist())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """See `concurrent.futures.Executor.submit`."""
        return self._executor.submit(_delayed, next(self._seconds), fn, *args, **kwargs)


def _delayed(seconds: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    time.sleep(seconds)
    return function(*args, **kwargs)
