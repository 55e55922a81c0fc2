"""Errors of the zoo, measured: the real encode, compute, lose, decode pipeline; and what they say of the claims."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convergence.problems import Array, zoo
from letcc import CodedScheme
from letcc.nodes import IndexArray
from letcc.stragglers import AtMost, ConsecutiveBlock
from theory.cells import run_cells
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import CURVES, Scope, WorstBlocks
from theory.evidence.fits import fit_sweep
from theory.store import provenance, write_table

YARDSTICK = "edge"  # smoother functions converge faster than any claim, so that they verify none
LOST = "N, S = 3"  # a sweep of the zoo alone: N is doubled while some are lost, a block or at random
RANDOM_SETS, QUICK_SETS = 200, 20
NOISE_DRAWS = 4800  # for one received set, divisible by every number of outputs; shared out where there are hundreds
SHARE = 25
SCOPE, QUICK_SCOPE = Scope(max_n=2048), Scope(max_n=512, quick=True)
MOST_WORKERS = 1024  # where some are lost, each block is decoded from
DEGREE = 2  # for which Lagrange is built: it meets the polynomial maps of this degree only
SETUP = ["scheme", "smoothing", "noise"]

Setup = tuple[str, str, float]  # in the order of the columns


def setup_of(claim: Claim) -> Setup:
    """Where the cells of a claim stand in the table.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    scheme : str
        Its constructor's name.
    smoothing : str
        The formula of lambda_d.
    noise : float
        Standard deviation.
    """
    return claim.method, claim.smoothing.formula, claim.noise_std


# whatever a claim is about, and what is to be seen beside it
SETUPS: dict[Setup, Callable[[int, int], CodedScheme]] = {
    setup_of(claim): claim.scheme for claim in CLAIMS if isinstance(claim.evidence, WorstBlocks)
} | {
    ("bacc", "0", 0.1): CodedScheme.bacc,
    ("lagrange", "0", 0.0): partial(CodedScheme.lagrange, degree=DEGREE),
    ("lagrange", "0", 0.1): partial(CodedScheme.lagrange, degree=DEGREE),
}


@dataclass(frozen=True)
class Cell:
    """One measurement of every problem."""

    scheme: str
    smoothing: str
    noise: float
    model: str  # of stragglers: "consecutive" takes the worst block, "random" the mean over sets
    sweep: str
    num_workers: int
    num_data: int
    stragglers: int
    seed: int
    sets: int = RANDOM_SETS

    @property
    def setup(self) -> Setup:
        """The key of `SETUPS`."""
        return self.scheme, self.smoothing, self.noise


# threads of BLAS split sums, so that the last bit would depend on where a cell runs
def measure(cell: Cell) -> list[dict[str, Any]]:
    """Run one cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    list of dict
        For each problem the cell with `error`, the mean squared error at the worst data point: its largest value over
        consecutive blocks, or its mean over random received sets; with noise, in expectation over the draws. And
        `uncertainty`, its relative standard error: NaN where nothing is random.
    """
    scheme = SETUPS[cell.setup](cell.num_data, cell.num_workers)
    drawn = zoo(scheme.data_points).values()
    problems = [problem for problem in drawn if cell.scheme != "lagrange" or problem.degree == DEGREE]
    # the seed leaves the scheme out, so that all schemes meet the same straggler sets and the same noise
    root = np.random.SeedSequence([cell.seed, cell.num_workers, cell.num_data, cell.stragglers])
    for_noise, for_sets = map(np.random.default_rng, root.spawn(2))
    draws = (NOISE_DRAWS // SHARE if cell.stragglers else NOISE_DRAWS) if cell.noise else 0
    noise = cell.noise * for_noise.standard_normal((cell.num_workers, draws))
    inputs = [problem.inputs(scheme.data_points) for problem in problems]
    exact = [
        problem.function(scheme.encode(x)).reshape(cell.num_workers, -1)
        for problem, x in zip(problems, inputs, strict=True)
    ]
    truth = [problem.function(x).reshape(cell.num_data, -1) for problem, x in zip(problems, inputs, strict=True)]
    # decoding is linear: what it makes of the noise is the same for every problem, and is computed once
    outputs = np.concatenate([*exact, noise], axis=1)
    ends = np.cumsum([values.shape[1] for values in exact])
    errors, deviations = [], []
    for received in _received_sets(cell, for_sets):
        *decoded, decoded_noise = np.split(scheme.decode(outputs[received], received), ends, axis=1)
        found = [_squared(part - values, decoded_noise) for part, values in zip(decoded, truth, strict=True)]
        errors.append([error for error, _ in found])
        deviations.append([deviation for _, deviation in found])
    over_sets = _worst_set if cell.model == "consecutive" else _mean_over_sets
    by_problem = (np.moveaxis(np.array(values), 1, 0) for values in (errors, deviations))
    rows = []
    for problem, *sampled in zip(problems, *by_problem, strict=True):
        error, deviation = over_sets(*sampled)
        uncertainty = deviation / error if cell.noise or cell.model == "random" else np.nan
        rows.append({"problem": problem.name} | asdict(cell) | {"error": error, "uncertainty": uncertainty})
    return rows


def _received_sets(cell: Cell, rng: np.random.Generator) -> Iterable[IndexArray]:
    if cell.model == "consecutive":
        return ConsecutiveBlock(cell.stragglers).all(cell.num_workers)
    model = AtMost(cell.stragglers)
    return (model.sample(cell.num_workers, rng) for _ in range(cell.sets))


def _squared(off: Array, noise: Array) -> tuple[Array, Array]:
    """Squared errors (K,), averaged over outputs and draws, and their standard errors.

    Parameters
    ----------
    off : ndarray, shape (K, m)
        Errors without noise.
    noise : ndarray, shape (K, draws)
        What the decoder makes of one output's noise; m of them are one draw of all outputs.
    """
    if not noise.size:
        return (off**2).mean(axis=1), np.zeros(len(off))
    by_draw = ((off[:, None] + noise.reshape(len(off), -1, off.shape[1])) ** 2).mean(axis=2)
    return by_draw.mean(axis=1), by_draw.std(axis=1, ddof=1) / np.sqrt(by_draw.shape[1])


def _worst_set(errors: Array, deviations: Array) -> tuple[float, float]:
    """Of errors (sets, K): the largest, and its standard error."""
    worst = np.unravel_index(np.argmax(errors), errors.shape)
    return float(errors[worst]), float(deviations[worst])


def _mean_over_sets(errors: Array, deviations: Array) -> tuple[float, float]:
    """Of errors (sets, K): the largest mean over sets, and its standard error; all sets meet the same noise."""
    mean = errors.mean(axis=0)
    k = int(np.argmax(mean))
    of_sets = errors[:, k].std(ddof=1) / np.sqrt(len(errors))
    return float(mean[k]), float(np.hypot(of_sets, deviations[:, k].mean()))


def _cells(claims: list[Claim], seed: int, scope: Scope = SCOPE) -> list[Cell]:
    cells, sets = [], QUICK_SETS if scope.quick else RANDOM_SETS
    for setup in SETUPS:
        sweeps: dict[str, list[tuple[int, int, int]]] = {}
        # what a claim is judged on takes the place of what is measured for everyone
        for points in (_standard(setup, scope), *(_claimed(c, scope) for c in claims if setup_of(c) == setup)):
            sweeps |= points
        cells += [
            Cell(*setup, model, sweep, *sizes, seed, sets)
            for sweep, points in sweeps.items()
            for sizes in points
            for model in ("consecutive", "random")
            if model == "consecutive" or sizes[-1]  # nothing is random where nobody is lost
        ]
    return cells


def _standard(setup: Setup, scope: Scope) -> dict[str, list[tuple[int, int, int]]]:
    """(N, K, S) by sweep of any setup: Lagrange, exact or not at all, has nothing to show as S grows."""
    reference = BY_ID["letcc-noiseless"]
    found = _claimed(reference, scope)
    if setup[0] == "lagrange" or scope.quick:  # which leaves the rest to the claims
        return {"N": found["N"]}
    lost = [(n, k, 3) for n, k, _ in found["N"] if 2 * n <= MOST_WORKERS]
    return {"N": found["N"], LOST: lost, "S": found["S"]}


def _claimed(claim: Claim, scope: Scope) -> dict[str, list[tuple[int, int, int]]]:
    assert claim.evidence is not None
    sweeps: dict[str, list[tuple[int, int, int]]] = {}
    if not claim.shares:
        for point in claim.evidence.cells(claim, scope):
            measured = point.sweep in ("N", "S", *CURVES) and (
                not point.stragglers or point.num_workers <= MOST_WORKERS
            )
            if measured:
                sweeps.setdefault(point.sweep, []).append((point.num_workers, point.num_data, point.stragglers))
    return sweeps


def measure_rates(seed: int, jobs: int, out: Path, *, quick: bool = False) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Measure the zoo, and write measured.parquet (errors) and slopes.parquet (exponents).

    Parameters
    ----------
    seed : int
    jobs : int
        Worker processes.
    out : Path
        Folder of the results.
    quick : bool
        On a smaller grid, with fewer received sets.

    Returns
    -------
    rows : list of dict
        One for each claim on a rate, see `theory.certification.claim_row`: judged on the yardstick problem with the
        worst consecutive block.
    slopes : DataFrame
    """
    claims = [claim for claim in CLAIMS if isinstance(claim.evidence, WorstBlocks)]
    cells = _cells(claims, seed, QUICK_SCOPE if quick else SCOPE)
    table = pd.DataFrame([row for rows in run_cells(measure, cells, jobs, "measuring") for row in rows])
    spec = {"program": "convergence", "draws": NOISE_DRAWS, "sets": cells[0].sets, "quick": quick}
    origin = provenance(spec, seed)
    slopes = _slopes(table)
    write_table(out / "measured.parquet", table, origin)
    write_table(out / "slopes.parquet", slopes, origin)
    return [_row(claim, table) for claim in claims], slopes


def _slopes(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["problem", *SETUP, "model", "sweep"]
    rows = []
    for key, cells in table.groupby(keys, sort=False):
        fitted = fit_sweep(_plain(cells), key[-1])
        first, last = fitted.window or (np.nan, np.nan)
        found = {"exponent": fitted.value, "low": fitted.low, "high": fitted.high, "first": first, "last": last}
        rows.append(dict(zip(keys, key, strict=True)) | found)
    return pd.DataFrame(rows)


def _plain(cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as the fits take them: without an uncertainty where there is none."""
    exact = cells.uncertainty.isna().all()
    return (cells.drop(columns="uncertainty") if exact else cells).to_dict("records")


def _row(claim: Claim, table: pd.DataFrame) -> dict[str, Any]:
    assert claim.evidence is not None
    setup = dict(zip(SETUP, setup_of(claim), strict=True)) | {"problem": YARDSTICK, "model": "consecutive"}
    cells = table[(table[list(setup)] == pd.Series(setup)).all(axis=1) & (table.sweep != LOST)]
    # sweep by sweep, since only some have an uncertainty
    rows = [row for _, sweep in cells.groupby("sweep", sort=False) for row in _plain(sweep)]
    verdict, exponents = claim.evidence.judge(claim, rows)
    return claim_row(claim, verdict, measured=exponents)
