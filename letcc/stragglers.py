"""Models of which workers answer: seeded random sets, and all of them where they can be listed.

And of when they do: `letcc.latency`, whose models stand here too.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from letcc.exceptions import InvalidInput
from letcc.latency import AbstractLatency, Bimodal, Markov, Pareto, Seed, ShiftedExponential, Trace
from letcc.nodes import IndexArray

__all__ = [
    "AbstractLatency",
    "AbstractStragglers",
    "AtMost",
    "Bernoulli",
    "Bimodal",
    "ConsecutiveBlock",
    "Markov",
    "Pareto",
    "Seed",
    "ShiftedExponential",
    "Trace",
]
_MOST_LISTED = 10**7


class AbstractStragglers(ABC):
    """A model of stragglers; a concrete one is a frozen dataclass."""

    @abstractmethod
    def sample(self, num_workers: int, seed: Seed) -> IndexArray:
        """One random received set.

        Parameters
        ----------
        num_workers : int
            N.
        seed : int, numpy.random.Generator or SeedSequence
            A generator is advanced; anything else gives the same set every time.

        Returns
        -------
        ndarray of int, shape (|F|,)
            Ascending worker indices, at least one.

        Raises
        ------
        InvalidInput
            If the model leaves none of so few workers.
        """

    @abstractmethod
    def count(self, num_workers: int) -> int:
        """How many received sets are possible.

        Parameters
        ----------
        num_workers : int
            N.

        Returns
        -------
        int

        Raises
        ------
        InvalidInput
            If the model leaves none of so few workers.
        """

    @abstractmethod
    def _all(self, num_workers: int) -> Iterator[IndexArray]:
        """Every possible received set, once."""

    @final
    def all(self, num_workers: int) -> Iterator[IndexArray]:
        """Every possible received set, once.

        Parameters
        ----------
        num_workers : int
            N.

        Returns
        -------
        iterator of ndarray of int, shape (|F|,)
            Ascending worker indices, never empty.

        Raises
        ------
        InvalidInput
            If there are more than ten million of them, or the model leaves none of so few workers.
        """
        count = self.count(num_workers)
        if count > _MOST_LISTED:
            raise InvalidInput(
                f"{self} has about 10^{math.log10(count):.0f} received sets of {num_workers} workers, "
                "too many to list: use sample()"
            )
        return self._all(num_workers)


@final
@dataclass(frozen=True)
class AtMost(AbstractStragglers):
    """At most S stragglers anywhere.

    A sample loses exactly S, uniformly at random, as the experiments of the literature do; `all` lists every set that
    loses 0, 1, ..., S.

    Parameters
    ----------
    stragglers : int
        S, at least 0.
    """

    stragglers: int

    def __post_init__(self) -> None:
        """Check S."""
        _check_stragglers(self.stragglers)

    def sample(self, num_workers: int, seed: Seed) -> IndexArray:
        """One received set of size N - S; see `AbstractStragglers.sample`."""
        received = _left(num_workers, self.stragglers)
        return np.sort(np.random.default_rng(seed).choice(num_workers, received, replace=False))

    def count(self, num_workers: int) -> int:
        """Number of sets; see `AbstractStragglers.count`."""
        _left(num_workers, self.stragglers)
        return sum(math.comb(num_workers, lost) for lost in range(self.stragglers + 1))

    def _all(self, num_workers: int) -> Iterator[IndexArray]:
        for lost in range(self.stragglers + 1):
            for kept in itertools.combinations(range(num_workers), num_workers - lost):
                yield np.array(kept)


@final
@dataclass(frozen=True)
class ConsecutiveBlock(AbstractStragglers):
    """A block of S neighbouring workers lost: the worst case for interpolating splines.

    Parameters
    ----------
    stragglers : int
        S, at least 0.
    """

    stragglers: int

    def __post_init__(self) -> None:
        """Check S."""
        _check_stragglers(self.stragglers)

    def sample(self, num_workers: int, seed: Seed) -> IndexArray:
        """One block uniformly at random; see `AbstractStragglers.sample`."""
        start = int(np.random.default_rng(seed).integers(_left(num_workers, self.stragglers) + 1))
        return self._without(start, num_workers)

    def count(self, num_workers: int) -> int:
        """N - S + 1, or 1 where S = 0; see `AbstractStragglers.count`."""
        left = _left(num_workers, self.stragglers)
        return left + 1 if self.stragglers else 1

    def _all(self, num_workers: int) -> Iterator[IndexArray]:
        return (self._without(start, num_workers) for start in range(self.count(num_workers)))

    def _without(self, start: int, num_workers: int) -> IndexArray:
        received = np.arange(num_workers)
        return np.delete(received, slice(start, start + self.stragglers))


@final
@dataclass(frozen=True)
class Bernoulli(AbstractStragglers):
    """Each worker lost independently with one probability, given that at least one answers.

    Parameters
    ----------
    probability : float
        p, in [0, 1).
    """

    probability: float

    def __post_init__(self) -> None:
        """Check p."""
        if not (isinstance(self.probability, (int, float, np.integer, np.floating)) and 0 <= self.probability < 1):
            raise InvalidInput(f"probability is {self.probability!r}: it must be at least 0 and less than 1")

    def sample(self, num_workers: int, seed: Seed) -> IndexArray:
        """One received set; see `AbstractStragglers.sample`."""
        _left(num_workers, 0)
        generator, p = np.random.default_rng(seed), float(self.probability)
        # the first to answer, given that one does, has a truncated geometric law; those after it are independent
        uniform = generator.random()
        some = -math.expm1(num_workers * math.log(p)) if p else 1.0
        first = min(int(math.log1p(-uniform * some) / math.log(p)), num_workers - 1) if p else 0
        after = np.flatnonzero(generator.random(num_workers - first - 1) >= p) + first + 1
        return np.concatenate([[first], after])

    def count(self, num_workers: int) -> int:
        """2^N - 1, or 1 where p = 0; see `AbstractStragglers.count`."""
        _left(num_workers, 0)
        return 2**num_workers - 1 if self.probability else 1

    def _all(self, num_workers: int) -> Iterator[IndexArray]:
        return AtMost(num_workers - 1 if self.probability else 0).all(num_workers)


def _check_stragglers(stragglers: int) -> None:
    if not isinstance(stragglers, (int, np.integer)) or isinstance(stragglers, bool) or stragglers < 0:
        raise InvalidInput(f"the number of stragglers must be an integer of at least 0, not {stragglers!r}")


def _left(num_workers: int, stragglers: int) -> int:
    if not isinstance(num_workers, (int, np.integer)) or num_workers < 1:
        raise InvalidInput(f"num_workers must be an integer of at least 1, not {num_workers!r}")
    if stragglers >= num_workers:
        raise InvalidInput(f"{stragglers} stragglers leave none of {num_workers} workers: lower one, raise the other")
    return int(num_workers) - int(stragglers)
