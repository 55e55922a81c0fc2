"""A printed bound with constants, held against the exact worst error at every point of a grid."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from letcc import certify
from letcc.exceptions import InvalidInput
from letcc.rates import Verdict
from letcc.stragglers import ConsecutiveBlock
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from theory.claims import Claim


@final
@dataclass(frozen=True)
class SupremumBound(AbstractEvidence):
    """A bound on the error of every function with |g''| <= 1 and |g'| <= 1, over every block of stragglers.

    Attributes
    ----------
    bound : callable
        From N and S to the bound; not squared.
    workers, stragglers : tuple of int
        The grid, of both parities of S, without those S that are N / 4 or more.
    num_data : int
        K.
    """

    bound: Callable[[int, int], float] = field(repr=False)
    workers: tuple[int, ...] = (32, 64, 128)
    stragglers: tuple[int, ...] = (0, 1, 2, 3, 4, 7, 8, 15, 16)
    num_data: int = 16

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        workers = [n for n in self.workers if n <= scope.max_n]
        if not workers:
            raise InvalidInput(f"max_n is {scope.max_n}: the grid of {claim.id} starts at {self.workers[0]}")
        return [Cell(claim.id, "NS", n, self.num_data, s) for n in workers for s in self.stragglers if s < n / 4]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The exact worst error, where the printed bound is one on it; see `AbstractEvidence.examine`."""
        scheme = claim.scheme(cell.num_data, cell.num_workers)
        sets = ConsecutiveBlock(cell.stragglers).all(cell.num_workers)
        errors = (certify(scheme, received, ball="full").bounded_curvature_error(1, 1).max() for received in sets)
        return {"error": float(max(errors)), "bound": self.bound(cell.num_workers, cell.stragglers)}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        ratios = [row["error"] / row["bound"] for row in table]
        verdict = Verdict.HOLDS if max(ratios) <= 1 else Verdict.REFUTED
        return verdict, {"largest exact/bound": max(ratios), "largest bound/exact": 1 / min(ratios)}
