"""Certify the claims: ``python -m theory``."""

import theory.interrupt  # noqa: F401  # first, for its effect

# isort: split

from pathlib import Path
from typing import Annotated, Any

import typer

from letcc import certify_rates
from letcc.cli.functions import function_of
from letcc.cli.rates import print_rates, rates_row
from letcc.exceptions import InvalidInput
from theory.cells import sweeping
from theory.certification import certify_all, certify_claims
from theory.evidence import QUICK, Scope
from theory.explain import find_claim, print_claim
from theory.options import EXECUTOR, JOBS, MOST, RESULTS, AsJson, Jobs, Out, Program, Quick, Seed, Where, console
from theory.report import exit_status, print_verdicts
from theory.store import as_json as text_of
from theory.store import provenance

app = Program()


@app.command()
def main(
    claim: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this claim, explained; nothing is written.")
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="PACKAGE:FUNCTION", help="Your own scheme's rates instead: of K and N.")
    ] = None,
    max_n: Annotated[
        int, typer.Option("--max-n", min=1, max=MOST, metavar="N", help="Largest N of the grids.")
    ] = Scope.max_n,
    full: Annotated[bool, typer.Option("--full", help="Every block of stragglers at every N.")] = False,
    quick: Quick = False,
    seed: Seed = Scope.seed,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Certify every claim exactly: write certified.json, certified.parquet and extremal.parquet, print the table.

    For example: python -m theory --claim letcc-noiseless

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage. Up to a smaller N than the default only a contradiction counts as a difference.
    """
    scope = Scope(min(max_n, QUICK.max_n) if quick else max_n, full, seed, quick)
    with sweeping(executor, None if claim or scheme else out):
        status = _run(claim, scheme, scope, as_json=as_json, jobs=jobs, out=out)
    raise typer.Exit(status)


def _run(claim: str | None, scheme: str | None, scope: Scope, *, as_json: bool, jobs: int, out: Path) -> int:
    if scheme is not None:
        if claim is not None or scope != Scope():
            raise InvalidInput("--scheme goes with --json only: it has a grid of its own, and is no claim")
        with function_of(scheme) as make:
            report = certify_rates(make)
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
            print_verdicts(rows, console(), vars(scope))
    return exit_status(rows, partial=scope.max_n < Scope.max_n)


def _print_json(rows: list[dict[str, Any]], scope: Scope) -> None:
    origin = provenance({"program": "theory"} | vars(scope), scope.seed)
    typer.echo(text_of(rows, origin), nl=False)


if __name__ == "__main__":
    app()
