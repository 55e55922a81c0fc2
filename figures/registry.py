"""Every figure, by the name of its module."""

from typing import Protocol

from matplotlib.figure import Figure

from figures import coded_inputs, error_against_workers, extremal_function
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


def _name(module: object) -> str:
    return module.__name__.rpartition(".")[2].replace("_", "-")  # type: ignore[attr-defined]


# in the order in which they are drawn and shown
FIGURES: dict[str, FigureModule] = {
    _name(module): module
    for module in (
        error_against_workers,
        extremal_function,
        coded_inputs,
    )
}
