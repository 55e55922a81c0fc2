"""One look for every figure, and files that are the same bytes on every run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from theory.store import write_atomically

COLUMN, PAGE = 3.35, 6.9  # inches, of a two-column paper
FORMATS = ("pdf", "png")

# Okabe and Ito's colours, with markers and lines that tell them apart in grey
LOOK = {
    "letcc": {"color": "#0072B2", "marker": "o"},
    "bacc": {"color": "#D55E00", "marker": "s"},
    "letcc-optimal": {"color": "#009E73", "marker": "^"},
}
CLAIMED = {"color": "0.35", "linestyle": "--", "linewidth": 0.9}

_SETTINGS = {
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


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in every format.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    folder : Path
    name : str

    Returns
    -------
    list of Path
    """
    paths = [folder / f"{name}.{suffix}" for suffix in FORMATS]
    for path in paths:
        undated = {"CreationDate": None} if path.suffix == ".pdf" else {}
        write_atomically(path, lambda partial, undated=undated: figure.savefig(partial, metadata=undated))
    plt.close(figure)
    return paths
