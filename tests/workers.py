"""Functions for workers in other processes, which import them by name. Files tell them what to do: no test sleeps."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GUARD = 60  # seconds after which a worker that nobody ends gives up


def hang():
    started = time.monotonic()
    while time.monotonic() - started < GUARD:
        time.sleep(0.01)


def stuck(u):
    hang()


def fails(u):
    raise KeyError("spoiled")


def exits(u):
    raise SystemExit(3)


class Odd(Exception):
    """Cannot be unpickled, as some exceptions cannot."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fails_oddly(u):
    raise Odd("this", "that")


def unpicklable(u):
    return lambda: u


def process_id(u):
    return os.getpid()


@dataclass
class Scripted:
    """sin, but what the first entry of the input names does not come back as it should.

    Inputs are (value, worker). The file `folder/pid-WORKER` says which process the worker is in; `hold` workers go on
    once `folder/go` exists; `die` kill their process; `fail` raise; `nan` return NaN.
    """

    folder: str
    hold: tuple = ()
    die: tuple = ()
    fail: tuple = ()
    nan: tuple = ()
    ballast: np.ndarray | None = None

    def __call__(self, u):
        worker = round(float(u[1]))
        (Path(self.folder) / f"pid-{worker}").write_text(str(os.getpid()))
        if worker in self.die:
            os.kill(os.getpid(), signal.SIGKILL)
        if worker in self.fail:
            raise ValueError(f"no output for {worker}")
        if worker in self.hold:
            started = time.monotonic()
            while not (Path(self.folder) / "go").exists() and time.monotonic() - started < GUARD:
                time.sleep(0.005)
        return np.array([np.nan, np.nan]) if worker in self.nan else np.sin(u)


class Weights:
    """A function with large weights, that counts how often it is unpickled."""

    def __init__(self, folder):
        self.folder, self.weights = str(folder), np.arange(10**5, dtype=float)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state
        (Path(self.folder) / f"loaded-{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, u):
        (Path(self.folder) / f"used-{os.getpid()}").touch()
        return u * self.weights[1]
