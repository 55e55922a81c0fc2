"""Which code to use for given workers: measured on sample inputs, under a model of their latencies."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from letcc.exceptions import IllConditionedWarning, InvalidInput, NoPlan
from letcc.execute import as_function
from letcc.latency import AbstractLatency
from letcc.metrics import rmse
from letcc.nodes import FloatArray
from letcc.scheme import CodedScheme

MakeScheme = Callable[[int, int], CodedScheme]
_SCHEMES: Mapping[str, MakeScheme] = {
    "recommended": CodedScheme.recommended,
    "letcc": CodedScheme.letcc,
    "bacc": CodedScheme.bacc,
}


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    scheme : CodedScheme
        Of K data points and N workers; adaptive, if it is the recommended one.
    name : str
        Of the scheme.
    num_data : int
        K, inputs in one round.
    wait_for : int
        Outputs to wait for.
    stragglers : int
        S = N - wait_for, workers that a round does without.
    deadline : float
        In seconds, as asked.
    error : float
        Root mean square error that the asked share of rounds stays below.
    elapsed : float
        Seconds that the asked share of rounds stays below.
    """

    scheme: CodedScheme
    name: str
    num_data: int
    wait_for: int
    stragglers: int
    deadline: float
    error: float
    elapsed: float


def plan(
    f: Callable[[Any], Any],
    x: Any,
    num_workers: int,
    latency: AbstractLatency,
    deadline: float,
    target: float,
    *,
    confidence: float = 0.95,
    schemes: Mapping[str, MakeScheme] | None = None,
    rounds: int = 200,
    seed: int = 0,
) -> Plan:
    """The most inputs that N workers can compute well enough by a deadline, and with which scheme.

    Tries K = all of the sample inputs, half of them, and so on. For each scheme it computes f on the coded inputs here,
    N times, simulates rounds, decodes them, and looks for the fewest outputs to wait for. The largest K that meets the
    target wins; among schemes, the one that waits for the fewest.

    Parameters
    ----------
    f : callable or torch.nn.Module
        As for `letcc.coded_map`.
    x : array_like or torch.Tensor, shape (M, ...)
        Sample inputs, like those to come.
    num_workers : int
        N.
    latency : AbstractLatency
    deadline : float
        Seconds for a round.
    target : float
        Root mean square error over the K estimates of a round.
    confidence : float
        Share of rounds that must meet the target, in (0, 1).
    schemes : mapping of str to callable, optional
        From K and N to a scheme. None tries the recommended scheme, LeTCC and BACC.
    rounds : int
        To simulate; the share that meets the target is known to about 1 / sqrt(rounds).
    seed : int

    Returns
    -------
    Plan

    Raises
    ------
    InvalidInput
        If an argument is out of its range.
    NoPlan
        If no scheme meets the target, even for one input.

    Examples
    --------
    >>> import numpy as np, letcc
    >>> x, model = np.linspace(-1, 1, 16), letcc.latency.ShiftedExponential(0.01, 0.005)
    >>> chosen = letcc.plan(np.tanh, x, num_workers=60, latency=model, deadline=0.02, target=0.01, rounds=50)
    >>> chosen.name, chosen.num_data, chosen.wait_for, round(chosen.elapsed, 3)
    ('letcc', 16, 18, 0.013)
    """
    for name, value in (("deadline", deadline), ("target", target)):
        if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 < value < math.inf:
            raise InvalidInput(f"{name} is {value!r}: it must be a finite number of more than 0")
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence!r}: it must be between 0 and 1")
    if not hasattr(x, "__len__") or not len(x):
        raise InvalidInput("x must hold at least one sample input")
    function = as_function(f, x, in_threads=True)
    x = x if hasattr(x, "detach") else np.asarray(x)
    times = latency.sample(rounds, num_workers, seed)
    count, best = len(x), math.inf
    while count:
        found = []
        for name, make in (_SCHEMES if schemes is None else schemes).items():
            trial = _Trial(make(count, num_workers), function, x[:count], times, deadline, confidence)
            wait_for = trial.fewest(target)
            best = min(best, trial.error(num_workers))
            if wait_for is not None:
                found.append((wait_for, trial.error(wait_for), name, trial))
        if found:
            wait_for, error, name, trial = min(found, key=lambda each: each[:2])
            elapsed = float(np.quantile(trial.stopped(wait_for), confidence))
            stragglers = num_workers - wait_for
            return Plan(trial.given, name, count, wait_for, stragglers, float(deadline), error, elapsed)
        count //= 2
    reached = f"the best that {num_workers} workers reach in {deadline} seconds is {best:.3g}"
    if best == math.inf:
        reached = f"too few of {num_workers} workers answer in {deadline} seconds to decode anything"
    raise NoPlan(
        f"no scheme stays below {target} in {confidence:.0%} of the rounds, even for one input: {reached}; "
        "give them more time, or use more of them"
    )


class _Trial:
    """One scheme on sample inputs."""

    def __init__(
        self,
        given: CodedScheme,
        function: Callable[[Any], Any],
        x: Any,
        times: FloatArray,
        deadline: float,
        confidence: float,
    ) -> None:
        self.given, self.times, self.deadline, self.confidence = given, times, deadline, confidence
        self.scheme = given.fit(x)
        self._outputs = np.stack([_plain(function(u)) for u in self.scheme.encode(x)])
        self._truth = np.stack([_plain(function(u)) for u in x])
        self._ordered = np.sort(times, axis=1)
        self._errors: dict[int, float] = {}

    def stopped(self, wait_for: int) -> FloatArray:
        return np.minimum(self._ordered[:, wait_for - 1], self.deadline)

    def error(self, wait_for: int) -> float:
        """That the asked share of rounds stays below; infinite where that share cannot be decoded."""
        if wait_for not in self._errors:
            received = self.times <= self.stopped(wait_for)[:, None]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IllConditionedWarning)  # whose effect is measured
                errors = np.sort([self._of(mask) for mask in received])
            self._errors[wait_for] = float(errors[math.ceil(self.confidence * len(errors)) - 1])
        return self._errors[wait_for]

    def _of(self, mask: np.ndarray) -> float:
        if mask.sum() < self.scheme.min_received or not mask.any():
            return math.inf
        return float(rmse(self.scheme.decode(self._outputs[mask], mask), self._truth))

    def fewest(self, target: float) -> int | None:
        """Outputs to wait for, by bisection: more are better, but for exceptions that cost at most a few more."""
        low, high = max(1, self.scheme.min_received), self.scheme.num_workers
        if self.error(high) > target:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.error(middle) <= target:
                high = middle
            else:
                low = middle + 1
        return high


def _plain(output: Any) -> np.ndarray:
    return output.detach().cpu().numpy() if hasattr(output, "detach") else np.asarray(output)
