"""The paper's table on trained networks: BACC, LeTCC and what improves on them, on the same images and stragglers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convergence.networks.cache import UnusableWeights
from convergence.networks.campaign import Subject, loaded, run_campaign
from convergence.networks.images import DataNotFound
from convergence.networks.registry import NETWORKS
from convergence.networks.trials import Case, summarise
from letcc import CodedScheme
from letcc.exceptions import InvalidInput
from letcc.ordering import ShortPath
from letcc.rates import Verdict
from letcc.smoothers import SobolevRidge
from theory.certification import claim_row
from theory.claims import BY_ID, PAPER
from theory.evidence.fits import weakest
from theory.store import provenance, write_rows, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

CLAIM = BY_ID["table-1"]
TRIALS, TUNING_TRIALS, QUICK_TRIALS = 100, 20, 4
BASELINE, OURS = "BACC", "recommended"
UNDEFINED = "Lagrange (not defined for networks)"
SMOOTHINGS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


@dataclass(frozen=True)
class Setting:
    """A row of the paper's table.

    Attributes
    ----------
    num_workers, num_data, num_stragglers : int
        N, K and S, recalled.
    """

    num_workers: int
    num_data: int
    num_stragglers: int


SETTINGS = {
    "lenet5": Setting(100, 20, 60),
    "repvgg": Setting(60, 20, 20),
    "vit": Setting(20, 8, 3),
    "efficientnet-lite0": Setting(20, 8, 3),
    "vit-b16": Setting(20, 8, 3),
}


def find_subjects(
    networks: Sequence[str] | None,
    datasets: Sequence[str] | None,
    data_root: Path | None,
    seed: int,
    say: Callable[[str], None],
) -> list[Subject]:
    """The networks to be tried, loaded once, so that what is missing is known before any long work.

    Parameters
    ----------
    networks, datasets : sequence of str, optional
        Which; None for all that can be had: with a data root those of its images, without one those of the digits.
    data_root : Path or None
    seed : int
        Of the trials.
    say : callable
        Gets a line about each one that is left out.

    Returns
    -------
    list of Subject

    Raises
    ------
    InvalidInput
        If there is no such network.
    DataNotFound
        If one that was asked for, or every one, lacks its images.
    UnusableWeights
        The same of its weights.
    """
    asked = [
        network
        for network in NETWORKS
        if network.name in (networks or SETTINGS)
        and (network.dataset in datasets if datasets else (network.dataset == "digits") == (data_root is None))
    ]
    if not asked:
        listed = ", ".join(f"{network.name} on {network.dataset}" for network in NETWORKS)
        raise InvalidInput(f"there is no such network; there are {listed}")
    found: list[Subject] = []
    for network in asked:
        subject = Subject(network.name, network.dataset, data_root, seed)
        try:
            loaded(subject)
        except (DataNotFound, UnusableWeights) as error:
            if networks or datasets or (network is asked[-1] and not found):
                raise
            say(f"left out, {network.name} on {network.dataset}: {error}")
        else:
            found.append(subject)
    return found


def schemes(num_data: int, num_workers: int, smoothings: tuple[float, float]) -> dict[str, CodedScheme]:
    """The schemes of the table, by name.

    Parameters
    ----------
    num_data, num_workers : int
        K and N.
    smoothings : tuple of float
        lambda_e and lambda_d of LeTCC.

    Returns
    -------
    dict of str to CodedScheme
    """
    encoder, decoder = smoothings
    bacc, interpolating = CodedScheme.bacc(num_data, num_workers), CodedScheme.letcc(num_data, num_workers)
    tuned = CodedScheme.letcc(num_data, num_workers, encoder_smoothing=encoder, decoder_smoothing=decoder)
    equispaced = CodedScheme.letcc(num_data, num_workers, points="equispaced")
    along = replace(equispaced, ordering=ShortPath())
    recommended = CodedScheme.recommended(num_data, num_workers)
    return {
        BASELINE: bacc,
        "LeTCC": tuned,
        "LeTCC, lambda = 0": interpolating,
        UNDEFINED: CodedScheme.lagrange(num_data, num_workers, degree=1),
        "BACC, short path": replace(bacc, ordering=ShortPath()),
        "LeTCC, short path": replace(interpolating, ordering=ShortPath()),
        "LeTCC, equispaced": equispaced,
        "LeTCC, equispaced, short path": along,
        "SobolevRidge, equispaced, short path": replace(along, decoder=recommended.decoder),
        "the same, chosen from the outputs": replace(along, decoder=SobolevRidge("likelihood", "likelihood")),
        OURS: recommended,
    }


def tune(subject: Subject, setting: Setting, trials: int, jobs: int, out: Path) -> tuple[float, float]:
    """Choose LeTCC's smoothing on images of the training split.

    Parameters
    ----------
    subject : Subject
    setting : Setting
    trials : int
    jobs : int
    out : Path
        Folder of the results.

    Returns
    -------
    lambda_e, lambda_d : float
        The least mean RMSE, on a logarithmic grid down to 0.
    """
    cases = smoothing_cases(setting)
    tried = run_campaign(replace(subject, train=True), cases, trials, jobs, out / "trials")
    best = tried.groupby("scheme", sort=False)["rmse"].mean().idxmin()
    chosen = {case.name: case.scheme for case in cases}[best]
    return float(chosen.encoder.smoothing), float(chosen.decoder.smoothing)  # type: ignore[attr-defined]


def smoothing_cases(setting: Setting) -> list[Case]:
    """LeTCC over the grid of lambda_e and lambda_d.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    list of Case
    """
    k, n, s = setting.num_data, setting.num_workers, setting.num_stragglers
    return [
        Case(f"{e:g}, {d:g}", CodedScheme.letcc(k, n, encoder_smoothing=e, decoder_smoothing=d), s)
        for e in SMOOTHINGS
        for d in SMOOTHINGS
    ]


def measure_table(
    subjects: Sequence[Subject], trials: int, jobs: int, out: Path, output: Console, *, quick: bool = False
) -> list[dict[str, Any]]:
    """Run the table, print it, and write networks.parquet (trials) and table1.json (means).

    Parameters
    ----------
    subjects : sequence of Subject
    trials : int
    jobs : int
        Worker processes.
    out : Path
        Folder of the results; finished trials are kept under trials/.
    output : rich.console.Console
    quick : bool
        For the record: that so few trials were asked for.

    Returns
    -------
    list of dict
        Rows of table1.json.
    """
    rows, tables, described = [], [], []
    for subject in subjects:
        setting, metadata = SETTINGS[subject.network], loaded(subject)[2]
        smoothings = tune(subject, setting, min(TUNING_TRIALS, trials), jobs, out)
        cases = [
            Case(name, scheme, setting.num_stragglers)
            for name, scheme in schemes(setting.num_data, setting.num_workers, smoothings).items()
        ]
        table = run_campaign(subject, cases, trials, jobs, out / "trials")
        table.insert(0, "dataset", subject.dataset)
        table.insert(0, "network", subject.network)
        tables.append(table)
        described.append(metadata | {"lambda_e": smoothings[0], "lambda_d": smoothings[1]})
        summary = summarise(table, BASELINE)
        print_summary(subject, setting, smoothings, summary, output)
        rows += _rows(subject, setting, smoothings, summary)
    seeds = {subject.seed for subject in subjects}
    spec = {"program": "table1", "networks": described, "trials": trials, "quick": quick}
    origin = provenance(spec, seeds.pop())
    write_table(out / "networks.parquet", pd.concat(tables, ignore_index=True), origin)
    write_rows(out / "table1.json", rows, origin)
    return rows


def _rows(
    subject: Subject, setting: Setting, smoothings: tuple[float, float], summary: pd.DataFrame
) -> list[dict[str, Any]]:
    rows = []
    for name in summary["scheme"].unique():
        of = summary[summary["scheme"] == name].set_index("metric")
        rmse, relative = of.loc["rmse"], of.loc["relative_accuracy"]
        paper = PAPER.get((subject.network, subject.dataset, name))
        rows.append(
            {
                "network": subject.network,
                "dataset": subject.dataset,
                "num_workers": setting.num_workers,
                "num_data": setting.num_data,
                "num_stragglers": setting.num_stragglers,
                "scheme": name,
                "rmse_mean": rmse["mean"],
                "rmse_std": rmse["std"],
                "relacc_mean": relative["mean"],
                "relacc_std": relative["std"],
                "label_accuracy_mean": of.loc["label_accuracy", "mean"],
                "trials": int(rmse["trials"]),
                "failed": int(rmse["failed"]),
                "paper_rmse": paper and paper[0],
                "paper_relacc": paper and paper[2],
                "rmse_difference": rmse["difference"],
                "rmse_difference_low": rmse["difference_low"],
                "rmse_difference_high": rmse["difference_high"],
                "lambda_e": smoothings[0] if name == "LeTCC" else None,
                "lambda_d": smoothings[1] if name == "LeTCC" else None,
            }
        )
    return rows


def print_summary(
    subject: Subject, setting: Setting, smoothings: tuple[float, float], summary: pd.DataFrame, output: Console
) -> None:
    """Print one network's rows.

    Parameters
    ----------
    subject : Subject
    setting : Setting
    smoothings : tuple of float
    summary : DataFrame
        From `convergence.networks.trials.summarise`.
    output : rich.console.Console
    """
    sizes = f"({setting.num_workers}, {setting.num_data}, {setting.num_stragglers})"
    table = Table(
        title=f"{subject.network} on {subject.dataset}, (N, K, S) = {sizes}, {summary['trials'].max()} paired trials; "
        f"LeTCC tuned on training images: lambda_e = {smoothings[0]:g}, lambda_d = {smoothings[1]:g}",
        box=SIMPLE_HEAD,
    )
    for column in (
        "scheme",
        "RMSE",
        "minus BACC, 95 %",
        "change",
        "relative accuracy",
        "accuracy",
        "paper: RMSE, rel.",
    ):
        table.add_column(column, justify="left" if column == "scheme" else "right")
    base = summary.query("scheme == @BASELINE and metric == 'rmse'")["mean"].iloc[0]
    for name in summary["scheme"].unique():
        of = summary[summary["scheme"] == name].set_index("metric")
        rmse, relative = of.loc["rmse"], of.loc["relative_accuracy"]
        paper = PAPER.get((subject.network, subject.dataset, name))
        failed = f" ({rmse['failed']} failed)" if rmse["failed"] else ""
        table.add_row(
            name + failed,
            f"{rmse['mean']:.2f} ± {rmse['std']:.2f}",
            "-" if name == BASELINE else f"{rmse['difference_low']:+.2f} .. {rmse['difference_high']:+.2f}",
            "-" if name == BASELINE else f"{rmse['mean'] / base - 1:+.0%}",
            f"{relative['mean']:.3f} ± {relative['std']:.3f}",
            f"{of.loc['label_accuracy', 'mean']:.3f}",
            f"{paper[0]:.2f} ± {paper[1]:.2f}, {paper[2]:.2f}" if paper else "-",
        )
    output.print(table)


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The verdict on the claim that LeTCC's RMSE is below BACC's.

    Parameters
    ----------
    rows : list of dict
        Of `measure_table`.

    Returns
    -------
    dict
        See `theory.certification.claim_row`: every network must bear it out.
    """
    evidence, verdicts = {}, []
    for row in rows:
        if row["scheme"] == "LeTCC":
            low, high = row["rmse_difference_low"], row["rmse_difference_high"]
            name = f"{row['network']}/{row['dataset']}, RMSE - BACC's"
            evidence[name] = {"value": row["rmse_difference"], "low": low, "high": high}
            verdicts.append(Verdict.HOLDS if high < 0 else Verdict.REFUTED if low > 0 else Verdict.INCONCLUSIVE)
    return claim_row(CLAIM, weakest(verdicts), measured=evidence)
