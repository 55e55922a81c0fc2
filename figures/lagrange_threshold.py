"""Polynomial maps: Lagrange is exact from its threshold on and refuses below; the others degrade."""

import numpy as np
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, panels

_NAMES = {"lagrange": "Lagrange", "letcc": "LeTCC", "bacc": "BACC"}

CAPTION = (
    "Relative error on products of matrices, a polynomial map of degree 2, against the number of received workers: "
    "medians over up to 200 received sets, with bars up to the largest. Lagrange refuses below its threshold (shaded) "
    "and is exact from there on but for rounding, which its condition amplifies: with 39 of 100 workers to a median of "
    "1e-9, and in the worst set to more than 1. LeTCC and BACC degrade gracefully."
)
CLAIMS = ("lagrange-threshold",)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("polynomials").query("problem == 'matrix product'")
    sizes = list(table.groupby(["num_workers", "num_data"]))
    figure, axes = panels(len(sizes), width, 2.4)
    for axis, ((workers, data), rows) in zip(axes, sizes, strict=True):
        for scheme, name in _NAMES.items():
            points = rows[(rows.scheme == scheme) & ~rows.refused]
            bars = np.stack([0 * points.error, points.error - points.typical])
            axis.errorbar(points.received, points.typical, yerr=bars, label=name, **LOOK[scheme])
        left, _ = axis.get_xlim()
        axis.axvspan(left, rows.threshold.iloc[0] - 0.5, color="0.9", linewidth=0, zorder=0)
        axis.set_xlim(left=left)
        title = f"$N = {workers}$, $K = {data}$"
        axis.set(yscale="log", xlabel="received workers $|F|$", ylabel="relative error", title=title)
    axes[0].legend(loc="center right")
    return figure
