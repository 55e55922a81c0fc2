"""Paired trials: every scheme decodes the same images from the same received workers."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from scipy import stats

from letcc.exceptions import IllConditionedWarning, InvalidInput, LetccError, NonFiniteValues
from letcc.metrics import relative_accuracy, rmse
from letcc.stragglers import AtMost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from convergence.networks.images import Images
    from letcc import CodedScheme

METRICS = ("rmse", "relative_accuracy", "label_accuracy")
CONFIDENCE = 0.95
_AT_ONCE = 64  # images that a network sees together


def _gaussian(outputs: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    noise = torch.from_numpy(rng.standard_normal(tuple(outputs.shape)).astype(np.float32))
    return outputs + 0.1 * outputs.std() * noise


def _int8(outputs: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    step = outputs.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(outputs.dtype).tiny) / 127
    return (outputs / step).round() * step


# what happens to the outputs on their way from the workers
TRANSMISSIONS: dict[str, Callable[[torch.Tensor, np.random.Generator], torch.Tensor]] = {
    "exact": lambda outputs, rng: outputs,
    "noise of 10 %": _gaussian,
    "float16": lambda outputs, rng: outputs.half().float(),
    "int8": _int8,
}


@dataclass(frozen=True)
class Case:
    """One way of computing a network on K images.

    Attributes
    ----------
    name : str
        Of the scheme.
    scheme : CodedScheme
        Fitted to the images of each trial where it is adaptive.
    stragglers : int
        S, how many workers are lost: a uniformly random set in each trial.
    transmission : str
        Of `TRANSMISSIONS`.

    Raises
    ------
    InvalidInput
        If there are fewer workers than data points, or too few are left to decode from.
    """

    name: str
    scheme: CodedScheme
    stragglers: int
    transmission: str = "exact"

    def __post_init__(self) -> None:
        workers, data = self.scheme.num_workers, self.scheme.num_data
        if workers < data:
            raise InvalidInput(f"{self.name}: {workers} workers are fewer than the {data} data points: use more")
        if self.stragglers < 0 or workers - self.stragglers < self.scheme.min_received:
            raise InvalidInput(
                f"{self.name}: {self.stragglers} of {workers} workers lost leave {workers - self.stragglers}, but "
                f"{self.scheme.min_received} are needed"
            )

    def columns(self) -> dict[str, Any]:
        """What tells this case from others in a table."""
        return {
            "scheme": self.name,
            "num_workers": self.scheme.num_workers,
            "num_data": self.scheme.num_data,
            "num_stragglers": self.stragglers,
            "transmission": self.transmission,
        }


COLUMNS = ("scheme", "num_workers", "num_data", "num_stragglers", "transmission")


def run_trial(
    network: torch.nn.Module, images: Images, cases: Sequence[Case], seed: int, trial: int
) -> list[dict[str, Any]]:
    """Encode, compute with the network, lose stragglers, decode; compare with the network on the images itself.

    The images of a trial depend on `seed` and `trial` only, the received workers also on N and S: not on the other
    cases, nor on how many trials there are.

    Parameters
    ----------
    network : torch.nn.Module
        From images to logits (n, m). Run in evaluation mode, given back in the modes it came in.
    images : Images
        Where the data points of a trial are drawn from, without repetition.
    cases : sequence of Case
    seed, trial : int

    Returns
    -------
    list of dict
        A row for each case: its columns, ``trial``, ``rmse`` (over data points and logits, to the network on the
        images), ``relative_accuracy`` (share of data points whose arg max is the network's), ``label_accuracy`` (whose
        arg max is the label), and ``failure``, None or why there are no numbers: the message names the workers.

    Raises
    ------
    InvalidInput
        If there are fewer images than data points.
    """
    most = max(case.scheme.num_data for case in cases)
    if len(images) < most:
        raise InvalidInput(
            f"{images.name} has {len(images)} images, fewer than the {most} data points of a scheme: pass more images "
            "or a scheme with a smaller num_data"
        )
    drawn = np.random.default_rng([seed, trial]).permutation(len(images))[:most]
    pixels, labels = images.pixels[drawn], images.labels[drawn]
    computed: dict[Any, torch.Tensor] = {}
    rows = []
    with evaluation_mode(network), torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # of Lagrange, whose row shows it
        truth = _in_batches(network, pixels)
        for case in cases:
            k, n = case.scheme.num_data, case.scheme.num_workers
            row = case.columns() | {"trial": trial} | dict.fromkeys(METRICS, np.nan) | {"failure": None}
            rng = np.random.default_rng([seed, trial, n, case.stragglers])
            received = AtMost(case.stragglers).sample(n, rng)
            try:
                scheme = case.scheme.fit(pixels[:k])
                coding = scheme.encoder, scheme.data_points.tobytes(), scheme.worker_points.tobytes()
                if coding not in computed:
                    computed[coding] = _in_batches(network, scheme.encode(pixels[:k]))
                sent = TRANSMISSIONS[case.transmission](computed[coding][received], rng)
                decoded = scheme.decode(sent, received)
            except NonFiniteValues as error:
                row["failure"] = str(error)
            else:
                row["rmse"] = rmse(decoded, truth[:k])
                row["relative_accuracy"] = relative_accuracy(decoded, truth[:k])
                row["label_accuracy"] = (decoded.argmax(dim=1) == labels[:k]).double().mean().item()
            rows.append(row)
    return rows


def _in_batches(network: torch.nn.Module, pixels: torch.Tensor) -> torch.Tensor:
    return torch.cat([network(batch) for batch in pixels.split(_AT_ONCE)])


def summarise(trials: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Means over the trials, and paired differences to one of the schemes, with 95 % t intervals.

    Parameters
    ----------
    trials : DataFrame
        Rows of `run_trial`.
    baseline : str
        The scheme to compare with, at the same N, K, S and transmission.

    Returns
    -------
    DataFrame
        One row for each case and metric: the case's columns, ``metric``, ``trials`` (how many have numbers),
        ``failed``, ``std``, ``mean``, ``mean_low``, ``mean_high``, and ``difference`` (scheme minus baseline within
        each trial, on average; NaN where there is no baseline), ``difference_low``, ``difference_high``.

    Raises
    ------
    LetccError
        If a case has fewer than two trials with numbers.
    """
    keys, rows = list(COLUMNS), []
    for sizes, group in trials.groupby(keys[1:], sort=False):
        for metric in METRICS:
            paired = group.pivot(index="trial", columns="scheme", values=metric)
            for name in group["scheme"].unique():
                values = paired[name].dropna()
                if len(values) < 2:
                    raise LetccError(f"{name} has numbers from {len(values)} trials, and an interval needs two")
                row = dict(zip(keys, (name, *sizes), strict=True)) | {"metric": metric, "trials": len(values)}
                row |= {"failed": len(paired) - len(values), "std": values.std(ddof=1)} | _interval("mean", values)
                to_baseline = paired[name] - paired[baseline] if baseline in paired else paired[name] * np.nan
                rows.append(row | _interval("difference", to_baseline.dropna()))
    return pd.DataFrame(rows)


def _interval(name: str, values: pd.Series) -> dict[str, float]:
    # scipy's t.interval gives NaN where all values are equal, as the baseline's differences to itself are
    if len(values) < 2:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
    mean = values.mean()
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.sem(ddof=1)
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


@contextmanager
def evaluation_mode(network: torch.nn.Module) -> Iterator[None]:
    """Dropout and batch normalisation at rest; every submodule gets its own mode back."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
