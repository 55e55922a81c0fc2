"""Measure the claims: ``python -m convergence``; the main job: ``python -m convergence verify``."""

import theory.interrupt  # noqa: F401  # first, for its effect

# isort: split

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from convergence.latency import QUICK_ROUNDS, ROUNDS, TASKS, measure_latency, measure_real, print_latency, print_real
from convergence.networks.images import DATASETS, download, load_images
from convergence.networks.importing import import_data
from convergence.networks.registry import find
from convergence.networks.trained import accuracy, cache_folder, trained
from convergence.networks.trained import commit as commit_weights
from convergence.speed import measure_speed, print_speed
from convergence.stability import COMMITTED, METHODS, committed, lebesgue, lost, print_stability, table
from convergence.studies import STUDIES, print_studies, run_studies
from convergence.table1 import QUICK_TRIALS, SETTINGS, TRIALS, find_subjects, measure_table
from convergence.verify import images_used, measure, verify
from letcc.exceptions import InvalidInput
from theory.cells import sweeping
from theory.options import (
    EXECUTOR,
    JOBS,
    MOST_TRIALS,
    RESULTS,
    AsJson,
    Jobs,
    Out,
    Program,
    Quick,
    Seed,
    Where,
    console,
    one_of,
)
from theory.report import exit_status, print_verdicts
from theory.store import as_json as text_of
from theory.store import check_folder, provenance, write_table

DataRoot = Annotated[
    Path | None,
    typer.Option(
        envvar="LETCC_DATA",
        metavar="FOLDER",
        help="Images laid out by import-data; without: scikit-learn's digits.",
    ),
]

app = Program()


def _name(what: str, names: Collection[str], only: str = "Only this") -> Any:
    return typer.Option(metavar="NAME", parser=one_of(what, names), help=f"{only}: {', '.join(names)}.")


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    data_root: DataRoot = None,
    quick: Quick = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Measure every claim on synthetic functions and on a trained LeNet5; write measured.json and its tables.

    For example: python -m convergence --quick

    Exits with 0 when no verdict contradicts the recorded expectation, 1 when one does, 2 for bad usage.
    """
    if context.invoked_subcommand:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        misplaced = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
        if misplaced:
            options = ", ".join("--" + name.replace("_", "-") for name in misplaced)
            raise typer.BadParameter(f"{options} must follow {context.invoked_subcommand}, not precede it")
    else:
        output = console(quiet=as_json)
        with sweeping(executor, out):
            rows = measure(images_used(data_root), data_root, seed, jobs, out, output, quick=quick)
        print_verdicts(rows, output, {"seed": seed, "quick": quick})
        if as_json:
            typer.echo((out / "measured.json").read_text(), nl=False)
        raise typer.Exit(exit_status(rows, partial=True))


@app.command("verify")
def verify_command(
    data_root: DataRoot = None,
    quick: Quick = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Certify, measure, join both into verdicts.json, print the table and draw the figures.

    For example: python -m convergence verify --seed 1 --jobs 4

    Exits with 0 when all is as expected, 1 when a verdict differs from the recorded expectation or a negative control
    is not refuted, 2 for bad usage. With --quick only a contradiction counts as a difference.
    """
    with sweeping(executor, out):
        status = verify(data_root, seed, jobs, out, quick=quick, quiet=as_json)
    if as_json:
        typer.echo((out / "verdicts.json").read_text(), nl=False)
    raise typer.Exit(status)


@app.command("stability")
def stability_command(
    scheme: Annotated[list[str] | None, _name("method", METHODS)] = None,
    update: Annotated[bool, typer.Option("--update", help="Commit to these errors instead of comparing.")] = False,
    jobs: Jobs = 1,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Measure the rounding error of every method against 60 digits; write stability.parquet; compare cell by cell.

    Also lebesgue.parquet: Lebesgue constants on random halves of Chebyshev points.

    For example: python -m convergence stability --scheme spline

    Exits with 0 when no cell has lost a digit against the committed table, 1 when one has, 2 for bad usage.
    """
    if update and scheme:
        raise InvalidInput("--update commits the whole table: leave --scheme out")
    check_folder(out)
    with sweeping(executor, out):
        measured = table(tuple(scheme or METHODS), jobs)
    origin = provenance({"program": "stability", "methods": scheme or METHODS})
    write_table(out / "stability.parquet", measured, origin)
    write_table(out / "lebesgue.parquet", lebesgue(tuple(scheme or METHODS)), origin)
    print_stability(measured, console(quiet=as_json))
    if as_json:
        typer.echo(text_of(measured, origin), nl=False)
    if update:
        measured.to_csv(COMMITTED, index=False, float_format="%.2e")
        return
    losses = lost(measured, committed())
    for loss in losses:
        typer.echo(f"lost digits: {loss}", err=True)
    raise typer.Exit(int(bool(losses)))


@app.command("speed")
def speed_command(quick: Quick = False, out: Out = RESULTS, as_json: AsJson = False) -> None:
    """Time decoding as N grows, beside the splines of SciPy and csaps; write speed.parquet.

    For example: python -m convergence speed --quick

    Exits with 0, or with 2 for bad usage.
    """
    check_folder(out)
    table = measure_speed(out, quick=quick)
    print_speed(table, console(quiet=as_json))
    if as_json:
        typer.echo(text_of(table, table.attrs["provenance"]), nl=False)


@app.command("latency")
def latency_command(
    task: Annotated[list[str] | None, _name("task", TASKS)] = None,
    real: Annotated[
        int, typer.Option(min=0, max=MOST_TRIALS, metavar="N", help="Rounds of really delayed processes.")
    ] = 0,
    data_root: DataRoot = None,
    quick: Quick = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Measure quality against time under models of slow workers; write latency.parquet, and latency-real.parquet.

    For example: python -m convergence latency --task smooth

    Exits with 0, or with 2 for bad usage.
    """
    output = console(quiet=as_json)
    with sweeping(executor, out):
        table = measure_latency(tuple(task or TASKS), data_root, seed, jobs, out, QUICK_ROUNDS if quick else ROUNDS)
    print_latency(table, output)
    if real:
        print_real(measure_real(seed, out, real), output)
    if as_json:
        typer.echo(text_of(table, table.attrs["provenance"]), nl=False)


@app.command("table1")
def table1_command(
    network: Annotated[list[str] | None, _name("network", SETTINGS)] = None,
    dataset: Annotated[list[str] | None, _name("data set", DATASETS)] = None,
    study: Annotated[list[str] | None, _name("study", (*STUDIES, "all"), "Also this study")] = None,
    trials: Annotated[
        int, typer.Option(min=2, max=MOST_TRIALS, metavar="N", help="Paired trials of each network.")
    ] = TRIALS,
    data_root: DataRoot = None,
    quick: Quick = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    executor: Where = EXECUTOR,
    out: Out = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run BACC, LeTCC and what improves on them on trained networks; write table1.json and networks.parquet.

    On every network whose images are in the data root; without one, on the digits that scikit-learn ships. A run that
    was interrupted goes on.

    For example: python -m convergence table1 --network vit --study all

    Exits with 0 when done, 2 for bad usage.
    """
    studies = list(STUDIES) if "all" in (study or ()) else study or []
    check_folder(out)
    output = console(quiet=as_json)
    if quick:
        trials, jobs = min(trials, QUICK_TRIALS), 1  # so few take less time than the start of a process
    with sweeping(executor, out):
        subjects = find_subjects(network, dataset, data_root, seed, lambda line: typer.echo(line, err=True))
        measure_table(subjects, trials, jobs, out, output, quick=quick)
        if studies:
            print_studies(run_studies(subjects, studies, max(2, trials // 4), jobs, out, quick=quick), output)
    if as_json:
        typer.echo((out / "table1.json").read_text(), nl=False)


@app.command("train")
def train_command(
    name: Annotated[
        str, typer.Argument(metavar="NETWORK", help=", ".join(SETTINGS), parser=one_of("network", SETTINGS))
    ],
    dataset: Annotated[
        str, typer.Option(metavar="NAME", help=", ".join(DATASETS), parser=one_of("data set", DATASETS))
    ] = "digits",
    data_root: DataRoot = None,
    seed: Seed = 0,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Of the weights; without: the user's cache.")
    ] = None,
    fetch: Annotated[bool, typer.Option("--download", help="Get images or weights that are missing.")] = False,
    commit: Annotated[bool, typer.Option("--commit", help="Copy the weights to where they are committed.")] = False,
) -> None:
    """Train a network, or take it from the cache; training that was interrupted goes on. Print its test accuracy.

    For ImageNet: load the weights that others have trained.

    For example: python -m convergence train lenet5 --dataset mnist --data-root ~/letcc-data

    Exits with 0 when done, 2 for bad usage.
    """
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
    source: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With MNIST's four files, or .npz files of images as JPEG.")
    ],
    data_root: DataRoot = None,
) -> None:
    """Lay out image files in the data root, where the networks look for them.

    For example: python -m convergence import-data ~/Downloads --data-root ~/letcc-data

    Exits with 0 when done, 2 for bad usage, missing or damaged files.
    """
    if data_root is None:
        raise InvalidInput("name the folder to lay them out in, by --data-root or the variable LETCC_DATA")
    import_data(source, data_root, typer.echo)


if __name__ == "__main__":
    app()
