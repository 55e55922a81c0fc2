"""Many trials on one network: through worker processes, resumable, each finished trial kept at once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from convergence.networks.images import Images, load_images
from convergence.networks.registry import find
from convergence.networks.trained import trained
from convergence.networks.trials import Case, run_trial
from theory.cells import run_cells
from theory.journal import code

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import torch


@dataclass(frozen=True)
class Subject:
    """A trained network and the images it is tried on.

    Attributes
    ----------
    network, dataset : str
        Of `convergence.networks.registry.NETWORKS`.
    data_root : Path or None
    seed : int
        Of the trials; weights are those of seed 0, which are committed.
    train : bool
        Whether the images are those of training: for tuning. Of a network that was trained elsewhere, every other test
        image.
    """

    network: str
    dataset: str
    data_root: Path | None
    seed: int
    train: bool = False


@dataclass(frozen=True)
class _Trial:
    subject: Subject
    cases: tuple[Case, ...]
    number: int


def run_campaign(subject: Subject, cases: Sequence[Case], trials: int, jobs: int, folder: Path) -> pd.DataFrame:
    """Run paired trials; those that an earlier run has finished are not repeated.

    Parameters
    ----------
    subject : Subject
    cases : sequence of Case
    trials : int
    jobs : int
        Worker processes.
    folder : Path
        Where finished trials are kept, one line each.

    Returns
    -------
    DataFrame
        Rows of `convergence.networks.trials.run_trial`, in the order of the trials.
    """
    _, images, identity = loaded(subject)  # missing images, or a network to be trained, before any work
    spec = [code(), identity, images.checksum(), subject.seed, [repr(case) for case in cases], _points(cases)]
    key = hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()[:16]
    path = folder / f"{subject.network}-{subject.dataset}-{key}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = _finished(path)
    missing = [_Trial(subject, tuple(cases), number) for number in range(trials) if number not in done]
    if missing:
        with path.open("a", encoding="utf-8") as kept:

            def keep(trial: _Trial, rows: list[dict[str, Any]]) -> None:
                kept.write(json.dumps([trial.number, rows]) + "\n")
                kept.flush()
                done[trial.number] = rows

            run_cells(_run, missing, jobs, f"{subject.network} on {subject.dataset}", finished=keep)
    # as read back, whether they were just computed or not
    return pd.DataFrame([row for number in range(trials) for row in json.loads(json.dumps(done[number]))])


@lru_cache(maxsize=2)
def loaded(subject: Subject) -> tuple[torch.nn.Module, Images, dict[str, Any]]:
    """The network, the images and what identifies the weights, once in each process.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    network : torch.nn.Module
    images : Images
    metadata : dict
    """
    network = find(subject.network, subject.dataset)
    if network.recipe is None:  # trained elsewhere, with images that are not here: every other one is for tuning
        every, part = load_images(subject.dataset, subject.data_root, train=False), slice(not subject.train, None, 2)
        images = Images(every.name, every.pixels[part], every.labels[part])
    else:
        images = load_images(subject.dataset, subject.data_root, train=subject.train)
    network.check(images)
    module, metadata = trained(network, 0, subject.data_root)
    return module, images, metadata


def _run(trial: _Trial) -> list[dict[str, Any]]:
    network, images, _ = loaded(trial.subject)
    return run_trial(network, images, trial.cases, trial.subject.seed, trial.number)


def _points(cases: Sequence[Case]) -> str:
    digest = hashlib.sha256()
    for case in cases:
        digest.update(case.scheme.data_points.tobytes() + case.scheme.worker_points.tobytes())
    return digest.hexdigest()


def _finished(path: Path) -> dict[int, list[dict[str, Any]]]:
    if not path.exists():
        return {}
    done = {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        try:
            number, rows = json.loads(line)
        except (TypeError, ValueError):
            continue  # cut short when the run was killed: that trial is run again
        done[number] = rows
    if lines and not path.read_bytes().endswith(b"\n"):
        with path.open("a", encoding="utf-8") as kept:
            kept.write("\n")
    return done
