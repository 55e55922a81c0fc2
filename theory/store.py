"""Tables and verdicts on disk: complete or absent, and traceable to what made them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from letcc.exceptions import InvalidInput

SCHEMA_VERSION = 2
_PACKAGES = ("letcc", "numpy", "scipy", "torch")


def provenance(spec: dict[str, Any], seed: int | None = None) -> dict[str, Any]:
    """What a result must carry to be traced.

    Parameters
    ----------
    spec : dict
        What was asked for.
    seed : int, optional

    Returns
    -------
    dict
        Schema version, seed, package versions, git revision ("+" after it: with uncommitted changes) and spec.
    """
    return {
        "schema": SCHEMA_VERSION,
        "seed": seed,
        "versions": versions(),
        "revision": _revision(),
        "spec": spec,
    }


def versions() -> dict[str, str | None]:
    """Of the packages that numbers depend on; None for one that is not installed."""
    return {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None  # a checkout without git, or without a commit


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is complete or absent, whenever the process is killed.

    Parameters
    ----------
    path : Path
        Its folder is made where missing.
    write : callable
        Writes to the path it is given, in the same folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder:
        partial = Path(folder) / path.name
        write(partial)
        os.replace(partial, path)


def check_folder(folder: Path) -> None:
    """Refuse a folder that results cannot be written to, before they are computed.

    Parameters
    ----------
    folder : Path
        Made if missing.

    Raises
    ------
    InvalidInput
    """
    try:
        write_atomically(folder / ".writable", lambda partial: partial.touch())
        (folder / ".writable").unlink()
    except OSError as error:
        raise InvalidInput(f"nothing can be written to {folder}: {error.strerror}") from error


def write_rows(path: Path, rows: list[dict[str, Any]], provenance: dict[str, Any]) -> None:
    """Write verdicts as a JSON list, each with its provenance.

    Parameters
    ----------
    path : Path
    rows : list of dict
    provenance : dict
        From `provenance`.
    """
    write_atomically(path, lambda partial: partial.write_text(as_json(rows, provenance)))


def as_json(rows: list[dict[str, Any]] | pd.DataFrame, provenance: dict[str, Any]) -> str:
    """Rows as a JSON list, each with its provenance.

    Parameters
    ----------
    rows : list of dict or DataFrame
        A table's NaN are null, as JSON has none.
    provenance : dict
        From `provenance`.

    Returns
    -------
    str
    """
    if isinstance(rows, pd.DataFrame):
        rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    rows = [row | {"provenance": provenance} for row in rows]
    return json.dumps(rows, indent=1, allow_nan=False, default=_plain) + "\n"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read what `write_rows` wrote.

    Parameters
    ----------
    path : Path

    Returns
    -------
    list of dict

    Raises
    ------
    InvalidInput
        If it is damaged.
    """
    try:
        rows: list[dict[str, Any]] = [dict(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise InvalidInput(_damaged(path, error)) from error
    return rows


def _damaged(path: Path, error: Exception) -> str:
    return f"{path} is damaged ({error}): remove it, and make it again"


def write_table(path: Path, table: pd.DataFrame, provenance: dict[str, Any]) -> None:
    """Write a tidy table as Parquet, with its provenance in the file's metadata.

    Parameters
    ----------
    path : Path
    table : DataFrame
    provenance : dict
        From `provenance`.
    """
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    metadata = {b"letcc": json.dumps(provenance).encode()} | (arrow.schema.metadata or {})
    write_atomically(path, lambda partial: pq.write_table(arrow.replace_schema_metadata(metadata), partial))


def read_table(path: Path) -> pd.DataFrame:
    """Read what `write_table` wrote, with the provenance in ``.attrs``.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame

    Raises
    ------
    InvalidInput
        If it is damaged.
    """
    try:
        arrow = pq.read_table(path)
        table: pd.DataFrame = arrow.to_pandas()
        table.attrs["provenance"] = json.loads((arrow.schema.metadata or {})[b"letcc"])
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise InvalidInput(_damaged(path, error)) from error
    return table


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
