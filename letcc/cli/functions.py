"""Functions of the user's own, named on the command line: ``package.module:function``."""

import ctypes
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from letcc.exceptions import InvalidInput, LetccError


@contextmanager
def function_of(name: str) -> Iterator[Callable[..., Any]]:
    """Import a function, and tell of what it raises and prints while it is used.

    Parameters
    ----------
    name : str
        ``package.module:function``. The current folder is searched too.

    Yields
    ------
    callable

    Raises
    ------
    InvalidInput
        If there is no such function, or it raises or exits.
    LetccError
        If what is done with it does.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidInput(f"{name!r} is no function of a module: give package.module:function")
    sys.path.insert(0, str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr), _descriptor_redirected():  # what it prints is no result
            yield _imported(module, attribute)
    except BaseException as error:  # of sys.exit() too: the program's status is not the function's to choose
        if isinstance(error, (LetccError, MemoryError, KeyboardInterrupt)):
            raise
        raise InvalidInput(f"{name} failed{_where(error)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)


def _where(error: BaseException) -> str:
    """In which line, unless the function was not even entered, as with arguments that it does not take."""
    if isinstance(error, SyntaxError):
        return f" in {error.filename}, line {error.lineno}"
    ours = Path(__file__).parents[1]
    theirs = [at for at in traceback.extract_tb(error.__traceback__) if not Path(at.filename).is_relative_to(ours)]
    return f" in {theirs[-1].filename}, line {theirs[-1].lineno}" if theirs else ""


@contextmanager
def _descriptor_redirected() -> Iterator[None]:
    """What goes past `sys.stdout`, as from C or another process, goes to standard error too."""
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    try:
        _flush()
        with suppress(OSError):  # standard error is closed
            os.dup2(2, 1)
        yield
    finally:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)


def _flush() -> None:
    """Write out what Python and C still hold for the descriptor."""
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
    with suppress(TypeError):  # on Windows, which has no library of the program's own
        ctypes.CDLL(None).fflush(None)


def _imported(module: str, attribute: str) -> Any:
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise InvalidInput(f"{module} imports {error.name!r}, which is not installed") from error
        raise InvalidInput(
            f"there is no module {module!r}: run from the folder that holds it, without .py, or install it"
        ) from error
    try:
        function = attrgetter(attribute)(found)
    except AttributeError as error:
        raise InvalidInput(f"{module} has no {attribute!r}") from error
    if not callable(function):
        raise InvalidInput(f"{module}:{attribute} is no function, but {function!r}: name one that can be called")
    return function
