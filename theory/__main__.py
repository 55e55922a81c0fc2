"""Certify the claims: ``python -m theory``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from letcc.exceptions import InvalidInput, LetccError
from theory.cells import sweeping
from theory.certification import certify_all, certify_claims
from theory.evidence import Scope
from theory.explain import find_claim, print_claim
from theory.options import EXECUTOR, JOBS, RESULTS, Jobs, Out, Seed, Where
from theory.report import console, exit_status, print_verdicts
from theory.schemes import certify_scheme, print_rates, rates_row
from theory.store import provenance

_DEFAULT = Scope()


def main(
    claim: Annotated[str | None, typer.Option(help="Only this claim, explained in full; nothing is written.")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Instead certify your own scheme: package:function of (num_data, num_workers).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")] = False,
    max_n: Annotated[int, typer.Option("--max-n", min=1, help="Largest N of the grids.")] = _DEFAULT.max_n,
    full: Annotated[bool, typer.Option("--full", help="Every block of stragglers at every N.")] = False,
    seed: Seed = _DEFAULT.seed,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
) -> None:
    """Certify every claim exactly: write certified.json, certified.parquet and extremal.parquet, print the table.

    For example: python -m theory --claim letcc-noiseless

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage. Up to a smaller N than the default only a contradiction counts as a difference.
    """
    try:
        with sweeping(executor, None if claim or scheme else out):
            status = _run(claim, scheme, Scope(max_n, full, seed), as_json=as_json, jobs=jobs, out=out)
    except LetccError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    raise typer.Exit(status)


def _run(claim: str | None, scheme: str | None, scope: Scope, *, as_json: bool, jobs: int, out: Path) -> int:
    if scheme is not None:
        if claim is not None or scope != _DEFAULT:
            raise InvalidInput("--scheme goes with --json only: it has a grid of its own, and is no claim")
        report = certify_scheme(scheme)
        if as_json:
            _print_json([rates_row(scheme, report)], scope)
        else:
            print_rates(scheme, report, console())
        return 0
    if claim is not None:
        rows, table = certify_claims((find_claim(claim),), scope, jobs)
        if as_json:
            _print_json(rows, scope)
        else:
            print_claim(rows[0], table, scope, console())
    else:
        rows = certify_all(scope, jobs, out)
        if as_json:
            typer.echo((out / "certified.json").read_text(), nl=False)
        else:
            print_verdicts(rows, console())
    return exit_status(rows, partial=scope.max_n < _DEFAULT.max_n)


def _print_json(rows: list[dict[str, Any]], scope: Scope) -> None:
    origin = provenance({"program": "theory"} | vars(scope), scope.seed)
    typer.echo(json.dumps([row | {"provenance": origin} for row in rows], indent=1, allow_nan=False))


app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
