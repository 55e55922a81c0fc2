"""Read-only access to the results, with a way out where one is missing, and a record of what was read."""

import hashlib
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from figures.contents import COLUMNS, fault
from letcc.exceptions import InvalidInput, LetccError
from theory.claims import BY_ID
from theory.store import SCHEMA_VERSION, read_rows, read_table

# what is not here is made by the main job
MADE_BY = {
    "studies.parquet": "python -m convergence table1 --study all",
    "coded_inputs.parquet": "python -m convergence table1 --study all",
    "latency.parquet": "python -m convergence latency",
    "latency-real.parquet": "python -m convergence latency --real 40",
    "stability.parquet": "python -m convergence stability",
    "lebesgue.parquet": "python -m convergence stability",
    "speed.parquet": "python -m convergence speed",
}
MAIN_JOB = "python -m convergence verify"


class MissingResult(LetccError):
    """A figure needs a result that has not been made, or that an older version has made.

    Attributes
    ----------
    optional : bool
        Whether the main job does without it.
    command : str
        What makes it.
    cause : str
        Which file it is, and what is wrong with it.
    """

    def __init__(self, path: Path, why: str = "is missing") -> None:
        self.command = f"{MADE_BY.get(path.name, MAIN_JOB)} --out {path.parent}"
        self.cause = f"{path.name} {why}"
        super().__init__(f"{path} {why}: run {self.command} first")
        self.optional = path.name in MADE_BY


class DamagedResult(MissingResult):
    """A result is there, and is not what its name says: no figure goes without it silently."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, f"is damaged ({why})")
        self.optional = False


_Content = TypeVar("_Content", pd.DataFrame, list[dict[str, Any]])


@dataclass(frozen=True)
class Results:
    """The folder of the results.

    Attributes
    ----------
    folder : Path
    read : dict of str to dict
        For each file that was read: its SHA-256 and its provenance.
    """

    folder: Path
    read: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False)

    def table(self, name: str) -> pd.DataFrame:
        """A tidy table.

        Parameters
        ----------
        name : str

        Returns
        -------
        DataFrame

        Raises
        ------
        MissingResult
            If it is not there, damaged, or of another version.
        """
        return self._load(f"{name}.parquet", read_table)

    def study(self, name: str) -> pd.DataFrame:
        """The rows of one study of networks.

        Parameters
        ----------
        name : str

        Returns
        -------
        DataFrame

        Raises
        ------
        MissingResult
            Also if other studies have been made, and not this one.
        """
        rows = self.table("studies").query("study == @name")
        if rows.empty:
            raise MissingResult(self.folder / "studies.parquet", f"is without the study {name!r}")
        return rows

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a JSON file.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of dict

        Raises
        ------
        MissingResult
            If they are not there, damaged, or of another version.
        """
        return self._load(f"{name}.json", read_rows)

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """The verdicts, by claim.

        Returns
        -------
        dict of str to dict

        Raises
        ------
        MissingResult
            If they are not there, of another version, or on other claims than there are.
        DamagedResult
        """
        verdicts = {row["claim"]: row for row in self.rows("verdicts")}
        unknown, without = (_named(a, b) for a, b in ((verdicts, BY_ID), (BY_ID, verdicts)))
        path = self.folder / "verdicts.json"
        if unknown:
            raise MissingResult(path, f"is of another revision, since there is no claim {unknown} in this one")
        if without:
            raise MissingResult(path, f"is of another revision, since it has no verdict on {without}")
        for claim, row in verdicts.items():
            if BY_ID[claim].evidence and row["certified"] is None:
                raise DamagedResult(path, f"{claim} has no certified evidence")
            for kind in ("certified", "measured"):
                if row[kind] is not None:
                    row[kind] = _Evidence(row[kind], path, f"{claim}, {kind},")
        return verdicts

    def _load(self, name: str, read: Callable[[Path], _Content]) -> _Content:
        path = self.folder / name
        if not path.is_file():
            raise MissingResult(path)
        try:
            content = read(path)
        except InvalidInput as error:
            raise DamagedResult(path, str(error.__cause__)) from error
        first = content.attrs if isinstance(content, pd.DataFrame) else next(iter(content), {})
        provenance = first.get("provenance")
        if isinstance(provenance, dict) and provenance.get("schema") != SCHEMA_VERSION:
            raise MissingResult(path, "is of another version of this program")
        if why := fault(name, content):
            raise DamagedResult(path, why)
        self.read[name] = {"sha256": sha256(path), "provenance": provenance}
        return content


class _Evidence(dict[str, Any]):
    """Evidence on a claim, which says what to do where a part of it is missing."""

    def __init__(self, parts: dict[str, Any], path: Path, where: str) -> None:
        super().__init__(parts)
        self._path, self._where = path, where

    def __missing__(self, part: str) -> None:
        raise DamagedResult(self._path, f"{self._where} lacks {part}")


def sha256(path: Path) -> str:
    """Of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def seeds(folder: Path) -> dict[int, list[str]]:
    """With which seeds the results were made.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of int to list of str
        Names of files by seed, of those that figures read, are there and depend on a seed.
    """
    results = Results(folder)
    for name in COLUMNS:
        read = results.rows if name.endswith(".json") else results.table
        with suppress(MissingResult):
            read(Path(name).stem)
    found: dict[int, list[str]] = {}
    for name, about in results.read.items():
        if (seed := about["provenance"]["seed"]) is not None:
            found.setdefault(seed, []).append(name)
    return found


def _named(claims: Iterable[str], known: Container[str]) -> str:
    """Those that are not known."""
    return ", ".join(repr(claim) for claim in claims if claim not in known)
