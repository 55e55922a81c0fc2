"""Cells of a grid through worker processes, with progress; the same rows for any number of jobs."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Cell = TypeVar("Cell")
Row = TypeVar("Row")


def run_cells(
    function: Callable[[Cell], Row],
    cells: Sequence[Cell],
    jobs: int,
    label: str,
    finished: Callable[[Cell, Row], None] = lambda cell, row: None,
) -> list[Row]:
    """Apply a function to every cell.

    Parameters
    ----------
    function : callable
        Of one cell; of a module, so that a worker process can import it. Its seed belongs to the cell.
    cells : sequence
    jobs : int
        Worker processes; 1 computes here.
    label : str
        What is going on, for the progress bar.
    finished : callable
        Called here with each cell and its row as soon as there is one: to keep it.

    Returns
    -------
    list
        Rows in the order of the cells.
    """
    rows: dict[int, Row] = {}
    with progress(label, len(cells)) as advance:
        if jobs == 1:
            for index, cell in enumerate(cells):
                rows[index] = function(cell)
                finished(cell, rows[index])
                advance()
        else:
            with _pool(jobs) as pool:
                with _deaf_to_the_keyboard():
                    futures = {pool.submit(function, cell): index for index, cell in enumerate(cells)}
                for future in as_completed(futures):
                    index = futures[future]
                    rows[index] = future.result()
                    finished(cells[index], rows[index])
                    advance()
    return [rows[index] for index in range(len(cells))]


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    # two OpenMP teams on the same cores wait for each other; the children inherit the setting
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    spawn = multiprocessing.get_context("spawn")  # a fork after OpenMP has started can deadlock
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_to_the_keyboard() -> Iterator[None]:
    """Start workers that ignore Ctrl-C, which a terminal sends to all: the parent ends them, without their tracebacks.

    Only what is ignored before a process starts is ignored from its first moment on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which may not touch signals, and is not interrupted
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


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
