"""Finished cells of a sweep on disk, so that one that is killed goes on where it was."""

import hashlib
import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from theory.store import versions

_CHECKSUM, _LENGTH = 16, 8


class Journal:
    """Rows of cells by their place in the sweep, in a file that is only ever appended to.

    A record that a kill has cut short is told by its checksum, and computed again. The name of the file is made of the
    function, the cells, and the code that computes them: rows of another version are never taken.

    Parameters
    ----------
    path : Path
        Its folder is made where missing.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.rows: dict[int, Any] = {}
        self._file = open(path, "a+b")  # noqa: SIM115  # closed by __exit__
        self._file.seek(0)
        data = self._file.read()
        good = 0
        while record := _record(data, good):
            (index, row), good = record
            self.rows[index] = row
        self._file.truncate(good)

    @classmethod
    def of(cls, folder: Path, function: Any, cells: Sequence[Any]) -> Self:
        """The journal of one sweep.

        Parameters
        ----------
        folder : Path
        function : callable
        cells : sequence
            Each is told by its repr.

        Returns
        -------
        Journal
        """
        name = f"{function.__module__}.{getattr(function, '__qualname__', function)}"
        identity = hashlib.sha256("\n".join([name, *map(repr, cells)]).encode())
        return cls(folder / f"{code()}-{identity.hexdigest()[:32]}")

    def keep(self, index: int, row: Any) -> None:
        """Write a row.

        Parameters
        ----------
        index : int
        row : object
        """
        data = pickle.dumps((index, row))
        record = len(data).to_bytes(_LENGTH, "little") + hashlib.sha256(data).digest()[:_CHECKSUM] + data
        os.write(self._file.fileno(), record)  # one call, past all buffers: a kill loses at most this record

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, which stays."""
        self._file.close()


def remove(folder: Path, journals: set[Path]) -> None:
    """Remove what is of no use any more, and the folder where it is empty then.

    Parameters
    ----------
    folder : Path
        Journals of other programs stay in it, unless other code has written them.
    journals : set of Path
        Whose sweeps have ended.
    """
    for path in folder.iterdir():
        if path in journals or not path.name.startswith(code()):
            path.unlink()
    with suppress(OSError):
        folder.rmdir()


def _record(data: bytes, start: int) -> tuple[tuple[int, Any], int] | None:
    """The record at a place and the place after it, or None where there is no whole one."""
    body = start + _LENGTH + _CHECKSUM
    end = body + int.from_bytes(data[start : start + _LENGTH], "little")
    if body > len(data) or end > len(data):
        return None
    if hashlib.sha256(data[body:end]).digest()[:_CHECKSUM] != data[start + _LENGTH : body]:
        return None
    return pickle.loads(data[body:end]), end


@cache
def code() -> str:
    """All of the code that a row depends on, in one number."""
    digest = hashlib.sha256(repr(versions()).encode())
    root = Path(__file__).parents[1]
    for package in ("letcc", "theory", "convergence"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
