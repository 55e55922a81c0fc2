"""Read-only access to the results, with a way out where one is missing, and a record of what was read."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from letcc.exceptions import LetccError
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
            If it is not there, or of another version.
        """
        path = self._existing(f"{name}.parquet")
        table = read_table(path)
        self._record(path, table.attrs["provenance"])
        return table

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
            If they are not there, or of another version.
        """
        path = self._existing(f"{name}.json")
        rows = read_rows(path)
        self._record(path, rows[0]["provenance"])
        return rows

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """The verdicts, by claim.

        Returns
        -------
        dict of str to dict

        Raises
        ------
        MissingResult
            If they are not there, or of another version.
        """
        return {row["claim"]: row for row in self.rows("verdicts")}

    def _existing(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise MissingResult(path)
        return path

    def _record(self, path: Path, provenance: dict[str, Any]) -> None:
        if provenance.get("schema") != SCHEMA_VERSION:
            raise MissingResult(path, "is of another version of this program")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        self.read[path.name] = {"sha256": digest, "provenance": provenance}
