"""Measure the claims: ``python -m convergence``; the main job: ``python -m convergence verify``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from convergence.latency import TASKS, measure_latency, measure_real, print_latency, print_real
from convergence.networks.images import DATASETS, download, load_images
from convergence.networks.importing import import_data
from convergence.networks.registry import NETWORKS, find
from convergence.networks.trained import accuracy, cache_folder, trained
from convergence.networks.trained import commit as commit_weights
from convergence.speed import measure_speed, print_speed
from convergence.stability import COMMITTED, METHODS, committed, lebesgue, lost, print_stability, table
from convergence.studies import STUDIES, print_studies, run_studies
from convergence.table1 import SETTINGS, TRIALS, find_subjects, measure_table
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
        help="Folder of the images, laid out by import-data. Without it: the digits that scikit-learn ships.",
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

    Also lebesgue.parquet: Lebesgue constants on random halves of Chebyshev points.

    Exits with 0 when no cell has lost a digit against the committed table, 1 when one has, 2 for bad usage.
    """
    with _usage_errors():
        if update and scheme:
            raise InvalidInput("--update commits the whole table: leave --scheme out")
        measured = table(tuple(scheme or METHODS))
    origin = provenance({"program": "stability", "methods": scheme or METHODS})
    write_table(out / "stability.parquet", measured, origin)
    write_table(out / "lebesgue.parquet", lebesgue(tuple(scheme or METHODS)), origin)
    print_stability(measured, console())
    if update:
        measured.to_csv(COMMITTED, index=False, float_format="%.2e")
        return
    losses = lost(measured, committed())
    for loss in losses:
        typer.echo(f"lost digits: {loss}", err=True)
    raise typer.Exit(int(bool(losses)))


@app.command("speed")
def speed_command(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer workers and repeats.")] = False, out: Out = RESULTS
) -> None:
    """Time decoding as N grows, beside the splines of SciPy and csaps; write speed.parquet.

    Exits with 0, or with 2 for bad usage.
    """
    with _usage_errors():
        print_speed(measure_speed(out, quick=quick), console())


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


@app.command("table1")
def table1_command(
    network: Annotated[list[str] | None, typer.Option(help=f"Only this one: {', '.join(SETTINGS)}.")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help=f"Only this one: {', '.join(DATASETS)}.")] = None,
    trials: Annotated[int, typer.Option(min=2, help="Paired trials of each network.")] = TRIALS,
    study: Annotated[list[str] | None, typer.Option(help=f"Also: {', '.join(STUDIES)}, or all.")] = None,
    data_root: DataRoot = None,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    out: Out = RESULTS,
) -> None:
    """Run BACC, LeTCC and what improves on them on trained networks; write table1.json and networks.parquet.

    On every network whose images are in the data root; without one, on the digits that scikit-learn ships. A run that
    was interrupted goes on. Exits with 0 when done, 2 for bad usage.
    """
    with _usage_errors():
        studies = list(STUDIES) if study == ["all"] else study or []
        unknown = [name for name in studies if name not in STUDIES]
        if unknown:
            raise InvalidInput(f"there is no study {unknown[0]!r}: there are {', '.join(STUDIES)}, or all")
        subjects = find_subjects(network, dataset, data_root, seed, lambda line: typer.echo(line, err=True))
        measure_table(subjects, trials, jobs, out, console())
        if studies:
            print_studies(run_studies(subjects, studies, max(2, trials // 4), jobs, out), console())


@app.command("train")
def train_command(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(dict.fromkeys(n.name for n in NETWORKS))}.")],
    dataset: Annotated[str, typer.Option(help=f"One of {', '.join(DATASETS)}.")] = "digits",
    data_root: DataRoot = None,
    seed: Seed = 0,
    cache: Annotated[Path | None, typer.Option(help="Folder of the weights; the user's cache without it.")] = None,
    fetch: Annotated[bool, typer.Option("--download", help="Get images or weights that are missing.")] = False,
    commit: Annotated[bool, typer.Option("--commit", help="Copy the weights to where they are committed.")] = False,
) -> None:
    """Train a network, or take it from the cache; training that was interrupted goes on. Print its test accuracy.

    For ImageNet: load the weights that others have trained. Exits with 0 when done, 2 for bad usage.
    """
    with _usage_errors():
        network = find(name, dataset)
        if fetch and network.recipe and dataset != "digits":
            if data_root is None:
                raise InvalidInput("--download needs a --data-root to download to")
            download(dataset, data_root)
        folder = cache or cache_folder()
        module, metadata = trained(network, seed, data_root, folder, typer.echo, download=fetch, committed=False)
        measured = metadata.get("test_accuracy")
        if measured is None:
            images = load_images(dataset, data_root, train=False)
            network.check(images)
            measured = accuracy(module, images)
        if commit:
            commit_weights(network, metadata, folder)
    typer.echo(f"{name} on {dataset}: {measured:.2%} of the test images")


@app.command("import-data")
def import_command(
    source: Annotated[Path, typer.Argument(help="Folder with MNIST's four files, or .npz files of images as JPEG.")],
    data_root: DataRoot = None,
) -> None:
    """Lay out image files in the data root, where the networks look for them.

    Exits with 0 when done, 2 for bad usage, missing or damaged files.
    """
    with _usage_errors():
        if data_root is None:
            raise InvalidInput("name the folder to lay them out in, by --data-root or the variable LETCC_DATA")
        import_data(source, data_root, typer.echo)


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
