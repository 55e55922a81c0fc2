"""Workers lost independently: the supremum of the error over the interval, where the logarithms show."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme, certify
from letcc.certificates import Ball
from letcc.nodes import FloatArray
from letcc.rates import Verdict
from letcc.stragglers import Bernoulli
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope, doubling
from theory.evidence.fits import describe, fit_sweep

if TYPE_CHECKING:
    from theory.claims import Claim

_QUANTILES = (0.5, 0.9, 0.99)
_WIDEST_GAPS = 16  # between which the supremum is looked for: the error grows with the gap
_IN_A_GAP = 5


@final
@dataclass(frozen=True)
class IndependentLosses(AbstractEvidence):
    """The worst squared error at any point of the interval, in expectation over received sets.

    At K fixed data points no logarithm shows: the longest run of lost workers is elsewhere.

    Attributes
    ----------
    probability : float
        p, with which each worker is lost.
    sets : int
        Received sets sampled for each N, the same for every claim.
    first_workers : int
        Where N starts.
    """

    probability: float = 0.2
    sets: int = 400
    first_workers: int = 64

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        workers = doubling(self.first_workers, scope.max_n)
        return [Cell(claim.id, "N", n, 8, parameter=self.probability, seed=scope.seed) for n in workers]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The mean over received sets, its standard error and band, and quantiles; see `AbstractEvidence.examine`."""
        scheme, losses = claim.scheme(cell.num_data, cell.num_workers), Bernoulli(cell.parameter)
        seeds = np.random.SeedSequence([cell.seed, cell.num_workers]).spawn(self.sets)
        received = (losses.sample(cell.num_workers, seed) for seed in seeds)
        errors = np.array([supremum(scheme, scheme.worker_points[f], claim.ball) for f in received])
        mean, deviation = float(errors.mean()), float(errors.std(ddof=1)) / np.sqrt(self.sets)
        quantiles = np.quantile(errors, _QUANTILES)
        return {
            "error": mean,
            "uncertainty": deviation / mean,
            "low": mean - 1.96 * deviation,
            "high": mean + 1.96 * deviation,
            "longest_run": longest_run_moment(cell.num_workers, cell.parameter, -int(claim.exponents["N"])),
        } | {f"quantile_{q}": float(value) for q, value in zip(_QUANTILES, quantiles, strict=True)}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        power = float(claim.exponents.get("log N", 0))
        free_of_logs = [row | {"error": row["error"] / np.log(row["num_workers"]) ** power} for row in table]
        by_run = [row | {"error": row["error"] / row["longest_run"]} for row in table]
        exponent = fit_sweep(free_of_logs, "N")
        name = f"N, after log^{power:.0f}" if power else "N"
        evidence = {
            name: describe(exponent),
            "N, raw": describe(fit_sweep(table, "N"), judged=False),
            "N, after the longest run": describe(fit_sweep(by_run, "N"), judged=False),
        }
        return exponent.judge(float(claim.exponents["N"])), evidence


def supremum(scheme: CodedScheme, nodes: FloatArray, ball: Ball) -> float:
    """The largest squared error over the ball at any point of [-1, 1].

    Parameters
    ----------
    scheme : CodedScheme
        Says by which smoothers.
    nodes : ndarray, shape (|F|,)
        Received worker points, ascending.
    ball : {"seminorm", "full"}

    Returns
    -------
    float
        Over a few points in each of the widest gaps, and both ends.
    """
    gaps = np.diff(nodes)
    widest = np.argsort(gaps)[-_WIDEST_GAPS:]
    within = (np.arange(_IN_A_GAP) + 0.5) / _IN_A_GAP
    inside = (nodes[widest, None] + gaps[widest, None] * within).ravel()
    targets = np.unique(np.concatenate([[-1.0, 1.0], inside]))
    there = CodedScheme(scheme.encoder, scheme.decoder, targets, nodes)
    return float(certify(there, ball=ball).squared_bias.max())


def longest_run_moment(num_workers: int, probability: float, power: int) -> float:
    """Expectation of (longest run of lost workers + 1)^power, exactly.

    Parameters
    ----------
    num_workers : int
        N.
    probability : float
        p, with which each is lost.
    power : int

    Returns
    -------
    float
    """
    moment, below = 0.0, 0.0
    for longest in range(num_workers + 1):
        # the first run longer than `longest` ends at a worker after `longest` + 1 lost ones that follow a received one
        run = probability ** (longest + 1)
        without = np.ones(num_workers + 1)
        for n in range(longest + 1, num_workers + 1):
            before = without[n - longest - 2] * (1 - probability) if n > longest + 1 else 1.0
            without[n] = without[n - 1] - run * before
        at_most = float(without[-1])
        moment += (at_most - below) * (longest + 1) ** power
        below = at_most
        if 1 - at_most < np.finfo(float).eps:
            break
    return moment
