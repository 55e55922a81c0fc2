"""Measure the claims: ``python -m convergence``; the main job: ``python -m convergence verify``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from convergence.latency import TASKS, measure_latency, measure_real, print_latency, print_real
from convergence.stability import COMMITTED, METHODS, committed, lost, print_stability, table
from convergence.verify import images_used, measure, verify
from letcc.exceptions import InvalidInput, LetccError
from theory.cells import sweeping
from theory.options import EXECUTOR, JOBS, RESULTS, Jobs, Out, Seed, Where
from theory.report import console, exit_status, print_verdicts
from theory.store import provenance, write_table

DataRoot = Annotated[
    Path | None,
    typer.Option(
        envvar="LETCC_DATA",
        help="Folder with MNIST/raw/*-ubyte, uncompressed. Without it: the digits that scikit-learn ships.",
    ),
]

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    data_root: DataRoot = None,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
) -> None:
    """Measure every claim on synthetic functions and on a trained LeNet5; write measured.json and its tables.

    Exits with 0 when no verdict contradicts the recorded expectation, 1 when one does, 2 for bad usage.
    """
    if context.invoked_subcommand:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        misplaced = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
        if misplaced:
            options = ", ".join("--" + name.replace("_", "-") for name in misplaced)
            raise typer.BadParameter(f"{options} must follow {context.invoked_subcommand}, not precede it")
    else:
        output = console()
        with _usage_errors(), sweeping(executor, out):
            rows = measure(images_used(data_root), data_root, seed, jobs, out, output)
        print_verdicts(rows, output)
        raise typer.Exit(exit_status(rows, partial=True))


@app.command("verify")
def verify_command(
    data_root: DataRoot = None, seed: Seed = 0, jobs: Jobs = JOBS, executor: Where = EXECUTOR, out: Out = RESULTS
) -> None:
    """Certify, measure, join both into verdicts.json, print the table and draw the figures.

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage.
    """
    with _usage_errors(), sweeping(executor, out):
        status = verify(data_root, seed, jobs, out)
    raise typer.Exit(status)


@app.command("stability")
def stability_command(
    scheme: Annotated[list[str] | None, typer.Option(help=f"Only this method: {', '.join(METHODS)}.")] = None,
    out: Out = RESULTS,
    update: Annotated[bool, typer.Option("--update", help="Commit to these errors instead of comparing.")] = False,
) -> None:
    """Measure the rounding error of every method against 60 digits; write stability.parquet; compare cell by cell.

    Exits with 0 when no cell has lost a digit against the committed table, 1 when one has, 2 for bad usage.
    """
    with _usage_errors():
        if update and scheme:
            raise InvalidInput("--update commits the whole table: leave --scheme out")
        measured = table(tuple(scheme or METHODS))
    write_table(out / "stability.parquet", measured, provenance({"program": "stability", "methods": scheme or METHODS}))
    print_stability(measured, console())
    if update:
        measured.to_csv(COMMITTED, index=False, float_format="%.2e")
        return
    losses = lost(measured, committed())
    for loss in losses:
        typer.echo(f"lost digits: {loss}", err=True)
    raise typer.Exit(int(bool(losses)))


@app.command("latency")
def latency_command(
    task: Annotated[list[str] | None, typer.Option(help=f"Only this task: {', '.join(TASKS)}.")] = None,
    real: Annotated[int, typer.Option(min=0, help="Rounds of really delayed processes; 0 for none.")] = 0,
    data_root: DataRoot = None,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
) -> None:
    """Measure quality against time under models of slow workers; write latency.parquet, and latency-real.parquet.

    Exits with 0, or with 2 for bad usage.
    """
    with _usage_errors():
        if unknown := set(task or ()) - set(TASKS):
            raise InvalidInput(f"--task is {sorted(unknown)[0]!r}: there are {', '.join(TASKS)}")
        with sweeping(executor, out):
            table = measure_latency(tuple(task or TASKS), data_root, seed, jobs, out)
        print_latency(table, console())
        if real:
            print_real(measure_real(seed, out, real), console())


@contextmanager
def _usage_errors() -> Iterator[None]:
    """A user's mistake is a message, not a traceback."""
    try:
        yield
    except LetccError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error


if __name__ == "__main__":
    app()
