"""Claims against measured errors: the real encode, compute, lose, decode pipeline on synthetic functions."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convergence.problems import Problem, zoo
from letcc import CodedScheme
from letcc.stragglers import AtMost, ConsecutiveBlock
from theory.cells import run_cells
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import CURVES, Scope, WorstBlocks
from theory.evidence.fits import fit_sweep
from theory.store import provenance, write_table

YARDSTICK = "edge"  # smoother functions converge faster than any claim, so that they verify none
RANDOM_SETS = 200
NOISE_DRAWS = 5000  # for one received set; shared out where there are hundreds
SCOPE = Scope(max_n=2048)
MOST_WORKERS = 1024  # where some are lost, each block is decoded from
PROBLEMS = ("smooth", "oscillating", "edge", "edge-between", "vector")


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    claim: str
    problem: str
    model: str  # of stragglers: "consecutive" takes the worst block, "random" the mean over sets
    sweep: str
    num_workers: int
    num_data: int
    stragglers: int
    seed: int


def measure(cell: Cell) -> dict[str, Any]:
    """Run one cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        The cell with `error`, the mean squared error at the worst data point: its largest value over consecutive
        blocks, or its mean over random received sets; with noise, in expectation over the draws.
    """
    claim = BY_ID[cell.claim]
    scheme = claim.scheme(cell.num_data, cell.num_workers)
    problem = zoo(scheme.data_points)[cell.problem]
    # the seed leaves the claim out, so that all schemes meet the same straggler sets and the same noise
    root = np.random.SeedSequence([cell.seed, cell.num_workers, cell.num_data, cell.stragglers])
    for_noise, for_sets = map(np.random.default_rng, root.spawn(2))
    draws = NOISE_DRAWS // 25 if cell.stragglers else NOISE_DRAWS
    outputs, truth = _outputs(scheme, problem, claim.noise_std, draws, for_noise)
    if cell.model == "consecutive":
        received_sets = ConsecutiveBlock(cell.stragglers).all(cell.num_workers)
    else:
        model = AtMost(cell.stragglers)
        received_sets = (model.sample(cell.num_workers, for_sets) for _ in range(RANDOM_SETS))
    squared = np.array([_squared_errors(scheme.decode(outputs[f], f), truth) for f in received_sets])
    over_sets = squared.max(axis=0) if cell.model == "consecutive" else squared.mean(axis=0)
    return asdict(cell) | {"error": float(over_sets.max())}


def _outputs(
    scheme: CodedScheme, problem: Problem, noise_std: float, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Coded outputs (N, m, draws) and the function on the data (K, m, 1)."""
    x = problem.inputs(scheme.data_points)
    exact = problem.function(scheme.encode(x)).reshape(scheme.num_workers, -1, 1)
    if noise_std:
        exact = exact + noise_std * rng.standard_normal((*exact.shape[:2], draws))
    return exact, problem.function(x).reshape(scheme.num_data, -1, 1)


def _squared_errors(decoded: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return ((decoded - truth) ** 2).mean(axis=(1, 2))


def _cells(claims: list[Claim], seed: int) -> list[Cell]:
    return [
        Cell(claim.id, problem, model, point.sweep, point.num_workers, point.num_data, point.stragglers, seed)
        for claim in claims
        if claim.evidence and not claim.shares
        for problem in PROBLEMS
        for model in ("consecutive", "random")
        for point in claim.evidence.cells(claim, SCOPE)
        if point.sweep in ("N", "S", *CURVES) and not (point.stragglers and point.num_workers > MOST_WORKERS)
        if model == "consecutive" or point.stragglers  # nothing is random where nobody is lost
    ]


def measure_claims(seed: int, jobs: int, out: Path) -> list[dict[str, Any]]:
    """Measure every claim on a rate, and write measured.parquet (errors) and slopes.parquet (exponents).

    Parameters
    ----------
    seed : int
    jobs : int
        Worker processes.
    out : Path
        Folder of the results.

    Returns
    -------
    list of dict
        One row for each claim, see `theory.certification.claim_row`: judged on the yardstick problem with the worst
        consecutive block.
    """
    claims = [claim for claim in CLAIMS if isinstance(claim.evidence, WorstBlocks)]
    table = pd.DataFrame(run_cells(measure, _cells(claims, seed), jobs, "measuring"))
    origin = provenance(
        {"program": "convergence", "problems": PROBLEMS, "draws": NOISE_DRAWS, "sets": RANDOM_SETS}, seed
    )
    write_table(out / "measured.parquet", table, origin)
    write_table(out / "slopes.parquet", _slopes(table), origin)
    return [_row(claim, table) for claim in claims]


def _slopes(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["claim", "problem", "model", "sweep"]
    rows = []
    for key, cells in table.groupby(keys, sort=False):
        fitted = fit_sweep(cells.to_dict("records"), key[-1])
        rows.append(
            dict(zip(keys, key, strict=True)) | {"exponent": fitted.value, "low": fitted.low, "high": fitted.high}
        )
    return pd.DataFrame(rows)


def _row(claim: Claim, table: pd.DataFrame) -> dict[str, Any]:
    assert claim.evidence is not None
    cells = table.query("claim == @claim.examined_as and problem == @YARDSTICK and model == 'consecutive'")
    verdict, exponents = claim.evidence.judge(claim, cells.to_dict("records"))
    return claim_row(claim, verdict, measured=exponents)
