"""What every kind of evidence has in common: a grid of cells, a number for each, a verdict on them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from letcc.exceptions import InvalidInput
from letcc.rates import Verdict
from letcc.scheme import PointFamily

if TYPE_CHECKING:
    from theory.claims import Claim

Row = dict[str, Any]

_FEWEST = 4  # points of a slope
_COPIES = 16  # how many arrays of the size of a decoding matrix a certificate holds at its peak
_BATCH = 2**27  # bytes of the batches of received sets, however large the matrix


@dataclass(frozen=True)
class Scope:
    """How much is examined.

    Attributes
    ----------
    max_n : int
        Grids that double N go on to here.
    full : bool
        Every block of stragglers at every N, where else a rule picks some.
    seed : int
        Of what is sampled.
    quick : bool
        For the record: that the run was to be short.
    """

    max_n: int = 4096
    full: bool = False
    seed: int = 0
    quick: bool = False


QUICK = Scope(max_n=1024, quick=True)  # where the shortest grids of all claims have a slope


@dataclass(frozen=True)
class Cell:
    """One point of a claim's grid.

    Attributes
    ----------
    claim : str
    sweep : str
        What runs, such as "N" or "S", or which part of the evidence the cell belongs to.
    num_workers, num_data, stragglers : int
        N, K and S.
    parameter : float
        What else the kind of evidence needs: lambda_e, a degree, a number of adversaries. 0 where nothing.
    points : {"chebyshev", "equispaced"}
    full : bool
        See `Scope`.
    seed : int
    """

    claim: str
    sweep: str
    num_workers: int
    num_data: int
    stragglers: int = 0
    parameter: float = 0.0
    points: PointFamily = "chebyshev"
    full: bool = False
    seed: int = 0


class AbstractEvidence(ABC):
    """One way of examining a claim; a concrete one is a frozen dataclass that holds the grid."""

    @abstractmethod
    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """The grid of a claim.

        Parameters
        ----------
        claim : Claim
        scope : Scope

        Returns
        -------
        list of Cell
        """

    @abstractmethod
    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The exact numbers of one cell.

        Parameters
        ----------
        claim : Claim
        cell : Cell

        Returns
        -------
        dict
            Numbers by name, without the cell's own fields; `error` is what the claim bounds.
        """

    @abstractmethod
    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """Hold a claim against a table.

        Parameters
        ----------
        claim : Claim
        table : list of dict
            Its cells with their numbers.

        Returns
        -------
        verdict : Verdict
            As strong as the weakest of its parts.
        evidence : dict
            Exponents and numbers by name, as plain data.
        """

    @final
    def memory(self, claim: "Claim", scope: Scope) -> int:
        """Bytes that the largest cell needs, about.

        Parameters
        ----------
        claim : Claim
        scope : Scope

        Returns
        -------
        int
        """
        largest = max(cell.num_workers * cell.num_data for cell in self.cells(claim, scope))
        return 8 * _COPIES * largest + _BATCH


def shortest(start: int) -> int:
    """Where the shortest grid of doubled N ends that gives a slope.

    Parameters
    ----------
    start : int

    Returns
    -------
    int
    """
    return start * 2 ** (_FEWEST - 1)


def doubling(start: int, stop: int) -> list[int]:
    """A grid of N: every double of the first up to the last.

    Parameters
    ----------
    start, stop : int

    Returns
    -------
    list of int

    Raises
    ------
    InvalidInput
        If there are fewer than four of them.
    """
    if stop < shortest(start):
        raise InvalidInput(f"max_n is {stop}: a slope needs N = {start}, {2 * start}, ..., {shortest(start)}")
    return [start * 2**i for i in range((stop // start).bit_length())]
