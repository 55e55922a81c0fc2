"""The script `letcc`: what there is, how well it does at worst, and which to use."""

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import MISSING, fields
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

import letcc
from letcc import CodedScheme, latency, nodes, smoothers, stragglers
from letcc.cli.functions import function_of
from letcc.cli.options import MOST, MOST_TRIALS, AsJson, Program, Seed, console, one_of, unknown
from letcc.cli.rates import print_rates, rates_row
from letcc.exceptions import InfiniteCertificate, InvalidInput, NoPlan, Unresolved
from letcc.smoothers import LagrangePolynomial
from letcc.stragglers import ConsecutiveBlock

SCHEMES = ("letcc", "bacc", "lagrange", "recommended")
MODELS: dict[str, Any] = {
    "shifted-exponential": latency.ShiftedExponential,
    "pareto": latency.Pareto,
    "bimodal": latency.Bimodal,
    "markov": latency.Markov,
}
POINTS = ("chebyshev", "equispaced")

NumData = Annotated[int, typer.Option("-K", "--num-data", min=1, max=MOST, metavar="K", help="Inputs.")]
NumWorkers = Annotated[int, typer.Option("-N", "--num-workers", min=1, max=MOST, metavar="N", help="Workers.")]
Degree = Annotated[int | None, typer.Option(min=0, max=MOST, metavar="D", help="Of the function, for lagrange.")]

app = Program()


def _print_version(asked: bool) -> None:
    if asked:
        try:
            typer.echo(f"letcc {letcc.__version__}")
        except PackageNotFoundError as error:
            raise typer.BadParameter("letcc is not installed, and has no version: pip install it") from error
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Coded computing: run any function on workers some of which never answer.

    For example: letcc certify --scheme letcc -K 20 -N 100 -S 10

    Exits with 0 when done, 1 where letcc plan finds no plan, 2 for bad usage. More about a command: letcc COMMAND
    --help.
    """


@app.command("schemes")
def schemes_command(num_data: NumData = 20, degree: Degree = 2, as_json: AsJson = False) -> None:
    """List schemes, smoothers, points, stragglers and latencies.

    For example: letcc schemes -K 8

    Exits with 0, or with 2 for bad usage.
    """
    rows = [
        _row("scheme", name, getattr(CodedScheme, name)) | {"min_received": _min_received(name, num_data, degree or 0)}
        for name in SCHEMES
    ]
    for kind, module, names in (
        ("smoother", smoothers, [name for name in smoothers.__all__ if not name.startswith("Abstract")]),
        ("points", nodes, ["chebyshev_first_kind", "chebyshev_second_kind", "equispaced", "clustered"]),
        ("stragglers", stragglers, ["AtMost", "ConsecutiveBlock", "Bernoulli"]),
    ):
        rows += [_row(kind, name, getattr(module, name)) for name in names]
    rows += [_row("latency", name, model) for name, model in MODELS.items()]
    if as_json:
        _print_json(rows)
        return
    table = Table("", "name", "parameters", "", f"decodes from (K = {num_data})", box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(row["kind"], row["name"], row["parameters"], row["description"], str(row.get("min_received", "")))
    console().print(table)


def _min_received(name: str, num_data: int, degree: int) -> int:
    """Of the smallest code, for large K too: that of lagrange alone grows with K."""
    if name == "lagrange":
        return LagrangePolynomial((num_data - 1) * degree).min_nodes
    scheme: CodedScheme = getattr(CodedScheme, name)(1, 1)
    return scheme.min_received


def _row(kind: str, name: str, what: Any) -> dict[str, Any]:
    parameters = ", ".join(inspect.signature(what).parameters)
    return {"kind": kind, "name": name, "parameters": parameters, "description": _summary(what)}


def _summary(what: Any) -> str:
    return (inspect.getdoc(what) or "").partition("\n\n")[0].replace("\n", " ").replace("`", "")


@app.command()
def certify(
    scheme: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(SCHEMES)}, or package:function.")] = "letcc",
    num_data: NumData = 20,
    num_workers: NumWorkers = 100,
    lost: Annotated[
        int | None,
        typer.Option("-S", "--stragglers", min=0, max=MOST, metavar="S", help="Neighbours lost: the worst S are."),
    ] = None,
    received: Annotated[
        str | None, typer.Option(metavar="LIST", help='Who answered, such as "0,3,5-9"; all without.')
    ] = None,
    smoothing: Annotated[str | None, typer.Option(metavar="LAMBDA", help="Of letcc's decoder; 0 without.")] = None,
    degree: Degree = None,
    points: Annotated[
        str | None, typer.Option(parser=one_of("family of points", POINTS), metavar="NAME", help=" or ".join(POINTS))
    ] = None,
    noise_std: Annotated[float, typer.Option(metavar="SIGMA", help="Of each worker's output.")] = 0.0,
    ball: Annotated[str, typer.Option(metavar="NAME", help="seminorm or full: see letcc.certify.")] = "seminorm",
    rates: Annotated[bool, typer.Option("--rates", help="Also the exponents in N and S.")] = False,
    as_json: AsJson = False,
) -> None:
    """Certify the exact worst error of a scheme.

    Over all g with int g''^2 <= 1. A scheme of your own is a function of K and N in a module that can be imported.

    For example: letcc certify --scheme bacc -K 8 -N 64 -S 6 --rates

    Exits with 0, or with 2 for bad usage or where the worst error is infinite.
    """
    builtin = scheme in SCHEMES
    if not builtin and ":" not in scheme:
        raise InvalidInput(f"{unknown('scheme', scheme, SCHEMES)}; your own is package:function")
    if lost is not None and received is not None:
        raise InvalidInput("--stragglers and --received both say who answered: give one of them")
    if not builtin and (smoothing, degree, points) != (None, None, None):
        raise InvalidInput(f"--smoothing, --degree and --points are no options of {scheme}")
    with (
        nullcontext(_builder(scheme, smoothing=smoothing, degree=degree, points=points))
        if builtin
        else function_of(scheme) as make
    ):
        made = _checked(scheme, make(num_data, num_workers), num_data, num_workers)
        try:
            found = _certified(made, lost, received, ball, noise_std)
        except InfiniteCertificate as error:
            raise InvalidInput(str(error).replace('ball="full"', "--ball full")) from error
        except Unresolved as error:
            raise InvalidInput(
                f"--smoothing {smoothing} is chosen from the outputs, so that decoding is not linear, and nothing is "
                "exact about its worst case: give the number that scheme.resolve(outputs) chooses"
            ) from error
        report = letcc.certify_rates(make) if rates else None
    row = {"scheme": scheme} | found
    if as_json:
        _print_json(row | ({"rates": rates_row(scheme, report)} if report else {}))
        return
    table = Table("", "", title=f"{scheme}: K = {num_data}, N = {num_workers}", box=SIMPLE_HEAD, show_header=False)
    away = sorted(set(range(num_workers)) - set(found["received"]))
    table.add_row(
        "received", f"{len(found['received'])} of {num_workers}" + (f", without {_spans(away)}" if away else "")
    )
    for name in ("ball", "noise_std", "worst_pointwise_mse", "worst_average_mse", "least_possible_squared_bias"):
        table.add_row(name.replace("_", " "), _text(found[name]))
    for name in ("squared_bias", "noise_gain"):
        table.add_row(f"largest {name.replace('_', ' ')}", _text(max(found[name])))
    table.add_row("Lebesgue constant", _text(found["lebesgue_constant"]))
    console().print(table)
    if report:
        print_rates(scheme, report, console())


def _builder(
    name: str, *, smoothing: str | None = None, degree: int | None = None, points: str | None = None
) -> Callable[[int, int], CodedScheme]:
    make = getattr(CodedScheme, name)
    given = {"smoothing": smoothing, "degree": degree, "points": points}
    options = {key: value for key, value in given.items() if value is not None}
    takes = {"smoothing" if key == "decoder_smoothing" else key for key in inspect.signature(make).parameters}
    for key in options.keys() - takes:
        raise InvalidInput(f"--{key} is no option of {name}")
    if "degree" in takes - options.keys():
        raise InvalidInput(f"{name} needs --degree, that of the function to be computed")
    if smoothing is not None:
        options["decoder_smoothing"] = _number(options.pop("smoothing"))

    def build(num_data: int, num_workers: int) -> CodedScheme:
        scheme: CodedScheme = make(num_data, num_workers, **options)
        return scheme.fit(np.arange(num_data))  # the inputs' order is all that an adaptive scheme takes of them

    return build


def _number(text: Any) -> Any:
    try:
        return float(text)
    except ValueError:
        return text  # the name of a rule, or what the scheme refuses


def _checked(name: str, made: Any, num_data: int, num_workers: int) -> CodedScheme:
    if not isinstance(made, CodedScheme):
        raise InvalidInput(f"{name} made {made!r}: it must make a letcc.CodedScheme")
    if (made.num_data, made.num_workers) != (num_data, num_workers):
        raise InvalidInput(
            f"{name} made a scheme of K = {made.num_data} and N = {made.num_workers} where K = {num_data} and "
            f"N = {num_workers} are asked for: let it make what it is asked for, or give those by -K and -N"
        )
    return made


def _certified(
    scheme: CodedScheme, lost: int | None, received: str | None, ball: Any, noise_std: float
) -> dict[str, Any]:
    n = scheme.num_workers
    kept = np.arange(n) if received is None else np.array(_listed(received, n))
    if lost:
        blocks = np.argsort(scheme.worker_points)[np.array(list(ConsecutiveBlock(lost).all(n)))]
        many = letcc.certify_many(scheme, blocks, ball=ball, noise_std=noise_std)
        kept = np.sort(blocks[int(np.argmax(many.worst_pointwise_mse))])
    certificate = letcc.certify(scheme, kept, ball=ball, noise_std=noise_std)
    least = letcc.optimal_squared_bias(scheme.worker_points[kept], scheme.data_points, ball=ball).max()
    return {
        "num_data": scheme.num_data,
        "num_workers": n,
        "received": kept.tolist(),
        "ball": ball,
        "noise_std": noise_std,
        "worst_pointwise_mse": certificate.worst_pointwise_mse,
        "worst_average_mse": certificate.worst_average_mse,
        "least_possible_squared_bias": float(least) if math.isfinite(least) else None,
        "squared_bias": certificate.squared_bias.tolist(),
        "noise_gain": certificate.noise_gain.tolist(),
        "lebesgue_constant": letcc.metrics.lebesgue_constant(scheme.decoding_matrix(kept)),
    }


def _spans(ascending: list[int]) -> str:
    """As `--received` takes them: "0,3,5-9"."""
    runs: list[list[int]] = []
    for worker in ascending:
        if runs and worker == runs[-1][-1] + 1:
            runs[-1].append(worker)
        else:
            runs.append([worker])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _listed(text: str, num_workers: int) -> list[int]:
    """Worker indices of "0,3,5-9"."""
    found: list[int] = []
    for part in text.split(","):
        span = re.fullmatch("([0-9]{1,99})(?:-([0-9]{1,99}))?", part.strip())
        if span is None:
            raise InvalidInput(f'{part!r} in --received: give numbers and spans of them, such as "0,3,5-9"')
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first:
            raise InvalidInput(f"{part!r} in --received runs backwards: give {last}-{first}")
        if last >= num_workers:
            raise InvalidInput(f"{part!r} in --received: the workers are numbered from 0 to {num_workers - 1}")
        found += range(first, last + 1)
    return found


@app.command()
def plan(
    function: Annotated[str, typer.Argument(metavar="PACKAGE:FUNCTION", help="What the workers compute.")],
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="For a round.")],
    target: Annotated[float, typer.Option(metavar="RMSE", help="Error to stay below.")],
    model: Annotated[
        str | None, typer.Option("--latency", metavar="MODEL", help="Such as pareto:shift=1,tail=2.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Or times: a line a round, a number a worker.")
    ] = None,
    num_workers: NumWorkers = 100,
    num_data: Annotated[
        int | None, typer.Option("-K", "--num-data", min=1, max=MOST, metavar="K", help="Inputs, -1 .. 1; without: 16.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Or sample inputs (.npy), the first axis K.")
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Share of rounds that must do.")] = 0.95,
    rounds: Annotated[int, typer.Option(min=1, max=MOST_TRIALS, metavar="N", help="To simulate.")] = 200,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find which scheme to use, and how many workers to wait for.

    And for how many inputs at once. Models of latencies and their parameters, in seconds: letcc schemes. The function
    is run here, on samples.

    For example: letcc plan numpy:tanh -N 40 --deadline 3 --target 0.001 --latency pareto:shift=1,tail=2

    Exits with 0, with 1 where no scheme meets the target, with 2 for bad usage.
    """
    if (model is None) == (trace is None):
        raise InvalidInput("give the workers' times by either --latency or --trace")
    times = latency.Trace.read(trace) if trace else _model(model or "")
    if inputs is not None and num_data is not None:
        raise InvalidInput("--num-data and --inputs both say which inputs: give one of them")
    x = np.linspace(-1, 1, num_data or 16) if inputs is None else _inputs(inputs)
    try:
        with function_of(function) as f:
            found = letcc.plan(
                f, x, num_workers, times, deadline, target, confidence=confidence, rounds=rounds, seed=seed
            )
    except NoPlan as error:
        typer.echo(f"No plan: {error}", err=True)
        raise typer.Exit(1) from error
    row = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "scheme"}
    row = {"scheme": row.pop("name"), "num_workers": num_workers} | row
    if as_json:
        _print_json(row)
        return
    table = Table("", "", box=SIMPLE_HEAD, show_header=False)
    units = {"deadline": " (seconds)", "elapsed": " (seconds)", "error": " (root mean square)"}
    for name, value in row.items():
        table.add_row(name.replace("_", " ") + units.get(name, ""), _text(value))
    console().print(table)


def _inputs(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput(f"--inputs {path} cannot be read as .npy: {error}") from error


def _model(text: str) -> latency.AbstractLatency:
    name, _, rest = text.partition(":")
    if name not in MODELS:
        raise InvalidInput(unknown("model of latencies", name, MODELS))
    model = MODELS[name]
    takes = {parameter.name: parameter.default is MISSING for parameter in fields(model)}
    given: dict[str, float] = {}
    for part in rest.split(",") if rest else []:
        key, _, value = part.partition("=")
        try:
            if key not in takes or key in given:
                raise ValueError(f"{key} is given twice" if key in given else unknown("parameter", key, takes))
            given[key] = float(value)
        except ValueError as error:
            raise _mistaken(text, name, takes, str(error)) from None
    missing = [key for key, needed in takes.items() if needed and key not in given]
    if missing:
        raise _mistaken(text, name, takes, f"without {' and '.join(missing)}")
    made: latency.AbstractLatency = model(**given)
    return made


def _mistaken(text: str, name: str, takes: Iterable[str], why: str) -> InvalidInput:
    return InvalidInput(f"--latency {text}: give it as {name}:{','.join(f'{key}=...' for key in takes)} ({why})")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
