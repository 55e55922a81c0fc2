"""What building and applying a decoder costs, by counting numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from letcc.rates import Verdict
from letcc.smoothers import SmoothingSpline
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope, doubling
from theory.evidence.fits import describe, fit_sweep, weakest

if TYPE_CHECKING:
    from theory.claims import Claim


@final
@dataclass(frozen=True)
class DecodeCost(AbstractEvidence):
    """Numbers in the factored banded system, and in the matrix that is applied; time is for benchmarks.

    Attributes
    ----------
    first_workers, num_data : int
        Where N starts, and K.
    """

    first_workers: int = 64
    num_data: int = 8

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, sweep, n, self.num_data)
            for sweep in ("building", "applying")
            for n in doubling(self.first_workers, scope.max_n)
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The numbers written; see `AbstractEvidence.examine`."""
        scheme = claim.scheme(cell.num_data, cell.num_workers)
        if cell.sweep == "applying":
            return {"error": float(scheme.decoding_matrix().size)}
        assert isinstance(scheme.decoder, SmoothingSpline)
        return {"error": float(scheme.decoder.stored(scheme.worker_points))}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        fits = {sweep: fit_sweep(table, sweep) for sweep in ("building", "applying")}
        evidence: dict[str, Any] = {f"|F|, {sweep}": describe(fit) for sweep, fit in fits.items()}
        return weakest(fit.judge(float(claim.exponents["|F|"])) for fit in fits.values()), evidence
