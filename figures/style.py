"""One look for every figure, and files that are the same bytes on every run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from theory.store import write_atomically

WIDTHS = {"column": 3.35, "page": 6.9}  # inches, of a two-column paper
FORMATS = ("pdf", "png", "svg")

# Okabe and Ito's colours, with markers and lines that tell them apart in grey
LOOK: dict[str, dict[str, Any]] = {
    "letcc": {"color": "#0072B2", "marker": "o"},
    "bacc": {"color": "#D55E00", "marker": "s"},
    "letcc-optimal": {"color": "#009E73", "marker": "^"},
}
CLAIMED: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 0.9}

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


def panels_across(number: int, width: float) -> int:
    """How many panels stand beside each other: in a column of a paper they stand below each other.

    Parameters
    ----------
    number : int
        Of panels.
    width : float
        Inches.

    Returns
    -------
    int
    """
    return max(1, min(number, int(width / 2.2)))


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
    for path in paths:
        undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix, {})
        write_atomically(path, partial(figure.savefig, metadata=undated))
    plt.close(figure)
    return paths
