"""Any function on real workers, decoded from whoever answered in time."""

import asyncio
import math
import os
import queue
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from letcc._bound import error_bound, leave_one_out
from letcc._pool import OwnPool
from letcc._tasks import Batched, Function, Raised, Submit, pickled, submitting
from letcc.exceptions import InvalidInput, NonFiniteValues, TooFewReceived, WorkerFailed
from letcc.nodes import FloatArray, IndexArray
from letcc.scheme import CodedScheme

Policy = Literal["raise", "straggler"]
_Event = tuple[int, "Future[Any]"]
_Events = queue.SimpleQueue[_Event | None]  # None: nobody waits for the result any more


def coded_map(
    f: Function,
    x: Any,
    scheme: CodedScheme,
    executor: Executor | None = None,
    wait_for: int | None = None,
    deadline: float | None = None,
    on_error: Policy = "raise",
    nonfinite: Policy = "raise",
) -> "CodedResult":
    """Estimate a function at K inputs from N workers, some of which are slow, die or fail.

    It stops at the first of: `wait_for` outputs; `deadline`; no worker left that could answer.

    Parameters
    ----------
    f : callable or torch.nn.Module
        Gets one coded input of shape ``x.shape[1:]`` and returns an array of numbers, of one shape for all. A module
        gets a batch of 1, which is removed again; it must be in eval mode.
    x : array_like or torch.Tensor, shape (K, ...)
        The inputs. A module takes tensors.
    scheme : CodedScheme
        An adaptive one is fitted to `x`.
    executor : concurrent.futures.Executor, optional
        Threads, processes, loky, MPI, or Dask's ``client.get_executor()``. None starts a process for each core (at most
        N) for this call and ends them with it, whatever they do: f must be importable, and a script's call stand under
        ``if __name__ == "__main__"``.
    wait_for : int, optional
        Outputs to wait for, from ``scheme.min_received`` to N. None means N.
    deadline : float, optional
        Seconds, counted from the submission of the first task; processes of this call have started by then.
    on_error : {"raise", "straggler"}
        What to do about a worker on which f raises: raise `WorkerFailed`, or do without it.
    nonfinite : {"raise", "straggler"}
        The same for a worker that returns NaN or infinity: raise `NonFiniteValues`, or do without it.

    Returns
    -------
    CodedResult

    Raises
    ------
    InvalidInput
        If an argument cannot be used; nothing has been submitted then, except where outputs do not fit each other.
    TooFewReceived
        If fewer than ``scheme.min_received`` answered; it has their outputs.
    WorkerFailed
        If f raised, with `on_error` "raise"; or on every worker. Its cause is the original exception.
    NonFiniteValues
        If an input is NaN or infinite; or an output, with `nonfinite` "raise".
    PoolNotStarted
        If the processes of this call cannot start.

    See Also
    --------
    coded_stream : Estimates as the outputs arrive.
    acoded_map : For asyncio.

    Notes
    -----
    Late answers are ignored. Tasks that have not started are cancelled; a task that runs can be ended only in the
    processes of this call (killed) and by Dask (forgotten): in threads and processes of yours it runs to its end, and
    the executor waits for it when it is shut down.

    Examples
    --------
    >>> import numpy as np, letcc
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> scheme = letcc.CodedScheme.letcc(num_data=4, num_workers=30)
    >>> x = np.array([0.1, 0.2, 0.4, 0.3])
    >>> with ThreadPoolExecutor(8) as threads:
    ...     result = letcc.coded_map(np.sin, x, scheme, threads, wait_for=25)
    >>> bool(np.abs(result.values - np.sin(x)).max() < 1e-3), len(result.received)
    (True, 25)
    """
    return _drain(_Job.of(f, x, scheme, executor, wait_for, deadline, on_error, nonfinite), queue.SimpleQueue())


def coded_stream(
    f: Function,
    x: Any,
    scheme: CodedScheme,
    executor: Executor | None = None,
    wait_for: int | None = None,
    deadline: float | None = None,
    on_error: Policy = "raise",
    nonfinite: Policy = "raise",
) -> Iterator["CodedResult"]:
    """Estimates that improve as outputs arrive.

    The arguments are checked when this is called; the work begins with the first `next`. Whoever has seen enough leaves
    the loop, which calls the rest off (at once with ``.close()``, as ``contextlib.closing`` does).

    Parameters
    ----------
    f, x, scheme, executor, wait_for, deadline, on_error, nonfinite : as for `coded_map`

    Returns
    -------
    iterator of CodedResult
        One whenever outputs have arrived and there are at least ``scheme.min_received``; the last is what `coded_map`
        returns. Values are decoded when they are looked at.

    Raises
    ------
    LetccError
        As for `coded_map`.
    """
    return _Job.of(f, x, scheme, executor, wait_for, deadline, on_error, nonfinite).run(queue.SimpleQueue())


async def acoded_map(
    f: Function,
    x: Any,
    scheme: CodedScheme,
    executor: Executor | None = None,
    wait_for: int | None = None,
    deadline: float | None = None,
    on_error: Policy = "raise",
    nonfinite: Policy = "raise",
) -> "CodedResult":
    """`coded_map` for asyncio, in a thread; cancelling it calls the work off.

    Parameters
    ----------
    f, x, scheme, executor, wait_for, deadline, on_error, nonfinite : as for `coded_map`

    Returns
    -------
    CodedResult

    Raises
    ------
    LetccError
        As for `coded_map`.
    asyncio.CancelledError
        If it is cancelled.
    """
    events: _Events = queue.SimpleQueue()
    job = _Job.of(f, x, scheme, executor, wait_for, deadline, on_error, nonfinite)
    try:
        return await asyncio.to_thread(_drain, job, events)
    except asyncio.CancelledError:
        events.put(None)
        raise


@dataclass(frozen=True, eq=False)
class CodedResult:
    """Estimates, and which workers they come from.

    Attributes
    ----------
    scheme : CodedScheme
        As it was used: fitted, if it is adaptive.
    outputs : list
        Of the workers in `received`.
    received : list of int
        Who answered, ascending.
    failed : mapping of int to exception
        What f raised, with the worker's traceback: ``traceback.print_exception(result.failed[3])``. NonFiniteValues for
        a worker whose output is not finite.
    elapsed : float
        Seconds from the first submission.
    """

    scheme: CodedScheme
    outputs: list[Any] = field(repr=False)
    received: list[int]
    failed: Mapping[int, BaseException]
    elapsed: float

    @property
    def late(self) -> list[int]:
        """Who had not answered: slow, dead or cut off; ascending."""
        answered = {*self.received, *self.failed}
        return [n for n in range(self.scheme.num_workers) if n not in answered]

    @cached_property
    def values(self) -> Any:
        """Estimates of f at the inputs, shape (K, ...): an array, or a tensor if the outputs are."""
        return self.scheme.decode(self.outputs, self.received, check_finite=False)

    @cached_property
    def error_bound(self) -> FloatArray:
        r"""About how large the error at each data point may be, shape (K,): root mean square over the output's entries.

        The certificate of the received set (`letcc.certify`) times the roughness of the least rough function through
        the received outputs, :math:`\sqrt{W_{kk} \int u''^2}`; where the decoder does not reproduce straight lines,
        both in the full norm.

        What it promises: no function as rough as that, or less, is decoded worse from these workers. What it does not:
        that f o u_e is no rougher. It is at least as rough, and much rougher where it has features between the workers,
        so that this is an estimate, good where the workers resolve the function; compare `leave_one_out`, which is
        measured. Noise in the outputs looks like roughness and makes it large. Infinite for fewer than three workers.
        """
        return error_bound(self.scheme, self.outputs, self._indices)

    @cached_property
    def leave_one_out(self) -> float:
        """How well the decoder predicts a received worker from the others: root mean square over up to 32 of them.

        Measured, without any assumption on f, but at worker points instead of data points, and from one worker fewer.
        The two outermost workers are not left out, as no data point lies beyond them. Infinite where there are too few.
        """
        return leave_one_out(self.scheme, self.outputs, self._indices)

    @property
    def _indices(self) -> IndexArray:
        return np.array(self.received, dtype=np.intp)


def _drain(job: "_Job", events: _Events) -> CodedResult:
    *_, last = job.run(events)
    last.values  # noqa: B018  # outputs that do not fit each other are found here and not by the caller
    return last


@dataclass(frozen=True)
class _Job:
    """Checked arguments."""

    function: Function
    data: bytes  # the function, pickled
    coded: Any
    scheme: CodedScheme
    executor: Executor | None
    wait_for: int
    deadline: float
    on_error: Policy
    nonfinite: Policy

    @classmethod
    def of(
        cls,
        f: Function,
        x: Any,
        scheme: CodedScheme,
        executor: Executor | None,
        wait_for: int | None,
        deadline: float | None,
        on_error: Policy,
        nonfinite: Policy,
    ) -> "_Job":
        if not isinstance(scheme, CodedScheme):
            raise InvalidInput(f"scheme must be a CodedScheme, not {scheme!r}")
        if executor is not None and not isinstance(executor, Executor):
            raise InvalidInput(
                f"executor must be a concurrent.futures.Executor or None, not {executor!r}: of a Dask client pass "
                "client.get_executor()"
            )
        for name, policy in (("on_error", on_error), ("nonfinite", nonfinite)):
            if policy not in ("raise", "straggler"):
                raise InvalidInput(f'{name} must be "raise" or "straggler", not {policy!r}')
        enough = _checked_wait_for(wait_for, scheme)
        seconds = _checked_deadline(deadline)
        function = as_function(f, x, isinstance(executor, ThreadPoolExecutor))
        data = b""
        if not isinstance(executor, ThreadPoolExecutor):
            data = pickled(function, required=executor is None or isinstance(executor, ProcessPoolExecutor))
        scheme = scheme.fit(x)
        return cls(function, data, scheme.encode(x), scheme, executor, enough, seconds, on_error, nonfinite)

    def run(self, events: _Events) -> Iterator[CodedResult]:
        with self._submitting() as submit:
            state = _State(self)
            futures: list[Future[Any]] = []
            try:
                for n in _spread(self.scheme.worker_points):
                    try:
                        future = submit(self._argument(n))
                    except RuntimeError as error:
                        if not futures:
                            raise InvalidInput(f"the executor takes no tasks ({error}): make a new one") from error
                        state.lost.add(n)  # it broke while it was given the tasks
                        continue
                    futures.append(future)
                    future.add_done_callback(lambda done, n=n: events.put((n, done)))  # type: ignore[misc]
                while not state.complete and (event := _next(events, state.time_left())):
                    before = len(state.outputs)
                    state.account(*event)
                    # a caller who was busy meanwhile is shown all that has arrived since
                    while not state.complete and not events.empty() and (event := events.get()):
                        state.account(*event)
                    if before < len(state.outputs) >= self.scheme.min_received and not state.complete:
                        yield state.result()
            finally:
                state.stop()
                for future in futures:
                    future.cancel()
        state.check()
        yield state.result()

    @contextmanager
    def _submitting(self) -> Iterator[Submit]:
        if self.executor is None:
            with OwnPool(self.data, min(self.scheme.num_workers, _cores())) as pool:
                yield pool.submit
        else:
            with submitting(self.function, self.data, self.executor) as submit:
                yield submit

    def _argument(self, n: int) -> Any:
        argument = self.coded[n]
        if not isinstance(self.executor, ThreadPoolExecutor) and hasattr(argument, "detach"):
            return argument.detach().clone()  # or all coded inputs would be pickled, of which this is a view
        return argument


class _State:
    """What has become of each worker."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self.outputs: dict[int, Any] = {}
        self.failed: dict[int, BaseException] = {}
        self.lost: set[int] = set()
        self.started = time.perf_counter()
        self.elapsed: float | None = None

    @property
    def complete(self) -> bool:
        settled = len(self.outputs) + len(self.failed) + len(self.lost)
        return len(self.outputs) >= self.job.wait_for or settled == self.job.scheme.num_workers

    def time_left(self) -> float:
        return self.started + self.job.deadline - time.perf_counter()

    def stop(self) -> None:
        self.elapsed = time.perf_counter() - self.started

    def account(self, n: int, future: "Future[Any]") -> None:
        try:
            error = future.exception()
        except CancelledError:  # by someone else
            error = BrokenExecutor("cancelled")
        if error is not None:
            # what f raises is returned, so that this is the executor's; Dask has classes of its own for a dead worker
            if isinstance(error, BrokenExecutor) or type(error).__module__.startswith("distributed"):
                self.lost.add(n)
            else:
                self._fail(n, error)
            return
        output = future.result()
        if isinstance(output, Raised):
            self._fail(n, output.error)
        elif _is_finite(output):
            self.outputs[n] = output
        else:
            message = f"worker {n} returned NaN or infinity, which would spread to every estimate"
            if self.job.nonfinite == "raise":
                raise NonFiniteValues(f'{message}: nonfinite="straggler" does without it')
            self.failed[n] = NonFiniteValues(message)

    def _fail(self, n: int, error: BaseException) -> None:
        self.failed[n] = error
        if self.job.on_error == "raise":
            raise WorkerFailed(f'f raised on worker {n}: {error!r}; on_error="straggler" does without it', n) from error

    def check(self) -> None:
        """Raise where nothing can be decoded."""
        scheme = self.job.scheme
        if len(self.failed) == scheme.num_workers:
            n, error = next(iter(self.failed.items()))
            raise WorkerFailed(
                f"f failed on all {len(self.failed)} workers, on worker {n} with {error!r}", n
            ) from error
        if len(self.outputs) < scheme.min_received:
            late = scheme.num_workers - len(self.outputs) - len(self.failed)
            raise TooFewReceived(
                f"{len(self.outputs)} of {scheme.num_workers} workers answered within {self.elapsed:.3g} seconds "
                f"({len(self.failed)} failed, {len(self.lost)} died, {late - len(self.lost)} were late), but this "
                f"scheme decodes from at least {scheme.min_received}",
                self.outputs,
                self.failed,
            ) from next(iter(self.failed.values()), None)

    def result(self) -> CodedResult:
        received = sorted(self.outputs)
        elapsed = time.perf_counter() - self.started if self.elapsed is None else self.elapsed
        outputs = [self.outputs[n] for n in received]
        return CodedResult(self.job.scheme, outputs, received, MappingProxyType(dict(self.failed)), elapsed)


def _next(events: _Events, seconds: float) -> _Event | None:
    """What happens next within some time; what has happened by then counts even if that time is over."""
    try:
        return events.get(timeout=max(seconds, 0.0) if math.isfinite(seconds) else None)
    except queue.Empty:
        return None


def _spread(worker_points: FloatArray) -> list[int]:
    """An order of the workers in which those that come first are spread evenly, both ends among them.

    An executor with fewer workers than tasks takes them in order. At the deadline those that it has not come to would
    be neighbours, the worst set to lose.
    """
    count = worker_points.size
    bits = count.bit_length()
    reversed_bits = sorted(range(count - 1), key=lambda place: f"{place:0{bits}b}"[::-1])  # van der Corput
    order: list[int] = np.argsort(worker_points)[[count - 1, *reversed_bits]].tolist()
    return order


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_finite(output: Any) -> bool:
    if hasattr(output, "isfinite"):
        return bool(output.isfinite().all())
    array = np.asarray(output)
    if array.dtype.kind not in "biufc":
        raise InvalidInput(f"f must return an array of numbers, not {type(output).__name__} of {array.dtype}")
    return bool(np.isfinite(array).all())


def as_function(f: Function, x: Any, in_threads: bool) -> Function:
    """What to call with one input.

    Parameters
    ----------
    f : callable or torch.nn.Module
        A module is never changed.
    x : array_like or torch.Tensor
        The inputs.
    in_threads : bool
        Whether it is called in this process, where gradients can flow.

    Returns
    -------
    callable

    Raises
    ------
    InvalidInput
        If it cannot be called, or is a module in train mode or for inputs that are no tensor.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(f, torch.nn.Module):
        if not callable(f):
            raise InvalidInput(f"f must be a function or a torch module, not {f!r}")
        return f
    training = [name or "itself" for name, module in f.named_modules() if module.training]
    if training:
        raise InvalidInput(
            f"the module is in train mode ({', '.join(training[:3])}), where a batch of 1 means something else: "
            "call f.eval() first"
        )
    if not isinstance(x, torch.Tensor):
        raise InvalidInput(f"a torch module takes tensors, but x is {type(x).__name__}: pass torch.as_tensor(x)")
    return Batched(f, in_threads and torch.is_grad_enabled())


def _checked_wait_for(wait_for: int | None, scheme: CodedScheme) -> int:
    if wait_for is None:
        return scheme.num_workers
    if not isinstance(wait_for, (int, np.integer)) or isinstance(wait_for, bool):
        raise InvalidInput(f"wait_for must be an integer or None, not {wait_for!r}")
    if not max(1, scheme.min_received) <= wait_for <= scheme.num_workers:
        raise InvalidInput(
            f"wait_for is {wait_for}: this scheme decodes from {scheme.min_received} to {scheme.num_workers} workers"
        )
    return int(wait_for)


def _checked_deadline(deadline: float | None) -> float:
    if deadline is None:
        return math.inf
    if not isinstance(deadline, (int, float, np.integer, np.floating)) or isinstance(deadline, bool):
        raise InvalidInput(f"deadline must be a number of seconds or None, not {deadline!r}")
    if not 0 < deadline < math.inf:
        raise InvalidInput(f"deadline is {deadline}: it must be more than 0 and finite; None waits as long as it takes")
    return float(deadline)
