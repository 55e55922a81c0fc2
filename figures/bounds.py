"""Claims that state no rate: exact numbers against the bound or the optimum that each claims."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.curves import of_claim, round_ticks
from figures.results import Results
from figures.style import CLAIMED, LOOK, panels

_SPLITS = {"loss-split": ("with factors 2", "letcc"), "loss-split-1": ("without, false", "bacc")}
_SPLINES = {"spline-optimality": ("natural spline", "letcc"), "not-a-knot-optimality": ("not-a-knot, false", "bacc")}

CAPTION = (
    "Exact numbers against claims: the largest error of BACC over its printed bound; the largest loss over the sum of "
    "its two parts; how much of the objective random perturbations remove, of which only rounding is left for natural "
    "splines. True claims stay at or below the dotted lines, false ones do not."
)
CLAIMS = ("bacc-sup", *_SPLITS, *_SPLINES)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("certified")
    figure, axes = panels(3, width, 2.6)
    for draw_panel, axis in zip((_supremum, _loss_split, _optimality), axes, strict=True):
        draw_panel(axis, table)
        axis.legend(loc="lower left" if draw_panel is _supremum else "upper right")
    return figure


def _supremum(axis: Axes, table: pd.DataFrame) -> None:
    for (workers, rows), look in zip(of_claim(table, "bacc-sup").groupby("num_workers"), LOOK.values(), strict=False):
        axis.plot(rows.stragglers + 1, rows.error / rows.bound, label=f"$N = {workers}$", **look)
    axis.axhline(1, **CLAIMED)
    xlabel = "$S + 1$, of $S$ lost workers"
    axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="exact / bound", title="supremum, BACC")
    round_ticks(axis, [1, 2, 4, 8, 16])


def _loss_split(axis: Axes, table: pd.DataFrame) -> None:
    for claim, (label, look) in _SPLITS.items():
        worst = of_claim(table, claim).groupby("parameter")[["error", "smooth"]].max()
        smoothings = [f"{smoothing:g}" for smoothing in worst.index]
        axis.plot(smoothings, worst.error, label=f"{label}, worst $f$", **LOOK[look])
        axis.plot(smoothings, worst.smooth, label=f"{label}, smooth $f$", **LOOK[look] | {"mfc": "white"})
    axis.axhline(1, **CLAIMED)
    ylabel = r"$L / (L_\mathrm{dec} + L_\mathrm{enc})$, largest"
    axis.set(ylim=(0, 3.4), xlabel=r"encoder's smoothing $\lambda_e$", ylabel=ylabel, title="split of the loss")


def _optimality(axis: Axes, table: pd.DataFrame) -> None:
    for claim, (label, look) in _SPLINES.items():
        for side, rows in of_claim(table, claim).groupby("sweep"):
            marks = LOOK[look] | {"linestyle": "none"} | ({"mfc": "white"} if side == "encoder" else {})
            axis.plot([f"{smoothing:g}" for smoothing in rows.parameter], rows.error, label=f"{label}, {side}", **marks)
    axis.axhline(np.finfo(float).eps, **CLAIMED)
    ylabel = "decrease of the objective"
    axis.set(yscale="log", xlabel=r"smoothing $\lambda$", ylabel=ylabel, title="smoothest function")
