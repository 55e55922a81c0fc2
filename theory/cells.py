"""Cells of a grid through an executor, with progress: the same rows whatever it is, and for any number of jobs."""

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from letcc.exceptions import IllConditionedWarning, InvalidInput, LetccError
from theory.journal import Journal, remove

Cell = TypeVar("Cell")
Row = TypeVar("Row")


@dataclass(frozen=True)
class _Sweeps:
    executor: str = "processes"
    folder: Path | None = None
    journals: set[Path] = field(default_factory=set)


_DEFAULT = _Sweeps()
_SWEEPS: ContextVar[_Sweeps | None] = ContextVar("_SWEEPS", default=None)


@contextmanager
def sweeping(executor: str, out: Path | None) -> Iterator[None]:
    """Choose for all sweeps of a program where cells are computed, and keep those that are finished.

    Parameters
    ----------
    executor : str
        "processes", "threads", or "dask://" and the address of a scheduler, whose workers must have this checkout.
    out : Path or None
        Folder of the results. The cells of a program that is killed stay in it, and are taken from there when it is run
        again; those of a program that ends are removed, and those that other code has left. None keeps nothing.

    Raises
    ------
    InvalidInput
        If there is no such executor.
    """
    known = executor in ("processes", "threads") or executor.startswith("dask:")
    if not known or not executor.removeprefix("dask:").strip("/"):
        raise InvalidInput(f"--executor is {executor!r}: it must be processes, threads, or dask://ADDRESS")
    sweeps = _Sweeps(executor, out / ".partial-cells" if out else None)
    token = _SWEEPS.set(sweeps)
    try:
        with _alike():
            yield
    finally:
        _SWEEPS.reset(token)
    if sweeps.folder and sweeps.folder.exists():
        remove(sweeps.folder, sweeps.journals)


def run_cells(
    function: Callable[[Cell], Row],
    cells: Sequence[Cell],
    jobs: int,
    label: str,
    finished: Callable[[Cell, Row], None] | None = None,
) -> list[Row]:
    """Apply a function to every cell: where, and what is kept, `sweeping` says.

    Parameters
    ----------
    function : callable
        Of one cell; of a module, so that a worker process can import it. Its seed belongs to the cell.
    cells : sequence
    jobs : int
        Workers; 1 computes here. Dask has as many as it has.
    label : str
        What is going on, for the progress bar.
    finished : callable
        Called here with each cell and its row as soon as there is one, to keep it: then nothing else does.

    Returns
    -------
    list
        Rows in the order of the cells.

    Raises
    ------
    LetccError
        If a worker process is killed.
    """
    sweeps = _SWEEPS.get() or _DEFAULT
    # a caller who keeps rows knows best which of them still hold
    folder = None if finished else sweeps.folder
    with Journal.of(folder, function, cells) if folder else nullcontext() as journal:
        rows: dict[int, Row] = dict(journal.rows) if journal else {}
        if journal:
            sweeps.journals.add(journal.path)

        def keep(index: int, row: Row) -> None:
            rows[index] = row
            if journal:
                journal.keep(index, row)
            if finished:
                finished(cells[index], row)
            advance()

        with progress(label, len(cells)) as advance, _alike():
            for _ in rows:
                advance()
            missing = [index for index in range(len(cells)) if index not in rows]
            if jobs == 1 and not sweeps.executor.startswith("dask:"):
                for index in missing:
                    keep(index, function(cells[index]))
            elif missing:
                with _executor(sweeps.executor, jobs) as executor:
                    with _deaf_to_the_keyboard():
                        futures = {executor.submit(_elsewhere, function, cells[index]): index for index in missing}
                    try:
                        for future in as_completed(futures):
                            keep(futures[future], future.result())
                    except BrokenExecutor as error:
                        raise LetccError(
                            "a worker process was killed, perhaps for want of memory: run the same command again, with "
                            "fewer --jobs"
                        ) from error
    return [rows[index] for index in range(len(cells))]


@contextmanager
def _alike() -> Iterator[None]:
    """Compute here as in any worker: see `_elsewhere`."""
    with threadpool_limits(1), warnings.catch_warnings():
        _make_alike()
        yield


def _elsewhere(function: Callable[[Cell], Row], cell: Cell) -> Row:
    """One cell in a worker, in a state that is never taken back, since other threads may be computing others."""
    _make_alike()
    return function(cell)


def _make_alike() -> None:
    threadpool_limits(1)  # sums that are split over threads round differently with their number
    warnings.simplefilter("ignore", IllConditionedWarning)  # its effect is measured; threads share the filters


@contextmanager
def _executor(name: str, jobs: int) -> Iterator[Executor]:
    if name == "processes":
        with _pool(jobs) as pool:
            yield pool
    elif name == "threads":
        threads = ThreadPoolExecutor(jobs)
        try:
            yield threads
        finally:
            threads.shutdown(cancel_futures=True)
    else:
        with _dask(name.removeprefix("dask:")) as executor:
            yield executor


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise InvalidInput("--executor dask://ADDRESS needs Dask: pip install distributed") from error
    address = address.removeprefix("//")
    try:
        client = Client(address, timeout=30)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"there is no Dask scheduler at {address}: {error}") from error
    with client:
        try:
            client.run(__import__, __name__)
        except ImportError as error:
            raise InvalidInput(f"Dask workers need this checkout on their PYTHONPATH ({error})") from error
        yield client.get_executor(pure=False)


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that a process loads in its first cell; it is inherited
    spawn = multiprocessing.get_context("spawn")  # a fork after OpenMP has started can deadlock
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_to_the_keyboard() -> Iterator[None]:
    """Start workers that never see Ctrl-C, which a terminal sends to all: the parent ends them, without tracebacks.

    A process inherits what is blocked when it starts, and the parent gets what was pending when this is over.
    """
    resource_tracker.ensure_running()  # starting it later would end the blocking
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _end_with_parent() -> None:
    """Leave when the parent is killed, which cannot say so: a worker would wait for its next cell for ever."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on stderr: a bar on a terminal, a line every tenth of the way on a pipe.

    Parameters
    ----------
    label : str
    total : int

    Yields
    ------
    callable
        To be called once for each finished part.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(label, total=total)
            yield lambda: bar.advance(task)
        return
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done * 10 // total > (done - 1) * 10 // total:
            print(f"{label}: {done}/{total}", file=sys.stderr, flush=True)

    yield advance
