"""The paper's table on a trained network: BACC against LeTCC on the same images and the same stragglers."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from convergence.networks.images import load_images
from convergence.networks.registry import find
from convergence.networks.trained import trained
from convergence.networks.trials import run_trials, summarise
from letcc import CodedScheme
from letcc.rates import Verdict
from theory.certification import claim_row
from theory.claims import BY_ID
from theory.store import provenance, write_table

CLAIM = BY_ID["table-1"]
WORKERS, DATA, STRAGGLERS = 100, 20, 60
TRIALS = 100


def measure_network(data_root: Path | None, seed: int, out: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Train or load LeNet5, run the trials, and write networks.parquet.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies; None for scikit-learn's digits.
    seed : int
    out : Path
        Folder of the results.

    Returns
    -------
    row : dict
        The verdict on the claim, see `theory.certification.claim_row`.
    summary : DataFrame
        Means, deviations and paired differences to BACC, see `convergence.networks.trials.summarise`.
    """
    dataset = dataset_of(data_root)
    test_images = load_images(dataset, data_root, train=False)
    asked = find("lenet5", dataset)
    asked.check(test_images)
    network, metadata = trained(asked, seed, data_root, say=_say)
    schemes = {"BACC": CodedScheme.bacc(DATA, WORKERS), "LeTCC": CodedScheme.letcc(DATA, WORKERS)}
    trials = run_trials(network, test_images, schemes, STRAGGLERS, TRIALS, seed)
    spec = {
        "program": "convergence",
        "network": metadata,
        "N": WORKERS,
        "K": DATA,
        "S": STRAGGLERS,
        "trials": TRIALS,
    }
    write_table(out / "networks.parquet", trials, provenance(spec, seed))
    summary = summarise(trials, baseline="BACC")
    summary.insert(0, "network", f"LeNet5 / {metadata['dataset']}")
    return _row(summary), summary


def dataset_of(data_root: Path | None) -> str:
    """What the network is measured on.

    Parameters
    ----------
    data_root : Path or None
        Where MNIST lies.

    Returns
    -------
    str
        Of `convergence.networks.images.DATASETS`.
    """
    return "digits" if data_root is None else "mnist"


def _row(summary: pd.DataFrame) -> dict[str, Any]:
    found = summary.query("scheme == 'LeTCC' and metric == 'rmse'").iloc[0]
    low, high = found["difference_low"], found["difference_high"]
    verdict = Verdict.HOLDS if high < 0 else Verdict.REFUTED if low > 0 else Verdict.INCONCLUSIVE
    interval = {"value": found["difference"], "low": low, "high": high}
    return claim_row(CLAIM, verdict, measured={"RMSE - BACC's": interval})


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
