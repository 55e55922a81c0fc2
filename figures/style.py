"""One look for every figure, and files that are the same bytes on every run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import ArrayLike

from theory.store import write_atomically

WIDTHS = {"column": 3.35, "page": 6.9}  # inches, of a two-column paper
FORMATS = ("pdf", "png", "svg")
_TALLEST = 9.2  # inches, on a page with a caption

# Okabe and Ito's colours, with markers and lines that tell them apart in grey
LOOK: dict[str, dict[str, Any]] = {
    "letcc": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "bacc": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "letcc-optimal": {"color": "#009E73", "marker": "^", "linestyle": "-."},
    "recommended": {"color": "#CC79A7", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    "lagrange": {"color": "#E69F00", "marker": "v", "linestyle": (0, (8, 2))},
    "uncoded": {"color": "0.3", "marker": "X", "linestyle": (0, (3, 1, 1, 1))},
    "replicated": {"color": "#3B9BD9", "marker": "P", "linestyle": (0, (4, 3))},
    "other": {"color": "#8C6D31", "marker": "<", "linestyle": (0, (12, 2))},
    "optimum": {"color": "black", "marker": "x", "linestyle": (0, (1, 1))},
}
CLAIMED: dict[str, Any] = {"color": "0.35", "linestyle": ":", "linewidth": 0.9}

_SETTINGS: Any = {
    "font.size": 8,
    "axes.grid": True,
    "grid.linewidth": 0.3,
    "grid.color": "0.85",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "figure.dpi": 200,  # the layout is made at the resolution that is saved
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.hashsalt": "letcc",
}


@contextmanager
def style() -> Iterator[None]:
    """The settings of a paper's figure, headless."""
    mpl.use("agg")
    with mpl.rc_context():
        mpl.rcdefaults()  # not the user's matplotlibrc
        mpl.rcParams.update(_SETTINGS)
        yield


def panels_across(number: int, width: float, narrowest: float = 2.2) -> int:
    """How many panels stand beside each other: in a column of a paper they stand below each other.

    Parameters
    ----------
    number : int
        Of panels.
    width, narrowest : float
        Of the figure, and of a panel, in inches.

    Returns
    -------
    int
        As few as fill the same number of rows.
    """
    down = -(-number // max(1, int(width / narrowest)))
    return -(-number // down)


def panels(number: int, width: float, height: float, narrowest: float = 2.2) -> tuple[Figure, list[Axes]]:
    """A figure of panels in rows.

    Parameters
    ----------
    number : int
        Of panels.
    width : float
        Of the figure, in inches.
    height, narrowest : float
        Of each panel, in inches; less where the page ends.

    Returns
    -------
    matplotlib.figure.Figure
    list of matplotlib.axes.Axes
    """
    across = panels_across(number, width, narrowest)
    down = -(-number // across)
    figure, grid = plt.subplots(down, across, figsize=(width, min(height * down, _TALLEST)), squeeze=False)
    for axis in grid.flat[number:]:
        axis.remove()
    return figure, list(grid.flat[:number])


def in_band(axis: Axes, x: ArrayLike, table: pd.DataFrame | Mapping[str, Any], column: str, **look: Any) -> None:
    """Draw a column of a table as a line, in the band of its interval.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    x : array_like
        For each row.
    table : DataFrame or mapping
        With ``column``, ``column_low`` and ``column_high``.
    column : str
    **look
        Of the line; the band has its colour.
    """
    axis.plot(x, table[column], **look)
    axis.fill_between(x, table[f"{column}_low"], table[f"{column}_high"], color=look["color"], alpha=0.2, linewidth=0)


def in_decimals(axis: Axis) -> None:
    """Label a logarithmic axis of few decades with decimal numbers.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
    """
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def save(figure: Figure, folder: Path, name: str, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure in every format.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    folder : Path
    name : str
    formats : sequence of str
        Of `FORMATS`.

    Returns
    -------
    list of Path
    """
    paths = [folder / f"{name}.{suffix}" for suffix in formats]
    # laid out once: a layout at every save would start from the one before, and the bytes depend on what is saved first
    figure.canvas.draw()
    figure.set_layout_engine("none")
    for path in paths:
        undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix, {})
        write_atomically(path, partial(figure.savefig, metadata=undated))
    plt.close(figure)
    return paths
