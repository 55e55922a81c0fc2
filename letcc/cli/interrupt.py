"""Imported first, for its effect: Ctrl-C while the program `letcc` still imports gives no traceback either."""

import os
import sys
from itertools import pairwise
from pathlib import PurePath
from types import TracebackType


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("Interrupted", file=sys.stderr, flush=True)
        os._exit(130)
    sys.__excepthook__(kind, error, trace)


def _is_the_program() -> bool:
    """Not a program of others that imports letcc, whose hook is its own affair."""
    name = sys.argv[0] if sys.argv else ""
    if name == "-m":  # still being looked for
        return any(pair == ("-m", "letcc") for pair in pairwise(sys.orig_argv))
    return PurePath(name).stem == "letcc"


if _is_the_program():
    sys.excepthook = _hook
