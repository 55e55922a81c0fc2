"""The main job: certify, measure, join, print, draw."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from convergence.corruption import measure_corruption
from convergence.encoding import measure_loss_split, measure_training_error
from convergence.measurement import measure_rates
from convergence.networks.campaign import Subject
from convergence.networks.images import load_images
from convergence.polynomials import measure_polynomials
from convergence.table1 import TRIALS, judge, measure_table
from convergence.tables import print_polynomials, print_zoo
from letcc.rates import Verdict
from theory.certification import certify_all, claim_row
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import Scope
from theory.report import console, exit_status, print_verdicts
from theory.store import provenance, write_rows


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
    subject = Subject("lenet5", dataset_of(data_root), data_root, seed)
    table = judge(measure_table([subject], TRIALS, jobs, out, output))
    rows = [*rates, *measure_loss_split(seed), measure_training_error(), measure_corruption(), threshold, table]
    rows.sort(key=lambda row: list(BY_ID).index(row["claim"]))
    write_rows(out / "measured.json", rows, provenance({"program": "convergence"} | images, seed))
    print_zoo(slopes, output)
    print_polynomials(polynomials, output)
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
    output.print(f"Results are in {out.resolve()}", soft_wrap=True)
    # a program of its own, since figures only ever reads results; the last line that it prints is the report's path
    drawn = subprocess.run([sys.executable, "-m", "figures", "--out", str(out)], check=False).returncode
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
