"""Claims against exact certificates."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from letcc.exceptions import InvalidInput
from letcc.rates import Verdict
from theory.cells import run_cells
from theory.claims import BY_ID, CLAIMS, Claim
from theory.evidence import AbstractEvidence, Cell, Scope
from theory.evidence.attainment import extremal_curves
from theory.evidence.base import shortest
from theory.memory import check_memory
from theory.store import check_folder, provenance, write_rows, write_table


def examine(cell: Cell) -> dict[str, Any]:
    """The exact numbers of one cell.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        The cell's fields and its numbers.
    """
    claim = BY_ID[cell.claim]
    assert claim.evidence is not None
    return asdict(cell) | claim.evidence.examine(claim, cell)


def certify_claims(
    claims: tuple[Claim, ...], scope: Scope, jobs: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Examine claims exactly.

    Parameters
    ----------
    claims : tuple of Claim
    scope : Scope
    jobs : int
        Worker processes.

    Returns
    -------
    rows : list of dict
        One for each claim, see `claim_row`.
    table : list of dict
        One for each cell.

    Raises
    ------
    InvalidInput
        If the grids are too short for slopes, or the largest cells need more memory than there is.
    """
    examined = _examined(claims)
    _check(examined, scope, jobs)
    cells = [cell for claim, evidence in examined for cell in evidence.cells(claim, scope)]
    table = run_cells(examine, cells, jobs, "certifying")
    by_claim = {source.id: [row for row in table if row["claim"] == source.id] for source, _ in examined}
    rows = [_row(claim, by_claim.get(claim.examined_as, [])) for claim in claims]
    return rows, table


def _examined(claims: tuple[Claim, ...]) -> list[tuple[Claim, AbstractEvidence]]:
    """The claims whose cells are the evidence on these claims, each once."""
    sources = dict.fromkeys(claim.examined_as for claim in claims)
    return [(claim, claim.evidence) for claim in map(BY_ID.__getitem__, sources) if claim.evidence]


def _check(examined: list[tuple[Claim, AbstractEvidence]], scope: Scope, jobs: int) -> None:
    """Refuse what cannot be done, with one message for all claims, where `doubling` knows of one grid only."""
    first, claim = max(((getattr(e, "first_workers", 0), c.id) for c, e in examined), default=(0, ""))
    if scope.max_n < shortest(first):
        raise InvalidInput(
            f"max_n is {scope.max_n}: the slope of {claim} starts at N = {first} and needs {shortest(first)}"
        )
    check_memory(max((evidence.memory(claim, scope) for claim, evidence in examined), default=0), jobs)


def certify_all(scope: Scope, jobs: int, out: Path) -> list[dict[str, Any]]:
    """Certify the whole registry, and write certified.parquet, extremal.parquet and certified.json.

    Parameters
    ----------
    scope : Scope
    jobs : int
        Worker processes.
    out : Path
        Folder of the results.

    Returns
    -------
    list of dict
        One row for each claim, see `claim_row`.
    """
    _check(_examined(CLAIMS), scope, jobs)
    check_folder(out)  # which makes it, so that whatever else is wrong comes first
    rows, table = certify_claims(CLAIMS, scope, jobs)
    origin = provenance({"program": "theory"} | asdict(scope), scope.seed)
    write_table(out / "certified.parquet", pd.DataFrame(table), origin)
    write_table(out / "extremal.parquet", extremal_curves(), origin)
    write_rows(out / "certified.json", rows, origin)
    return rows


def _row(claim: Claim, table: list[dict[str, Any]]) -> dict[str, Any]:
    if claim.evidence is None:
        return claim_row(claim, Verdict.INCONCLUSIVE)
    verdict, evidence = claim.evidence.judge(claim, table)
    return claim_row(claim, verdict, certified=evidence)


def claim_row(
    claim: Claim,
    verdict: Verdict,
    certified: dict[str, Any] | None = None,
    measured: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One row of the verdicts.

    Parameters
    ----------
    claim : Claim
    verdict : Verdict
    certified, measured : dict, optional
        Evidence by name: exponents as from `theory.evidence.fits.describe`, numbers or texts.

    Returns
    -------
    dict
    """
    return {
        "claim": claim.id,
        "verdict": verdict,
        "expected": claim.expected,
        "control": claim.control,
        "statement": claim.statement,
        "source": claim.citation,
        "provenance_of_claim": claim.provenance,
        "superseded_by": claim.superseded_by or None,
        "quantity": claim.quantity,
        "stragglers": claim.stragglers,
        "smoothing": claim.smoothing.formula,
        "assumptions": [assumption.statement for assumption in claim.assumptions],
        "predicted": {name: float(exponent) for name, exponent in claim.exponents.items()},
        "certified": certified,
        "measured": measured,
    }
