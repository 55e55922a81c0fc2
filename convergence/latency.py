"""Quality against time: how long coded and uncoded computing take at the same number of workers, and how good they are.

Every worker computes the function once. Uncoded computing uses K of the N workers and waits for all of them; replicated
computing gives every input to N / K workers and takes the first. Times are in units of the fastest answer.
"""

import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest, ks_2samp

from convergence.problems import zoo
from letcc import CodedScheme, coded_map
from letcc.exceptions import IllConditionedWarning
from letcc.latency import AbstractLatency, Bimodal, Markov, Pareto, ShiftedExponential
from letcc.metrics import relative_accuracy, rmse
from letcc.simulation import DelayedExecutor, batches, kth, replicated, simulate
from theory.cells import run_cells
from theory.store import check_folder, provenance, write_table

WORKERS, DATA, DEGREE = 100, 20, 2
ROUNDS, QUICK_ROUNDS = 100_000, 2000
SETS = 200  # rounds of which the quality is looked at
DRAWS = 20  # of images
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
WAITS = (20, 30, 40, 50, 60, 70, 80, 90, 95, 100)
DEADLINES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # shares of workers that answer by then
MODELS: dict[str, AbstractLatency] = {
    "shifted exponential": ShiftedExponential(1.0, 0.5),
    "Pareto": Pareto(1.0, 2.0),
    "bimodal": Bimodal(1.0, 10.0, 0.1, jitter=0.1),
    "slow spells": Markov(1.0, 10.0, 0.02, 0.18, jitter=0.1),
}
SCHEMES: dict[str, Callable[[], CodedScheme]] = {
    "LeTCC": lambda: CodedScheme.letcc(DATA, WORKERS),
    "BACC": lambda: CodedScheme.bacc(DATA, WORKERS),
    "recommended": lambda: CodedScheme.recommended(DATA, WORKERS),
    "Lagrange": lambda: CodedScheme.lagrange(DATA, WORKERS, degree=DEGREE),
}
BASELINES = ("uncoded", "replicated")
TASKS = ("smooth", "LeNet5")
# what really delayed processes run: few enough to be started anywhere, and slow beside what starting a task costs
REAL_WORKERS, REAL_DATA, REAL_ROUNDS, REAL_UNIT = 12, 4, 40, 0.3
REAL_WAITS = (8, 12)
CALIBRATION = 0.05  # seconds that all workers take in the rounds that measure what starting and collecting tasks costs
SPELLS = 20  # rounds of a model from one real round to the next, between which slow spells are forgotten
REAL_MODELS: dict[str, AbstractLatency] = {
    "shifted exponential": ShiftedExponential(1.0, 0.5),
    "Pareto": Pareto(1.0, 3.0),
    "bimodal": Bimodal(1.0, 3.0, 0.1, jitter=0.3),
    "slow spells": Markov(1.0, 3.0, 0.02, 0.18, jitter=0.3),
}
REAL_QUANTILES = {"p50": 0.5, "p90": 0.9}


@dataclass(frozen=True)
class Cell:
    """One way to compute one task under one model of latencies.

    Attributes
    ----------
    latency, task, scheme : str
    seed : int
    data_root : Path or None
    identity : str
        Of the network and its images: a cell that was computed with others is not taken.
    """

    latency: str
    task: str
    scheme: str
    seed: int
    data_root: Path | None = None
    identity: str = ""
    rounds: int = ROUNDS


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Run one cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    list of dict
        A row for each number of answers waited for and each deadline: the quantiles of the time to answer, each with
        its 95 % interval; the share of rounds that could be decoded, and means of the quality, with theirs.
    """
    model = MODELS[cell.latency]
    # all schemes meet the same rounds
    seed = np.random.SeedSequence([cell.seed, list(MODELS).index(cell.latency)])
    deadlines = np.quantile(model.sample(1000, WORKERS, seed), DEADLINES)
    correlation = getattr(model, "correlation", 0.0)
    quality = None if cell.scheme in BASELINES else _Quality(cell, correlation)
    waits = [DATA] if quality is None else sorted({quality.least, *(wait for wait in WAITS if wait >= quality.least)})
    parts = list(batches(model, cell.rounds, WORKERS, seed))
    elapsed = np.concatenate([_finished(cell.scheme, times, waits) for times in parts])
    some = parts[0][:SETS]
    rows = []
    for place, wait in enumerate(waits):
        row: dict[str, Any] = {"rule": "wait for", "wait_for": wait, "deadline": None}
        row |= _quantiles(elapsed[:, place], QUANTILES, correlation) | _share(np.ones(SETS), correlation)
        rows.append(row | (quality.of(some <= elapsed[:SETS, place, None]) if quality else _exact()))
    for deadline in deadlines:
        row = {"rule": "deadline", "wait_for": None, "deadline": float(deadline)}
        if quality:
            row |= quality.of(some <= deadline)
        else:
            row |= _exact() | _share(elapsed <= deadline, correlation)
        rows.append(row)
    keys = {"latency": cell.latency, "task": cell.task, "scheme": cell.scheme, "workers": WORKERS, "data": DATA}
    return [keys | row for row in rows]


def _finished(scheme: str, times: np.ndarray, waits: list[int]) -> np.ndarray:
    """When the answers are there, for each number waited for: (rounds, waits)."""
    if scheme == "uncoded":
        return kth(times[:, :DATA], DATA)[:, None]
    if scheme == "replicated":
        return replicated(times, WORKERS // DATA)[:, None]
    return np.sort(times, axis=1)[:, np.array(waits) - 1]


def _exact() -> dict[str, float]:
    return dict.fromkeys(("rmse", "rmse_low", "rmse_high"), 0.0) | dict.fromkeys(
        ("relative_accuracy", "relative_accuracy_low", "relative_accuracy_high"), 1.0
    )


def _quantiles(samples: np.ndarray, quantiles: dict[str, float], correlation: float = 0.0) -> dict[str, float]:
    """Sample quantiles, and 95 % intervals from order statistics."""
    ordered, count = np.sort(samples), samples.size
    independent = _independent(count, correlation)
    found: dict[str, float] = {}
    for name, q in quantiles.items():
        margin = 1.96 * np.sqrt(q * (1 - q) / independent)
        ranks = np.clip(np.array([q, q - margin, q + margin]) * count, 0, count - 1).astype(int)
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), ordered[ranks].tolist(), strict=True))
    return found


def _share(decoded: np.ndarray, correlation: float) -> dict[str, float]:
    """The share of rounds that were decoded, with Wilson's 95 % interval."""
    share, rounds = float(np.mean(decoded)), max(1, round(_independent(decoded.size, correlation)))
    interval = binomtest(round(share * rounds), rounds).proportion_ci(0.95, method="wilson")
    # rounding to a whole number of independent rounds may leave the share itself outside
    low, high = min(share, float(interval.low)), max(share, float(interval.high))
    return {"decoded": share, "decoded_low": low, "decoded_high": high}


def _independent(rounds: int, correlation: float) -> float:
    """As many independent rounds as tell as much about a mean as these of a Markov chain."""
    return rounds * (1 - correlation) / (1 + correlation)


class _Quality:
    """How good what a scheme decodes is."""

    def __init__(self, cell: Cell, correlation: float) -> None:
        self._correlation = correlation  # of one round with the next
        scheme = SCHEMES[cell.scheme]()
        self.least = scheme.min_received if cell.scheme == "Lagrange" else WAITS[0]
        function, draws = _task(cell)
        fitted = [scheme.fit(x) for x in draws]
        self._draws = [(s, function(s.encode(x)), function(x)) for s, x in zip(fitted, draws, strict=True)]

    def of(self, masks: np.ndarray) -> dict[str, float]:
        errors, agreed, decoded = [], [], np.zeros(len(masks))
        for number, mask in enumerate(masks):
            scheme, outputs, truth = self._draws[number % len(self._draws)]
            if mask.sum() < self.least:
                continue
            decoded[number] = 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IllConditionedWarning)  # Lagrange's, which is what is measured
                estimate = scheme.decode(outputs[mask], mask)
            errors.append(rmse(estimate, truth))
            agreed.append(relative_accuracy(estimate, truth) if truth.ndim == 2 else np.nan)
        share = _share(decoded, self._correlation)
        return share | _mean("rmse", errors) | _mean("relative_accuracy", agreed)


def _mean(name: str, values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
    mean, margin = np.mean(values), 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return {name: float(mean), f"{name}_low": float(mean - margin), f"{name}_high": float(mean + margin)}


def _task(cell: Cell) -> tuple[Callable[[Any], np.ndarray], list[Any]]:
    """The function of many inputs, and draws of K inputs each."""
    if cell.task == "smooth":
        points = SCHEMES["LeTCC"]().data_points
        problem = zoo(points)["smooth"]
        return problem.function, [problem.inputs(points)]
    network, images, _ = _lenet5(cell.data_root)
    generator = np.random.default_rng(cell.seed)
    return network, [images.pixels[generator.choice(len(images), DATA, replace=False)] for _ in range(DRAWS)]


@cache
def _lenet5(data_root: Path | None) -> tuple[Callable[[Any], np.ndarray], Any, str]:
    """The network of the table, whose weights are those of seed 0, from images to logits; test images; their identity.

    The logits are an array.
    """
    import torch  # the synthetic task does without

    from convergence.networks.images import load_images
    from convergence.networks.registry import find
    from convergence.networks.trained import trained
    from convergence.verify import dataset_of

    dataset = dataset_of(data_root)
    network = find("lenet5", dataset)
    images = load_images(dataset, data_root, train=False)
    network.check(images)
    module, metadata = trained(network, 0, data_root, say=lambda line: print(line, file=sys.stderr))

    def compute(x: Any) -> np.ndarray:
        with torch.inference_mode():
            return module(x).double().numpy()

    return compute, images, f"{metadata}, {images.checksum()}"


def measure_latency(
    tasks: tuple[str, ...], data_root: Path | None, seed: int, jobs: int, out: Path, rounds: int = ROUNDS
) -> pd.DataFrame:
    """Measure every way to compute under every model, and write latency.parquet.

    Parameters
    ----------
    tasks : tuple of str
        Some of `TASKS`.
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.
    seed, jobs : int
    out : Path
        Folder of the results.
    rounds : int
        To simulate.

    Returns
    -------
    DataFrame
        See `measure`.
    """
    identities = dict.fromkeys(tasks, "")
    if "LeNet5" in tasks:
        identities["LeNet5"] = _lenet5(data_root)[2]  # trained once, and not by every process
    check_folder(out)
    cells = [
        Cell(latency, task, scheme, seed, data_root, identities[task], rounds)
        for latency in MODELS
        for task in tasks
        for scheme in (*SCHEMES, *BASELINES)
    ]
    table = pd.DataFrame([row for rows in run_cells(measure, cells, jobs, "simulating") for row in rows])
    spec: dict[str, Any] = {"program": "latency", "rounds": rounds, "quick": rounds < ROUNDS, "sets": SETS}
    spec |= {"models": {name: str(model) for name, model in MODELS.items()}, "tasks": list(tasks)}
    table.attrs["provenance"] = provenance(spec, seed)
    write_table(out / "latency.parquet", table, table.attrs["provenance"])
    return table


def measure_real(seed: int, out: Path, rounds: int = REAL_ROUNDS) -> pd.DataFrame:
    """The simulator's quantiles beside those of `coded_map` on really delayed processes; write latency-real.parquet.

    Parameters
    ----------
    seed : int
    out : Path
        Folder of the results.
    rounds : int

    Returns
    -------
    DataFrame
        One row for each model, number of answers waited for and quantile: ``overhead``, what starting and collecting
        the tasks costs: the median over rounds of equal delays, one before each of the others; ``simulated``, with it;
        ``real`` with ``real_low`` and ``real_high``, its 95 % interval; ``within``, whether that holds the simulated
        one; ``p_value``, of Kolmogorov and Smirnov's test that real and simulated rounds have one law.
    """
    scheme = CodedScheme.letcc(REAL_DATA, REAL_WORKERS)
    x = np.linspace(0, 1, REAL_DATA)
    rows = []
    with ProcessPoolExecutor(REAL_WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        equal = np.full(REAL_WORKERS, CALIBRATION)
        constant = DelayedExecutor(pool, [equal])
        # starts the processes and has them import letcc
        coded_map(np.sin, x, scheme, DelayedExecutor(pool, [equal + 1]))
        for number, (name, unit_model) in enumerate(REAL_MODELS.items()):
            for wait in REAL_WAITS:
                key = np.random.SeedSequence([seed, number, wait])
                times = REAL_UNIT * unit_model.sample(rounds * SPELLS, REAL_WORKERS, key)[::SPELLS]
                delayed = DelayedExecutor(pool, times)
                real, costs = [], []
                for row in times:
                    costs.append(coded_map(np.sin, x, scheme, constant, wait_for=wait).elapsed - CALIBRATION)
                    _settle(equal, costs[-1] + CALIBRATION)
                    real.append(coded_map(np.sin, x, scheme, delayed, wait_for=wait).elapsed)
                    _settle(row, real[-1])
                overhead = float(np.median(costs))
                many = REAL_UNIT * simulate(unit_model, ROUNDS, REAL_WORKERS, seed, wait_for=wait).elapsed + overhead
                simulated, found = _quantiles(many, REAL_QUANTILES), _quantiles(np.array(real), REAL_QUANTILES)
                p_value = float(ks_2samp(real, many).pvalue)
                for quantile in REAL_QUANTILES:
                    low, high = found[f"{quantile}_low"], found[f"{quantile}_high"]
                    within = low <= simulated[quantile] <= high
                    rows.append(
                        {"latency": name, "wait_for": wait, "quantile": quantile, "simulated": simulated[quantile]}
                        | {"real": found[quantile], "real_low": low, "real_high": high}
                        | {"within": within, "overhead": overhead, "p_value": p_value}
                    )
    table = pd.DataFrame(rows)
    spec = {"program": "latency", "rounds": rounds, "workers": REAL_WORKERS, "unit": REAL_UNIT}
    write_table(out / "latency-real.parquet", table, provenance(spec, seed))
    return table


def _settle(times: np.ndarray, elapsed: float) -> None:
    """Wait for the late workers of a round, which would take part in the next."""
    time.sleep(max(0.0, float(times.max()) - elapsed) + 0.02)


def print_latency(table: pd.DataFrame, output: Console) -> None:
    """Print the tail and the quality for each way to compute.

    Parameters
    ----------
    table : DataFrame
        From `measure_latency`.
    output : rich.console.Console
    """
    waited = table[table["rule"] == "wait for"]
    for (latency, task), rows in waited.groupby(["latency", "task"], sort=False):
        shown = Table(title=f"{latency}, {task}: N = {WORKERS}, K = {DATA}", box=SIMPLE_HEAD)
        for column in ("scheme", "wait for", *QUANTILES, "RMSE", "relative accuracy"):
            shown.add_column(column, justify="left" if column == "scheme" else "right")
        for row in rows.to_dict("records"):
            if row["scheme"] in SCHEMES and row["wait_for"] not in (39, 40, 60, 80, 100):
                continue
            cells = [f"{row[quantile]:.2f}" for quantile in QUANTILES]
            accuracy = "-" if np.isnan(row["relative_accuracy"]) else f"{row['relative_accuracy']:.3f}"
            shown.add_row(row["scheme"], f"{row['wait_for']:.0f}", *cells, f"{row['rmse']:.2g}", accuracy)
        output.print(shown)


def print_real(table: pd.DataFrame, output: Console) -> None:
    """Print the simulator beside real processes.

    Parameters
    ----------
    table : DataFrame
        From `measure_real`.
    output : rich.console.Console
    """
    shown = Table(title=f"simulated beside {REAL_WORKERS} delayed processes, seconds", box=SIMPLE_HEAD)
    columns = "latency", "wait for", "quantile", "simulated", "real", "95 % interval", "within", "overhead", "p"
    for column in columns:
        shown.add_column(column, justify="left" if column == "latency" else "right")
    for row in table.to_dict("records"):
        interval = f"{row['real_low']:.3f} .. {row['real_high']:.3f}"
        numbers = f"{row['simulated']:.3f}", f"{row['real']:.3f}", interval, str(row["within"])
        shown.add_row(
            row["latency"],
            str(row["wait_for"]),
            row["quantile"],
            *numbers,
            f"{row['overhead']:.4f}",
            f"{row['p_value']:.2g}",
        )
    output.print(shown)
    output.print(f"{agreement(table)}.", soft_wrap=True)


def agreement(table: pd.DataFrame) -> str:
    """Whether real rounds and the simulator agree, in a sentence that is wrong once in twenty times where they do.

    Parameters
    ----------
    table : DataFrame
        From `measure_real`.

    Returns
    -------
    str
    """
    p_values = table.drop_duplicates(["latency", "wait_for"])["p_value"]
    agree = p_values.min() >= 0.05 / len(p_values)  # Bonferroni's, over all set-ups together
    return (
        f"Real and simulated rounds {'agree' if agree else 'differ'}: the least of {len(p_values)} p-values is "
        f"{p_values.min():.2g}, where {0.05 / len(p_values):.2g} is the joint level of 5 %; {table['within'].sum()} of "
        f"{len(table)} quantiles lie within intervals of which {0.05 * len(table):.1f} are expected to miss theirs"
    )
