"""How a function reaches the workers of an executor, and how its errors come back."""

import pickle
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from letcc.exceptions import InvalidInput

Function = Callable[[Any], Any]
Submit = Callable[[Any], "Future[Any]"]

_HEAVY = 2**16  # bytes of a pickled function from which on it is sent once for each worker instead of for each task


@dataclass(frozen=True)
class Raised:
    """What a function raised, returned: so that it is not mistaken for an error of the executor."""

    error: BaseException


def call_here(function: Function, argument: Any) -> Any:
    """Call in a thread of this process.

    Parameters
    ----------
    function : callable
    argument : object

    Returns
    -------
    object
        The output, or `Raised`.
    """
    try:
        return function(argument)
    except (Exception, SystemExit) as error:
        return Raised(error)


def call_elsewhere(function: Function, argument: Any) -> Any:
    """Call in another process, for what can be sent back.

    Parameters
    ----------
    function : callable
    argument : object

    Returns
    -------
    object
        The output, or `Raised` with the traceback as a note.
    """
    output = call_here(function, argument)
    if isinstance(output, Raised):
        return Raised(portable(output.error))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(output, torch.Tensor):
        return output.detach().clone()  # a view would be pickled with all that it is a view of
    return output


def portable(error: BaseException) -> BaseException:
    """An exception that survives the way to another process.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    BaseException
        The same with its traceback as a note, or a RuntimeError that speaks of it where it cannot be unpickled.
    """
    note = "".join(["in the worker:\n", *traceback.format_exception(error)])
    try:
        restored: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        restored = RuntimeError(f"{type(error).__name__}: {error}")
    restored.add_note(note)
    return restored


@dataclass(frozen=True)
class Batched:
    """A torch module as a function of one input: adds the batch axis and removes it."""

    module: Any
    gradients: bool

    def __call__(self, argument: Any) -> Any:
        """One output for one input."""
        torch = sys.modules["torch"]
        with torch.set_grad_enabled(self.gradients):  # which every thread has for itself
            output = self.module(argument.unsqueeze(0))
        if not isinstance(output, torch.Tensor) or output.shape[:1] != (1,):
            what = f"shape {tuple(output.shape)}" if isinstance(output, torch.Tensor) else type(output).__name__
            raise TypeError(f"a module must return one tensor with the batch axis of 1 first, not {what}")
        return output[0]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Without gradients elsewhere: no graph can be sent back."""
        return Batched, (self.module, False)


@contextmanager
def submitting(function: Function, data: bytes, executor: Executor) -> Iterator[Submit]:
    """Give a function to an executor.

    Parameters
    ----------
    function : callable
    data : bytes
        From `pickled`.
    executor : concurrent.futures.Executor
        Threads call the function as it is. To other processes a function whose pickle is large is sent once: in a file
        where they are on this machine (the standard pool and loky), scattered by Dask. Any other executor is given the
        function with every task.

    Yields
    ------
    callable
        From an argument to the future of an output or `Raised`.
    """
    if isinstance(executor, ThreadPoolExecutor):
        yield lambda argument: executor.submit(call_here, function, argument)
        return
    home = {base.__module__.partition(".")[0] for base in type(executor).__mro__}
    heavy = len(data) > _HEAVY
    if "distributed" in home:
        dask: Any = executor
        sent = dask._client.scatter(function, broadcast=True, hash=False) if heavy else function
        # what Dask takes for pure it computes once for all workers that get equal inputs
        yield lambda argument: dask.submit(call_elsewhere, sent, argument, pure=False)
    elif heavy and (isinstance(executor, ProcessPoolExecutor) or home & {"loky", "joblib"}):
        with tempfile.TemporaryDirectory(prefix="letcc-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "function"
            path.write_bytes(data)
            yield lambda argument: executor.submit(_call_from_file, str(path), argument)
    else:
        yield lambda argument: executor.submit(call_elsewhere, function, argument)


def pickled(function: Function, required: bool) -> bytes:
    """A function as bytes, as the standard process pool sends it.

    Parameters
    ----------
    function : callable
    required : bool
        Whether it must be possible: loky and Dask have ways of their own.

    Returns
    -------
    bytes
        None of them where it is neither possible nor required.

    Raises
    ------
    InvalidInput
        If it is required, and the function cannot be pickled.
    """
    try:
        return pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        if not required:
            return b""
        raise InvalidInput(
            f"f cannot be sent to another process ({error}): define it at the top of a module, or pass as executor "
            "threads, loky or Dask, which take lambdas"
        ) from error


@lru_cache(maxsize=2)
def _from_file(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())


def _call_from_file(path: str, argument: Any) -> Any:
    return call_elsewhere(_from_file(path), argument)
