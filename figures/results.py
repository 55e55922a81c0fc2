"""Read-only access to the results, with a way out where one is missing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from letcc.exceptions import LetccError
from theory.store import read_rows, read_table


class MissingResult(LetccError):
    """A figure needs a result that has not been made."""


@dataclass(frozen=True)
class Results:
    """The folder of the results.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

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
            If it is not there.
        """
        return read_table(self._existing(f"{name}.parquet"))

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """The verdicts, by claim.

        Returns
        -------
        dict of str to dict

        Raises
        ------
        MissingResult
            If they are not there.
        """
        return {row["claim"]: row for row in read_rows(self._existing("verdicts.json"))}

    def _existing(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise MissingResult(f"{path} is missing: run python -m convergence verify --out {self.folder} first")
        return path
