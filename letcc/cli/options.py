"""What all programs have in common: how options are spelt, and what a mistake of the user looks like."""

import inspect
import sys
import traceback
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from io import TextIOWrapper
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from letcc.exceptions import LetccError

Function = TypeVar("Function", bound=Callable[..., Any])

MOST = 10**8  # of anything counted in arrays: more is a slip of the keys, which should not take all the memory first
MOST_TRIALS = 10**6

Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]

_WIDTH = 140
_OUT_OF_MEMORY = "not enough memory: ask for fewer inputs, workers, rounds or trials, or fewer jobs at once"


class Program(typer.Typer):
    """A program whose commands all have ``--debug``, and answer for the user's mistakes with a line and status 2."""

    def __init__(self) -> None:
        super().__init__(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run it, on a standard output that takes every character."""
        if sys.stdout is None:
            typer.echo(
                "Error: standard output is closed, so that nothing can be printed: send it to /dev/null instead",
                err=True,
            )
            sys.exit(2)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # with ? for what its encoding has not
        return super().__call__(*args, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Register a command, as `typer.Typer.command` does."""
        return _registering(super().command(name, **options))

    def callback(self, **options: Any) -> Callable[[Function], Function]:
        """Register what runs before the commands, as `typer.Typer.callback` does."""
        return _registering(super().callback(**options))


def _registering(register: Callable[[Any], Any]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        register(_guarded(function))
        return function

    return decorate


def _guarded(function: Callable[..., Any]) -> Callable[..., None]:
    @wraps(function)
    def run(*, debug: bool, **given: Any) -> None:
        try:
            function(**given)
        except BrokenPipeError:
            raise  # nobody reads on, as with | head: typer ends the program
        except (LetccError, OSError, MemoryError) as error:
            said = _OUT_OF_MEMORY + f" ({error})" * bool(str(error)) if isinstance(error, MemoryError) else str(error)
            typer.echo(traceback.format_exc() if debug else f"Error: {said}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt:
            typer.echo("Interrupted", err=True)
            raise typer.Exit(130) from None

    signature = inspect.signature(function)
    last = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), last])  # type: ignore[attr-defined]
    return run


def one_of(what: str, names: Collection[str]) -> Callable[[str], str]:
    """The parser of an option that takes a name.

    Parameters
    ----------
    what : str
        That has the name.
    names : collection of str

    Returns
    -------
    callable
        For `typer.Option(parser=...)`; refuses other names, and suggests the nearest.
    """

    def check(name: str) -> str:
        if name not in names:
            raise typer.BadParameter(unknown(what, name, names))
        return name

    return check


def unknown(what: str, name: str, names: Collection[str]) -> str:
    """What to say where there is nothing of a name.

    Parameters
    ----------
    what, name : str
    names : collection of str
        Of what there is.

    Returns
    -------
    str
    """
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
    return f"there is no {what} {name!r}: {hint}"


def console(*, quiet: bool = False) -> Console:
    """Standard output; where it is not a terminal, wide enough for the tables.

    Parameters
    ----------
    quiet : bool
        Print nothing: JSON takes its place.

    Returns
    -------
    rich.console.Console
    """
    found = Console(quiet=quiet)
    return found if found.is_terminal else Console(width=_WIDTH, quiet=quiet)
