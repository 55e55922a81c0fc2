"""How long decoding takes as N grows, beside the splines of SciPy and csaps that do the same job.

Absolute times mean nothing on another machine: the ratios are what to read.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from timeit import timeit
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from scipy.interpolate import make_smoothing_spline
from threadpoolctl import threadpool_limits

from letcc.nodes import FloatArray, chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import SmoothingSpline, spline
from theory.cells import progress
from theory.store import provenance, write_table

Decoder = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

WORKERS, QUICK_WORKERS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192), (32, 256, 2048)
REPEATS, QUICK_REPEATS = 50, 10
DATA, OUTPUTS, SMOOTHING = 20, 10, 1e-6
BASELINE, PLAIN = "letcc", "letcc without numba"


def decoders() -> dict[str, Decoder]:
    """Ways to build one smoothing spline through N outputs and to evaluate it at K targets, by name.

    Returns
    -------
    dict of str to callable
        Of nodes (N,), outputs (N, m) and targets (K,), to (K, m). What is not installed is left out: csaps, and numba,
        without which the first is itself without numba.
    """
    found: dict[str, Decoder] = {BASELINE: _letcc}
    if spline._compiled():
        found[PLAIN] = _without_numba
    found["SciPy"] = lambda nodes, outputs, targets: make_smoothing_spline(nodes, outputs, lam=nodes.size * SMOOTHING)(
        targets
    )
    if find_spec("csaps"):
        csaps = import_module("csaps").csaps
        found["csaps"] = lambda nodes, outputs, targets: csaps(
            nodes, outputs.T, targets, smooth=1 / (1 + nodes.size * SMOOTHING)
        ).T
    return found


def _letcc(nodes: FloatArray, outputs: FloatArray, targets: FloatArray) -> FloatArray:
    return SmoothingSpline(SMOOTHING).operator(nodes, targets) @ outputs


def _without_numba(nodes: FloatArray, outputs: FloatArray, targets: FloatArray) -> FloatArray:
    with patch.object(spline, "_compiled", lambda: None):
        return _letcc(nodes, outputs, targets)


def measure_speed(out: Path, *, quick: bool = False) -> pd.DataFrame:
    """Time every decoder by turns in this process, and write speed.parquet.

    Parameters
    ----------
    out : Path
        Folder of the results.
    quick : bool
        Fewer sizes, and fewer repeats.

    Returns
    -------
    DataFrame
        A row for each method and N: ``method``, ``num_workers``, ``num_data``; ``seconds`` of processor time, the
        median over the repeats, with ``seconds_low`` and ``seconds_high``, the quantiles 10 % and 90 %; ``ratio``
        with ``ratio_low`` and ``ratio_high``, the same of the time divided by letcc's in the same repeat;
        ``deviation``, the largest difference of its answer to letcc's.
    """
    sizes, repeats = (QUICK_WORKERS, QUICK_REPEATS) if quick else (WORKERS, REPEATS)
    rows = []
    with threadpool_limits(limits=1), progress("timing", len(sizes)) as advance:
        for num_workers in sizes:
            rows += _measure(num_workers, repeats)
            advance()
    table = pd.DataFrame(rows)
    spec = {"program": "speed", "repeats": repeats, "outputs": OUTPUTS, "smoothing": SMOOTHING}
    table.attrs["provenance"] = provenance(spec)
    write_table(out / "speed.parquet", table, table.attrs["provenance"])
    return table


def _measure(num_workers: int, repeats: int) -> list[dict[str, Any]]:
    nodes, targets = chebyshev_second_kind(num_workers), chebyshev_first_kind(DATA)
    noise = np.random.default_rng(num_workers).standard_normal((num_workers, OUTPUTS))
    outputs = np.sin(3 * nodes)[:, None] + 0.1 * noise
    jobs = {name: partial(decode, nodes, outputs, targets) for name, decode in decoders().items()}
    answers = {name: job() for name, job in jobs.items()}  # and what only the first call costs is over
    # processor time, which does not count what else the machine does
    clock = partial(timeit, timer=process_time, number=1)
    times = pd.DataFrame([{name: clock(job) for name, job in jobs.items()} for _ in range(repeats)])
    rows = []
    for name in jobs:
        row: dict[str, Any] = {"method": name, "num_workers": num_workers, "num_data": DATA}
        for column, values in (("seconds", times[name]), ("ratio", times[name] / times[BASELINE])):
            low, median, high = np.quantile(values, (0.1, 0.5, 0.9))
            row |= {column: median, f"{column}_low": low, f"{column}_high": high}
        rows.append(row | {"deviation": np.abs(answers[name] - answers[BASELINE]).max()})
    return rows


def print_speed(table: pd.DataFrame, output: Console) -> None:
    """Print the ratios.

    Parameters
    ----------
    table : DataFrame
        From `measure_speed`.
    output : rich.console.Console
    """
    shown = Table(title=f"Decoding K = {DATA}: times as long as letcc, median (10 % .. 90 %)", box=SIMPLE_HEAD)
    others = [name for name in table["method"].unique() if name != BASELINE]
    for column in ("N", *others):
        shown.add_column(column, justify="right")
    for num_workers, rows in table.groupby("num_workers"):
        by_method = rows.set_index("method").loc[others]
        ratios = (f"{row.ratio:.3g} ({row.ratio_low:.3g} .. {row.ratio_high:.3g})" for row in by_method.itertuples())
        shown.add_row(str(num_workers), *ratios)
    output.print(shown)
    output.print("Absolute times, in speed.parquet, are of this machine only.")
