"""Command-line options of the programs of a checkout, beside those that the script `letcc` has too."""

import os
from pathlib import Path
from typing import Annotated

import typer

from letcc.cli.options import MOST, MOST_TRIALS, AsJson, Program, Seed, console, one_of, unknown

__all__ = ["EXECUTOR", "JOBS", "MOST", "MOST_TRIALS", "RESULTS", "AsJson", "Jobs", "Out", "Program", "Quick", "Seed"]
__all__ += ["Where", "console", "one_of", "unknown"]

JOBS = os.cpu_count() or 1
RESULTS = Path("results")

EXECUTOR = "processes"
_WHERE = "processes, threads, or dask://ADDRESS of a scheduler."
Where = Annotated[str, typer.Option("--executor", metavar="NAME", help=_WHERE)]
Jobs = Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Workers of the executor.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="For the results.", file_okay=False)]
Quick = Annotated[bool, typer.Option("--quick", help="Smaller grids and fewer trials, to see that all of it runs.")]
