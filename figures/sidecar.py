"""Beside every figure, in JSON: its files, what it was drawn from, with which versions, and the command for it."""

import json
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures.results import Results, sha256
from theory.store import provenance, write_atomically


def write_sidecar(
    results: Results, name: str, caption: str, claims: tuple[str, ...], options: list[str], written: list[Path]
) -> Path:
    """Write it.

    Parameters
    ----------
    results : Results
        From which the figure was drawn, and nothing else.
    name : str
        Of the figure.
    caption : str
    claims : tuple of str
    options : list of str
        Of the command line.
    written : list of Path
        The files of the figure, whose SHA-256 is recorded.

    Returns
    -------
    Path
    """
    about: dict[str, Any] = provenance({"program": "figures", "figure": name})
    about["versions"]["matplotlib"] = version("matplotlib")
    command = ["python", "-m", "figures", "--only", name, *options]
    about |= {"caption": caption, "claims": list(claims), "command": shlex.join(command), "inputs": results.read}
    about["files"] = {path.name: sha256(path) for path in written}
    path = results.folder / "figures" / f"{name}.json"
    text = json.dumps(about, indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))
    return path
