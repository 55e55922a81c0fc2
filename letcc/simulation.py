"""Rounds of coded computing without waiting for them: when who has answered."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """
    if not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise InvalidInput(f"rounds must be an integer of at least 1, not {rounds!r}")
    generator = np.random.default_rng(seed)
    some = max(1, _AT_ONCE // max(1, num_workers)) if isinstance(num_workers, (int, np.integer)) else 1
    for first in range(0, rounds, some):
        yield latency.sample(min(some, rounds - first), num_workers, generator)
