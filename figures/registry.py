"""Every figure, by the name of its module."""

from types import ModuleType
from typing import Protocol

from matplotlib.figure import Figure

from figures import (
    bounds,
    claimed_exponents,
    coded_inputs,
    error_against_stragglers,
    error_against_workers,
    error_over_claim,
    extremal_function,
    lagrange_threshold,
    local_slopes,
    lost_at_random,
    other_rates,
    ratio_to_optimum,
    rmse_differences,
    table_1,
)
from figures.results import Results


class FigureModule(Protocol):
    """What a figure's module has.

    Attributes
    ----------
    CAPTION : str
        What is seen, in a sentence or two that stand for the picture where it cannot be seen.
    CLAIMS : tuple of str
        Ids of the claims that it illustrates.
    """

    CAPTION: str
    CLAIMS: tuple[str, ...]

    def draw(self, results: Results, width: float) -> Figure:
        """Draw it, ``width`` inches wide.

        Raises
        ------
        MissingResult
        """
        ...


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].replace("_", "-")


# in the order in which they are drawn and shown
FIGURES: dict[str, FigureModule] = {
    _name(module): module
    for module in (
        error_against_workers,
        error_against_stragglers,
        error_over_claim,
        local_slopes,
        claimed_exponents,
        extremal_function,
        ratio_to_optimum,
        lost_at_random,
        other_rates,
        bounds,
        lagrange_threshold,
        rmse_differences,
        coded_inputs,
    )
}

# in other formats, which each lists
TABLES = {_name(table_1): table_1}
