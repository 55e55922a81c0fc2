"""Certify the claims: ``python -m theory``."""

import typer

from theory.certification import certify_claims
from theory.options import JOBS, RESULTS, Jobs, Out
from theory.report import console, exit_status, print_verdicts


def main(jobs: Jobs = JOBS, out: Out = RESULTS) -> None:
    """Certify every claim exactly: write certified.json and certified.parquet, print the table.

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage.
    """
    rows = certify_claims(jobs, out)
    print_verdicts(rows, console())
    raise typer.Exit(exit_status(rows))


app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
