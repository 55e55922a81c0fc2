"""The main job: certify, measure, join, print, draw."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from convergence.corruption import measure_corruption
from convergence.encoding import measure_loss_split, measure_training_error
from convergence.measurement import measure_rates
from convergence.networks.images import load_images
from convergence.polynomials import measure_polynomials
from convergence.table1 import DATA, STRAGGLERS, TRIALS, WORKERS, dataset_of, measure_network
from convergence.tables import print_polynomials, print_zoo
from letcc.rates import Verdict
from theory.certification import certify_all, claim_row
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import Scope
from theory.report import console, exit_status, print_verdicts
from theory.store import provenance, write_rows


def images_used(data_root: Path | None) -> dict[str, str]:
    """Name and checksum of the images that the network is measured on, for the results' provenance.

    Called before any work, since missing files are an error here.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.

    Returns
    -------
    dict
    """
    images = load_images(dataset_of(data_root), data_root, train=False)
    return {"images": images.name, "images_sha256": images.checksum()}


def measure(
    images: dict[str, str], data_root: Path | None, seed: int, jobs: int, out: Path, output: Console
) -> list[dict[str, Any]]:
    """Measure the zoo and the network, write measured.json and the tables, print them.

    Parameters
    ----------
    images : dict
        From `images_used`.
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.
    seed, jobs : int
    out : Path
        Folder of the results.
    output : rich.console.Console

    Returns
    -------
    list of dict
        One row for each measured claim, in the order of the registry.
    """
    rates, slopes = measure_rates(seed, jobs, out)
    threshold, polynomials = measure_polynomials(seed, out)
    network, summary = measure_network(data_root, seed, out)
    rows = [*rates, *measure_loss_split(seed), measure_training_error(), measure_corruption(), threshold, network]
    rows.sort(key=lambda row: list(BY_ID).index(row["claim"]))
    write_rows(out / "measured.json", rows, provenance({"program": "convergence"} | images, seed))
    print_zoo(slopes, output)
    print_polynomials(polynomials, output)
    _print_networks(summary, output)
    return rows


def verify(data_root: Path | None, seed: int, jobs: int, out: Path) -> int:
    """Run the main job.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.
    seed, jobs : int
    out : Path
        Folder of the results.

    Returns
    -------
    int
        The exit status: 0 where all is as expected, 1 where not.
    """
    output = console()
    images = images_used(data_root)
    certified = certify_all(Scope(seed=seed), jobs, out)
    rows = join(certified, measure(images, data_root, seed, jobs, out, output))
    write_rows(out / "verdicts.json", rows, provenance({"program": "verify"} | images, seed))
    print_verdicts(rows, output)
    # a program of its own, since figures only ever reads results
    drawn = subprocess.run([sys.executable, "-m", "figures", "--out", str(out)], check=False).returncode
    output.print(f"Results are in {out.resolve()}", soft_wrap=True)
    return exit_status(rows) or drawn


def join(certified: list[dict[str, Any]], measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One verdict for each claim from both kinds of evidence.

    Parameters
    ----------
    certified, measured : list of dict
        Rows, see `theory.certification.claim_row`.

    Returns
    -------
    list of dict
        In the order of the registry. The certificate decides where there is one, since it is exact over the whole
        ball; a measured refutation overrules it, since one function is enough.
    """
    exact = {row["claim"]: row for row in certified if row["certified"]}
    seen = {row["claim"]: row for row in measured}
    return [_joined(claim, exact.get(claim.id), seen.get(claim.id)) for claim in CLAIMS if claim.id in exact | seen]


def _joined(claim: Claim, exact: dict[str, Any] | None, seen: dict[str, Any] | None) -> dict[str, Any]:
    verdicts = [Verdict(row["verdict"]) for row in (exact, seen) if row]
    verdict = Verdict.REFUTED if Verdict.REFUTED in verdicts else verdicts[0]
    return claim_row(claim, verdict, exact and exact["certified"], seen and seen["measured"])


def _print_networks(summary: pd.DataFrame, output: Console) -> None:
    title = f"{TRIALS} paired trials, (N, K, S) = ({WORKERS}, {DATA}, {STRAGGLERS})"
    table = Table(title=title, box=SIMPLE_HEAD)
    for column in ("network", "metric", "scheme", "mean ± deviation", "95 % interval", "minus BACC, paired"):
        table.add_column(column)
    for row in summary.to_dict("records"):
        table.add_row(
            row["network"],
            row["metric"].replace("_", " "),
            row["scheme"],
            f"{row['mean']:.3f} ± {row['std']:.3f}",
            f"{row['mean_low']:.3f} .. {row['mean_high']:.3f}",
            "-"
            if row["scheme"] == "BACC"
            else f"{row['difference']:+.3f} ({row['difference_low']:+.3f} .. {row['difference_high']:+.3f})",
        )
    output.print(table)
