"""How long workers take: models that drive simulated rounds and really delayed workers alike.

A model gives the seconds that each of N workers takes in each of many rounds, shape (rounds, N), from a seed.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray

Seed = int | np.random.Generator | np.random.SeedSequence


class AbstractLatency(ABC):
    """A model of latencies; a concrete one is a frozen dataclass."""

    @final
    def sample(self, rounds: int, num_workers: int, seed: Seed) -> FloatArray:
        """Seconds that the workers take.

        Parameters
        ----------
        rounds, num_workers : int
        seed : int, numpy.random.Generator or SeedSequence
            A generator is advanced; anything else gives the same times every time.

        Returns
        -------
        ndarray, shape (rounds, N)
            Positive.

        Raises
        ------
        InvalidInput
            If a count is less than 1.
        """
        for name, count in (("rounds", rounds), ("num_workers", num_workers)):
            if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
                raise InvalidInput(f"{name} must be an integer of at least 1, not {count!r}")
        return self._sample(int(rounds), int(num_workers), np.random.default_rng(seed))

    @abstractmethod
    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        """`sample` for checked arguments."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected seconds of one worker; infinite where the tail is that heavy."""


@final
@dataclass(frozen=True)
class ShiftedExponential(AbstractLatency):
    """A least time, and an exponential one on top.

    The model of Lee, Lam, Pedarsani, Papailiopoulos, Ramchandran, *Speeding up distributed machine learning using
    codes*, IEEE Trans. Inf. Theory 64(3), 2018 (arXiv 1512.02673).

    Parameters
    ----------
    shift : float
        Seconds that every answer takes, at least 0.
    scale : float
        Mean of the rest, more than 0.
    """

    shift: float
    scale: float

    def __post_init__(self) -> None:
        """Check the parameters once."""
        _check(self.shift, "shift", least=0)
        _check(self.scale, "scale", above=0)

    @property
    def mean(self) -> float:
        """See `AbstractLatency.mean`."""
        return self.shift + self.scale

    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        return self.shift + self.scale * generator.standard_exponential((rounds, num_workers))


@final
@dataclass(frozen=True)
class Pareto(AbstractLatency):
    """P(T > t) = (shift / t)^tail: a few workers take many times as long.

    As in Wang, Joshi, Wornell, *Efficient straggler replication in large-scale parallel computing*, ACM TOMPECS 4(2),
    2019 (arXiv 1503.03128).

    Parameters
    ----------
    shift : float
        The least time, more than 0.
    tail : float
        Its exponent, more than 0: the smaller, the heavier; the mean is finite above 1 only.
    """

    shift: float
    tail: float

    def __post_init__(self) -> None:
        """Check the parameters once."""
        _check(self.shift, "shift", above=0)
        _check(self.tail, "tail", above=0)

    @property
    def mean(self) -> float:
        """See `AbstractLatency.mean`."""
        return self.shift * self.tail / (self.tail - 1) if self.tail > 1 else math.inf

    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        times: FloatArray = self.shift * np.exp(generator.standard_exponential((rounds, num_workers)) / self.tail)
        return times


@final
@dataclass(frozen=True)
class Bimodal(AbstractLatency):
    """Fast or slow, independently in every round.

    As in Peng, Soljanin, Whiting, *Diversity/parallelism trade-off in distributed systems with redundancy*, IEEE Trans.
    Inf. Theory 68(2), 2022 (arXiv 2010.02147).

    Parameters
    ----------
    fast, slow : float
        Seconds, more than 0; slow is at least fast.
    probability : float
        Of a slow answer, from 0 to 1.
    jitter : float
        Of either: multiplied by an exponential's deviation 1 + jitter * Exp(1), at least 0. Without it, answers tie.
    """

    fast: float
    slow: float
    probability: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters once."""
        _check(self.fast, "fast", above=0)
        _check(self.slow, "slow", least=self.fast)
        _check(self.probability, "probability", least=0, most=1)
        _check(self.jitter, "jitter", least=0)

    @property
    def mean(self) -> float:
        """See `AbstractLatency.mean`."""
        return (self.fast + self.probability * (self.slow - self.fast)) * (1 + self.jitter)

    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        slow = generator.random((rounds, num_workers)) < self.probability
        return _jittered(slow, self.fast, self.slow, self.jitter, generator)


@final
@dataclass(frozen=True)
class Markov(AbstractLatency):
    """Slow spells: a worker that is slow in a round is likely to be slow in the next one.

    The two-state model that Yang, Pedarsani, Avestimehr, *Timely-throughput optimal coded computing over cloud
    networks*, MobiHoc 2019 (arXiv 1904.05522), fitted to burstable machines of a cloud; Gilbert's channel (*Bell Syst.
    Tech. J.* 39, 1960). The first round is in the stationary law.

    Parameters
    ----------
    fast, slow : float
        Seconds, more than 0; slow is at least fast.
    slows_down, recovers : float
        Probabilities of changing state from one round to the next, above 0 and up to 1. A spell lasts 1 / recovers
        rounds on average.
    jitter : float
        As for `Bimodal`.
    """

    fast: float
    slow: float
    slows_down: float
    recovers: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters once."""
        _check(self.fast, "fast", above=0)
        _check(self.slow, "slow", least=self.fast)
        _check(self.slows_down, "slows_down", above=0, most=1)
        _check(self.recovers, "recovers", above=0, most=1)
        _check(self.jitter, "jitter", least=0)

    @property
    def probability(self) -> float:
        """Of being slow, in the long run."""
        return self.slows_down / (self.slows_down + self.recovers)

    @property
    def correlation(self) -> float:
        """Of a worker's state with that of the round before."""
        return 1 - self.slows_down - self.recovers

    @property
    def mean(self) -> float:
        """See `AbstractLatency.mean`."""
        return (self.fast + self.probability * (self.slow - self.fast)) * (1 + self.jitter)

    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        return _jittered(self._slow(rounds, num_workers, generator), self.fast, self.slow, self.jitter, generator)

    def _slow(self, rounds: int, num_workers: int, generator: np.random.Generator) -> NDArray[np.bool_]:
        """All rounds without a loop: the number of a round sends both states to one, or swaps or keeps them."""
        uniform = generator.random((rounds, num_workers))
        from_fast = uniform < self.slows_down  # slow next
        from_slow = uniform < 1 - self.recovers  # slow still
        from_fast[0] = from_slow[0] = uniform[0] < self.probability
        settles = from_fast == from_slow
        last = np.maximum.accumulate(np.where(settles, np.arange(rounds)[:, None], 0), axis=0)
        swaps = np.cumsum(from_fast & ~from_slow, axis=0)
        since: NDArray[np.intp] = swaps - np.take_along_axis(swaps, last, axis=0)
        slow: NDArray[np.bool_] = np.take_along_axis(from_slow, last, axis=0) ^ (since % 2 == 1)
        return slow


@final
@dataclass(frozen=True, eq=False)
class Trace(AbstractLatency):
    """Measured times, drawn again: whole rounds, so that what slows workers together still does.

    Source: your own measurements. From a file: `Trace.read`.

    Parameters
    ----------
    times : array_like, shape (rounds, workers) or (times,)
        Seconds, more than 0. Of one axis: times of any workers, which are drawn independently.
    """

    times: ArrayLike
    _table: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the times and make them immutable."""
        try:
            table = np.array(self.times, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"times must be numbers, in rows of one length ({error})") from None
        if table.ndim not in (1, 2) or table.size == 0:
            raise InvalidInput(f"times must have the shape (rounds, workers) or (times,), not {table.shape}")
        wrong = ~(np.isfinite(table) & (table > 0))
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise InvalidInput(
                f"the time at {where} is {table[where]}: times are seconds, more than 0; one that is missing is no "
                "latency: leave its round out, or put a time beyond every deadline"
            )
        table.setflags(write=False)
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "times", table)

    @classmethod
    def read(cls, path: str | Path) -> "Trace":
        """A trace from a text file: one round a line, one time a worker, separated by commas or spaces.

        Parameters
        ----------
        path : str or Path
            Lines that begin with # are left out.

        Returns
        -------
        Trace

        Raises
        ------
        InvalidInput
            If it cannot be read, or a time is missing, negative, zero or no number; the message names the line.
        """
        rows: list[list[float]] = []
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the trace {path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            words = line.split(",") if "," in line else line.split()
            try:
                row = [float(word) for word in words]
            except ValueError:
                raise InvalidInput(
                    f"line {number} of {path} has a time that is missing or no number: {line!r}"
                ) from None
            bad = [time for time in row if not 0 < time < math.inf]
            if bad:
                raise InvalidInput(f"line {number} of {path} has the time {bad[0]}: times are seconds, more than 0")
            if rows and len(row) != len(rows[0]):
                raise InvalidInput(
                    f"line {number} of {path} has {len(row)} times, but those before have {len(rows[0])}"
                )
            rows.append(row)
        if not rows:
            raise InvalidInput(f"the trace {path} is empty: it needs a line of seconds for each round")
        table = np.array(rows)
        return cls(table[:, 0] if table.shape[1] == 1 else table)

    @property
    def mean(self) -> float:
        """See `AbstractLatency.mean`."""
        return float(self._table.mean())

    def _sample(self, rounds: int, num_workers: int, generator: np.random.Generator) -> FloatArray:
        if self._table.ndim == 1:
            return self._table[generator.integers(self._table.size, size=(rounds, num_workers))]
        if num_workers > self._table.shape[1]:
            raise InvalidInput(f"the trace has {self._table.shape[1]} workers, not {num_workers}")
        return self._table[generator.integers(len(self._table), size=rounds), :num_workers]


def _jittered(
    slow: NDArray[np.bool_], fast: float, slower: float, jitter: float, generator: np.random.Generator
) -> FloatArray:
    times: FloatArray = np.where(slow, slower, fast)
    return times * (1 + jitter * generator.standard_exponential(slow.shape)) if jitter else times


def _check(
    value: float, name: str, *, least: float | None = None, above: float | None = None, most: float = math.inf
) -> None:
    low = above if least is None else least
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value > most or value < low or (least is None and value == low):  # type: ignore[operator]
        bounds = f"{'more than' if least is None else 'at least'} {low}" + (
            f" and at most {most}" if most < math.inf else ""
        )
        raise InvalidInput(f"{name} is {value!r}: it must be a finite number of {bounds}")
