"""Paired trials: every scheme decodes the same images from the same received workers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy import stats

from letcc.exceptions import InvalidInput
from letcc.metrics import relative_accuracy, rmse
from letcc.stragglers import AtMost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from convergence.networks.images import Images
    from letcc import CodedScheme

METRICS = ["rmse", "relative_accuracy"]
CONFIDENCE = 0.95


def run_trials(
    network: torch.nn.Module,
    images: Images,
    schemes: Mapping[str, CodedScheme],
    num_stragglers: int,
    num_trials: int,
    seed: int,
) -> pd.DataFrame:
    """Encode, compute with the network, lose stragglers, decode; compare with the network on the data itself.

    A trial depends on `seed` and its own number only: not on how many there are, nor on the schemes.

    Parameters
    ----------
    network : torch.nn.Module
        From (n, 1, 28, 28) to logits (n, m). Run in evaluation mode, given back in the modes it came in.
    images : Images
        Where the K data points of a trial are drawn from, without repetition.
    schemes : mapping of str to CodedScheme
        All with the same K data points and N workers.
    num_stragglers : int
        S, how many workers are lost: a uniformly random set in each trial.
    num_trials, seed : int

    Returns
    -------
    DataFrame
        One row per trial and scheme: ``trial``, ``scheme``, ``rmse`` (over data points and logits, to the
        network on the images), ``relative_accuracy`` (share of data points whose arg max is the network's)
        and ``label_accuracy`` (share whose arg max is the label).

    Raises
    ------
    InvalidInput
        If the schemes differ in K or N, or K, S or the number of trials cannot be met.
    """
    num_data, num_workers = _common_size(schemes)
    stragglers = AtMost(num_stragglers)
    if len(images) < num_data:
        raise InvalidInput(
            f"{images.name} has {len(images)} images, fewer than the {num_data} data points of the schemes: "
            "pass more images or schemes with a smaller num_data"
        )
    if num_trials < 1:
        raise InvalidInput(f"num_trials must be at least 1, not {num_trials}")

    rows = []
    with _evaluation_mode(network), torch.inference_mode():
        for trial, trial_seed in enumerate(np.random.SeedSequence(seed).spawn(num_trials)):
            rng = np.random.default_rng(trial_seed)
            drawn = rng.choice(len(images), num_data, replace=False)
            received = stragglers.sample(num_workers, rng)
            pixels, labels = images.pixels[drawn], images.labels[drawn]
            truth = network(pixels)
            for name, scheme in schemes.items():
                decoded = scheme.decode(network(scheme.encode(pixels))[received], received=received)
                row = {"trial": trial, "scheme": name, "rmse": rmse(decoded, truth)}
                row["relative_accuracy"] = relative_accuracy(decoded, truth)
                row["label_accuracy"] = (decoded.argmax(dim=1) == labels).double().mean().item()
                rows.append(row)
    return pd.DataFrame(rows)


def summarise(trials: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Means over the trials, and paired differences to one of the schemes, with 95 % t intervals.

    Parameters
    ----------
    trials : DataFrame
        From `run_trials`.
    baseline : str
        The scheme to compare with.

    Returns
    -------
    DataFrame
        One row per scheme and metric (``rmse``, ``relative_accuracy``): ``scheme``, ``metric``, ``trials``
        (how many), ``std``, ``mean``, ``mean_low``, ``mean_high``, and ``difference`` (scheme minus baseline
        within each trial, on average), ``difference_low``, ``difference_high``.

    Raises
    ------
    InvalidInput
        If the baseline is not among the schemes, a scheme lacks a trial, or there are fewer than 2 trials.
    """
    names = trials["scheme"].unique()
    if baseline not in names:
        raise InvalidInput(f"baseline {baseline!r} is not among the schemes: {', '.join(map(repr, names))}")
    rows = []
    for metric in METRICS:
        paired = trials.pivot(index="trial", columns="scheme", values=metric)
        if len(paired) < 2:
            raise InvalidInput(f"an interval needs at least 2 trials, not {len(paired)}: run more")
        if paired.isna().any(axis=None):
            raise InvalidInput(f"not every scheme has a {metric} in every trial, so they cannot be paired")
        for name in names:
            row = {"scheme": name, "metric": metric, "trials": len(paired), "std": paired[name].std(ddof=1)}
            row |= _interval("mean", paired[name])
            row |= _interval("difference", paired[name] - paired[baseline])
            rows.append(row)
    return pd.DataFrame(rows)


def _interval(name: str, values: pd.Series) -> dict[str, float]:
    # scipy's t.interval gives NaN where all values are equal, as the baseline's differences to itself are
    mean = values.mean()
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.sem(ddof=1)
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def _common_size(schemes: Mapping[str, CodedScheme]) -> tuple[int, int]:
    sizes = {name: (scheme.num_data, scheme.num_workers) for name, scheme in schemes.items()}
    if len(set(sizes.values())) != 1:
        listed = ", ".join(f"{name} (K={k}, N={n})" for name, (k, n) in sizes.items()) or "none at all"
        raise InvalidInput(f"paired schemes must share their K data points and N workers, not {listed}")
    return next(iter(sizes.values()))


@contextmanager
def _evaluation_mode(network: torch.nn.Module) -> Iterator[None]:
    """Dropout and batch normalisation at rest; every submodule gets its own mode back."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
