"""Worker processes for one call: each has a pipe of its own, and all can be ended whatever they do.

The standard process pool breaks as a whole when one process dies, can wait for ever for half a result of a killed one,
and cannot end a process that hangs. Here a process shares no queue and no lock with another, so that its end is the end
of its pipe: one task is lost, and the next is given to a new process.
"""

import atexit
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Self

from letcc._tasks import Raised, call_elsewhere, portable
from letcc.exceptions import InvalidInput, PoolNotStarted

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_START = 120  # seconds in which a process must have started and imported the function
_READY = b"ready"


class WorkerDied(BrokenExecutor):
    """A process ended before its answer."""


class OwnPool:
    """Processes that compute one function, started when this is made and ended by `close`.

    Parameters
    ----------
    function : bytes
        Pickled. Each process gets it once.
    processes : int

    Raises
    ------
    PoolNotStarted
        If a process ends while it starts.
    InvalidInput
        If a process cannot load the function.
    """

    def __init__(self, function: bytes, processes: int) -> None:
        self._function = function
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._living: set[_Worker] = set()
        self._closed = False
        self._tenders: list[threading.Thread] = []
        # an abandoned generator may hold this until the interpreter has frozen its threads, which nobody can join
        atexit.register(self.close)
        try:
            workers = [self._launch() for _ in range(processes)]  # all at once, then wait for all
            for worker in workers:
                worker.greet()
            for worker in workers:
                # daemons, as the interpreter waits for other threads before it runs what atexit has
                self._tenders.append(threading.Thread(target=self._tend, args=(worker,), daemon=True))
                self._tenders[-1].start()
        except BaseException:
            self.close()
            raise

    def submit(self, argument: Any) -> Future[Any]:
        """Have the function computed.

        Parameters
        ----------
        argument : object
            Anything that can be pickled.

        Returns
        -------
        concurrent.futures.Future
            Of what `letcc._tasks.call_elsewhere` returns; raises `WorkerDied` where the process ended.
        """
        future: Future[Any] = Future()
        self._tasks.put((future, pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL)))
        return future

    def close(self) -> None:
        """End all processes, whatever they do, and all threads, and give back what the system lent."""
        self._kill()
        for _ in self._tenders:
            self._tasks.put(None)
        for tender in self._tenders:
            tender.join()
        with self._lock:
            left, self._living = self._living, set()
        for worker in left:
            worker.bury()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        """Itself, started already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _kill(self) -> None:
        with self._lock:
            self._closed = True
            for worker in self._living:
                worker.process.kill()

    def _launch(self) -> "_Worker":
        with self._lock:
            if self._closed:
                raise WorkerDied("the pool is closed")
            worker = _Worker.launch(self._function)
            self._living.add(worker)
            return worker

    def _tend(self, worker: "_Worker | None") -> None:
        """One thread for each process: give it one task after the other, and replace it when it dies."""
        while (task := self._tasks.get()) is not None:
            future, argument = task
            if self._closed or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                if worker is None:
                    worker = self._launch()
                    worker.greet()
                answer = worker.ask(argument)
            except (EOFError, OSError, BrokenExecutor, PoolNotStarted, InvalidInput) as error:
                if worker is not None:
                    with self._lock:
                        self._living.discard(worker)
                    worker.bury()
                    worker = None
                future.set_exception(WorkerDied(f"the worker process ended: {error!r}"))
                continue
            try:
                future.set_result(pickle.loads(answer))
            except BaseException as error:
                future.set_exception(error)


@dataclass(eq=False)
class _Worker:
    process: "SpawnProcess"
    connection: Connection

    @classmethod
    def launch(cls, function: bytes) -> Self:
        # a fork after OpenMP has started can deadlock
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        try:
            process = context.Process(target=_serve, args=(there,), name="letcc-worker")
            process.start()
        except BaseException:
            here.close()
            raise
        finally:
            there.close()  # or its end would not be seen here
        worker = cls(process, here)
        with suppress(OSError):  # it is dead already, as `greet` will find
            here.send_bytes(function)
        return worker

    def greet(self) -> None:
        """Wait until the process has loaded the function."""
        try:
            answer = self._receive(_START)
        except (EOFError, OSError) as error:
            raise PoolNotStarted(
                "a worker process ended while it started: a script that calls this must do so under "
                'if __name__ == "__main__", and one typed into a prompt must be a file; executor= takes threads'
            ) from error
        if answer != _READY:
            raised = pickle.loads(answer)
            raise InvalidInput(
                f"f cannot be loaded in a worker process ({raised.error!r}): define it in a module, or pass threads as "
                "executor"
            ) from raised.error

    def ask(self, argument: bytes) -> bytes:
        self.connection.send_bytes(argument)
        return self._receive(None)

    def _receive(self, timeout: float | None) -> bytes:
        # the sentinel too, as a grandchild may hold the pipe open
        ready = wait([self.connection, self.process.sentinel], timeout)
        if self.connection in ready or (ready and self.connection.poll()):
            return self.connection.recv_bytes()
        raise EOFError("it is dead" if ready else f"it was not ready within {timeout} seconds")

    def bury(self) -> None:
        self.process.kill()
        self.process.join()
        self.process.close()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """What a worker process does: load the function, then answer until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        try:
            function = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        except Exception as error:
            connection.send_bytes(pickle.dumps(Raised(portable(error))))
            return
        connection.send_bytes(_READY)
        while True:
            argument = connection.recv_bytes()
            try:
                answer = pickle.dumps(
                    call_elsewhere(function, pickle.loads(argument)), protocol=pickle.HIGHEST_PROTOCOL
                )
            except Exception as error:  # the output cannot be pickled
                answer = pickle.dumps(Raised(portable(error)))
            connection.send_bytes(answer)


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
