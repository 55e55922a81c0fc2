"""Command-line options that every program spells alike."""

import os
from pathlib import Path
from typing import Annotated

import typer

JOBS = os.cpu_count() or 1
RESULTS = Path("results")

EXECUTOR = "processes"
_WHERE = "Where cells are computed: processes, threads, or dask://ADDRESS of a scheduler."
Where = Annotated[str, typer.Option("--executor", help=_WHERE)]
Jobs = Annotated[int, typer.Option(min=1, help="Workers of the executor.")]
Out = Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
