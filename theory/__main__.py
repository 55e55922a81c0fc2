"""Certify the claims: ``python -m theory``."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from theory.certification import certify_claims
from theory.claims import CLAIMS
from theory.report import exit_status, print_verdicts
from theory.store import RESULTS, provenance, write_rows, write_table

Jobs = Annotated[int, typer.Option(min=1, help="Worker processes.")]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]


def main(jobs: Jobs = os.cpu_count() or 1, out: Out = RESULTS) -> None:
    """Certify every claim exactly: write certified.json and certified.parquet, print the table.

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage.
    """
    rows, table = certify_claims(jobs=jobs)
    origin = provenance({"program": "theory", "designs": {claim.id: asdict(claim.design) for claim in CLAIMS}})
    write_table(out / "certified.parquet", pd.DataFrame(table), origin)
    write_rows(out / "certified.json", rows, origin)
    print_verdicts(rows, Console())
    raise typer.Exit(exit_status(rows))


if __name__ == "__main__":
    typer.run(main)
