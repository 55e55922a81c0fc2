"""What the table does not show: over S and K, over the smoothing, with noisy or coarse outputs, and as N grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convergence.networks.campaign import Subject, loaded, run_campaign
from convergence.networks.trials import TRANSMISSIONS, Case, summarise
from convergence.table1 import BASELINE, SETTINGS, SMOOTHINGS, Setting, schemes, smoothing_cases
from letcc.rates import fit_exponent
from theory.store import provenance, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from letcc import CodedScheme

_SHOWN = ("BACC", "LeTCC", "recommended")
_WORKERS = (32, 64, 128, 256, 512, 1024)
_DATA = 8  # K while N grows


def _shown(num_data: int, num_workers: int) -> dict[str, CodedScheme]:
    every = schemes(num_data, num_workers, (0.0, 0.0))
    return {name: every[name] for name in _SHOWN}


def _over_stragglers(setting: Setting) -> list[Case]:
    k, n = setting.num_data, setting.num_workers
    lost = np.unique(np.linspace(0, n - k, 9).round().astype(int)).tolist()
    return [Case(name, scheme, s) for name, scheme in _shown(k, n).items() for s in lost]


def _over_data(setting: Setting) -> list[Case]:
    n, s = setting.num_workers, setting.num_stragglers
    sizes = [k for k in (2, 4, 8, 12, 16, 20, 30, 40) if k <= n - s]
    return [Case(name, scheme, s) for k in sizes for name, scheme in _shown(k, n).items()]


def _over_transmissions(setting: Setting) -> list[Case]:
    k, n, s = setting.num_data, setting.num_workers, setting.num_stragglers
    return [Case(name, scheme, s, how) for name, scheme in _shown(k, n).items() for how in TRANSMISSIONS]


def _over_workers(setting: Setting) -> list[Case]:
    return [Case(name, scheme, 0) for n in _WORKERS for name, scheme in _shown(_DATA, n).items()]


STUDIES: dict[str, Callable[[Setting], list[Case]]] = {
    "stragglers": _over_stragglers,
    "data": _over_data,
    "smoothing": smoothing_cases,
    "transmission": _over_transmissions,
    "workers": _over_workers,
}


# what runs in each study: a column of the trials
_RUNS = {
    "stragglers": "num_stragglers",
    "data": "num_data",
    "smoothing": "lambda_e (down) and lambda_d",
    "transmission": "transmission",
    "workers": "num_workers",
}


def run_studies(
    subjects: Sequence[Subject], names: Sequence[str], trials: int, jobs: int, out: Path, *, quick: bool = False
) -> pd.DataFrame:
    """Run studies, and write studies.parquet and coded_inputs.parquet.

    Parameters
    ----------
    subjects : sequence of Subject
    names : sequence of str
        Of `STUDIES`.
    trials : int
    jobs : int
        Worker processes.
    out : Path
        Folder of the results.
    quick : bool
        For the record: that so few trials were asked for.

    Returns
    -------
    DataFrame
        Of `convergence.networks.trials.summarise`, with network, dataset and study.
    """
    parts = []
    for subject in subjects:
        for name in names:
            cases = STUDIES[name](SETTINGS[subject.network])
            summary = summarise(run_campaign(subject, cases, trials, jobs, out / "trials"), BASELINE)
            labels = {"network": subject.network, "dataset": subject.dataset, "study": name}
            parts.append(summary.assign(**labels))
    table = pd.concat(parts, ignore_index=True)
    origin = provenance({"program": "studies", "trials": trials, "quick": quick}, subjects[0].seed)
    write_table(out / "studies.parquet", table, origin)
    write_table(out / "coded_inputs.parquet", _coded_inputs(subjects), origin)
    return table


def slopes(table: pd.DataFrame) -> pd.DataFrame:
    """Exponents of the mean squared error in N, from the study "workers".

    A network with ReLU or max pooling is piecewise linear along the encoded curve, with kinks: f o u_e is then outside
    the second-order Sobolev space, and no theorem promises N^-3.

    Parameters
    ----------
    table : DataFrame
        From `run_studies`.

    Returns
    -------
    DataFrame
        Columns network, dataset, scheme, exponent, low and high.
    """
    rows = []
    chosen = table.query("study == 'workers' and metric == 'rmse'")
    for (network, dataset, scheme), of in chosen.groupby(["network", "dataset", "scheme"], sort=False):
        relative = 2 * of["std"] / of["mean"] / np.sqrt(of["trials"])  # of the square
        fit = fit_exponent(of["num_workers"], of["mean"] ** 2, uncertainty=relative)
        labels = {"network": network, "dataset": dataset, "scheme": scheme}
        rows.append(labels | {"exponent": fit.value, "low": fit.low, "high": fit.high})
    return pd.DataFrame(rows)


def print_studies(table: pd.DataFrame, output: Console) -> None:
    """Print mean RMSE by study, in blocks of what runs, and the exponents in N.

    Parameters
    ----------
    table : DataFrame
        From `run_studies`.
    output : rich.console.Console
    """
    rmse = table[table["metric"] == "rmse"]
    for (network, dataset, study), of in rmse.groupby(["network", "dataset", "study"], sort=False):
        title = f"{network} on {dataset}, RMSE by {_RUNS[study]}"
        if study == "smoothing":
            pairs = of["scheme"].str.split(", ", expand=True)
            wide = of.assign(lambda_e=pairs[0], lambda_d=pairs[1]).pivot(
                index="lambda_e", columns="lambda_d", values="mean"
            )
            order = [f"{value:g}" for value in SMOOTHINGS]
            wide = wide.loc[order, order]
        else:
            wide = of.pivot(index="scheme", columns=_RUNS[study], values="mean").loc[list(_SHOWN)]
            wide = wide[of[_RUNS[study]].unique()]
        printed = Table("", *map(str, wide.columns), title=title, box=SIMPLE_HEAD)
        for name, values in wide.iterrows():
            printed.add_row(str(name), *(f"{value:.3g}" for value in values))
        output.print(printed)
    if "workers" in set(table["study"]):
        for row in slopes(table).to_dict("records"):
            output.print(
                f"{row['network']} on {row['dataset']}, {row['scheme']}: mean squared error falls like "
                f"N^{row['exponent']:.2f} ({row['low']:.2f} .. {row['high']:.2f})",
                soft_wrap=True,
            )


def _coded_inputs(subjects: Sequence[Subject]) -> pd.DataFrame:
    """What some workers see, as pixels: one row for each picture, drawn by the figures."""
    rows = []
    for subject in subjects:
        images, setting = loaded(subject)[1], SETTINGS[subject.network]
        drawn = np.random.default_rng([subject.seed, 0]).permutation(len(images))[: setting.num_data]
        pixels = images.pixels[drawn]
        for name, scheme in _shown(setting.num_data, setting.num_workers).items():
            coded = scheme.fit(pixels).encode(pixels)
            for worker in np.linspace(0, setting.num_workers - 1, 6).round().astype(int).tolist():
                labels = {"network": subject.network, "dataset": subject.dataset, "scheme": name, "worker": worker}
                shape = "x".join(map(str, coded[worker].shape))
                rows.append(labels | {"shape": shape, "pixels": coded[worker].flatten().numpy().astype(np.float32)})
    return pd.DataFrame(rows)
