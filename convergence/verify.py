"""The main job: certify, measure, join, print, draw."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from convergence.corruption import measure_corruption
from convergence.encoding import measure_loss_split, measure_training_error
from convergence.measurement import measure_rates
from convergence.networks.campaign import Subject
from convergence.networks.images import load_images
from convergence.polynomials import measure_polynomials
from convergence.table1 import QUICK_TRIALS, TRIALS, judge, measure_table
from convergence.tables import print_polynomials, print_zoo
from letcc.rates import Verdict
from theory.certification import certify_all, claim_row
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import QUICK, Scope
from theory.options import console
from theory.report import exit_status, print_verdicts
from theory.store import check_folder, provenance, write_rows


def dataset_of(data_root: Path | None) -> str:
    """What LeNet5 is measured on.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.

    Returns
    -------
    str
        Of `convergence.networks.images.DATASETS`.
    """
    return "digits" if data_root is None else "mnist"


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
    images: dict[str, str],
    data_root: Path | None,
    seed: int,
    jobs: int,
    out: Path,
    output: Console,
    *,
    quick: bool = False,
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
    quick : bool
        On smaller grids, with fewer trials.

    Returns
    -------
    list of dict
        One row for each measured claim, in the order of the registry.
    """
    check_folder(out)
    rates, slopes = measure_rates(seed, jobs, out, quick=quick)
    threshold, polynomials = measure_polynomials(seed, out)
    subject = Subject("lenet5", dataset_of(data_root), data_root, seed)
    trials, workers = (QUICK_TRIALS, 1) if quick else (TRIALS, jobs)
    table = judge(measure_table([subject], trials, workers, out, output, quick=quick))
    rows = [*rates, *measure_loss_split(seed), measure_training_error(), measure_corruption(), threshold, table]
    rows.sort(key=lambda row: list(BY_ID).index(row["claim"]))
    write_rows(out / "measured.json", rows, provenance({"program": "convergence", "quick": quick} | images, seed))
    print_zoo(slopes, output)
    print_polynomials(polynomials, output)
    return rows


def verify(data_root: Path | None, seed: int, jobs: int, out: Path, *, quick: bool = False, quiet: bool = False) -> int:
    """Run the main job.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.
    seed, jobs : int
    out : Path
        Folder of the results.
    quick : bool
        On smaller grids, with fewer trials.
    quiet : bool
        Print nothing on standard output.

    Returns
    -------
    int
        The exit status: 0 where all is as expected, 1 where not.
    """
    output = console(quiet=quiet)
    images = images_used(data_root)
    certified = certify_all(replace(QUICK if quick else Scope(), seed=seed), jobs, out)
    rows = join(certified, measure(images, data_root, seed, jobs, out, output, quick=quick))
    write_rows(out / "verdicts.json", rows, provenance({"program": "verify", "quick": quick} | images, seed))
    # a program of its own, since figures only ever reads results; it says what it drew, which would hide the table
    command = [sys.executable, "-m", "figures", "--out", str(out)]
    drawn = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    print_verdicts(rows, output, {"seed": seed, "quick": quick})
    output.print(f"Results are in {out.resolve()}, figures in its folder figures. To read:", soft_wrap=True)
    output.print(str(out.resolve() / "report" / "index.html"), soft_wrap=True)
    return exit_status(rows, partial=quick) or drawn


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
