"""Every figure, by the name of its module."""

from typing import Protocol

from matplotlib.figure import Figure

from figures import (
    coded_inputs,
    decoding_time,
    error_against_deadline,
    error_against_workers,
    extremal_function,
    latency_tails,
    networks_against_stragglers,
    numerical_stability,
    smoothing_sensitivity,
    tail_against_redundancy,
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

    @staticmethod
    def draw(results: Results, width: float) -> Figure:
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
        networks_against_stragglers,
        smoothing_sensitivity,
        coded_inputs,
        numerical_stability,
        latency_tails,
        error_against_deadline,
        tail_against_redundancy,
        decoding_time,
    )
}
