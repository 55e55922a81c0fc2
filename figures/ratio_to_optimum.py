"""How far schemes are from what no decoder can beat."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.curves import finish, of_claim
from figures.results import Results
from figures.style import CLAIMED, LOOK, panels

_SCHEMES = {
    "letcc-noiseless": ("LeTCC", "letcc"),
    "bacc-rate": ("BACC", "bacc"),
    "letcc-noisy": (r"LeTCC with noise, $\lambda = 0.01\,N^{-4/5}$", "other"),
}
_BEST_LINEAR = r"LeTCC with noise, $\lambda = \sigma^2/|F|$, $S = N/4$"

CAPTION = (
    "Worst-case error of each scheme divided by the least that is possible: against the number of workers when all "
    "answer, or N/4 are lost where it says so; and over 100 random sets of received workers (N = 40, S up to 16), "
    "where marks are medians and bars reach over all sets and data points. LeTCC is optimal, at 1, without noise at λ "
    "= 0 and with noise at λ = σ²/|F|, for |F| received workers."
)
CLAIMS = ("optimal-recovery", "best-linear")


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("certified")
    figure, (against_workers, over_sets) = panels(2, width, 2.6)
    for claim, (label, look) in _SCHEMES.items():
        points = of_claim(table, claim).query("sweep == 'N'")
        against_workers.plot(points.num_workers, points.error / points.optimum, label=label, **LOOK[look])
    best = table.query("claim == 'best-linear' and points == 'chebyshev'")
    against_workers.plot(best.num_workers, best.error, label=_BEST_LINEAR, **LOOK["letcc-optimal"])
    against_workers.set(
        xlabel="workers $N$", ylabel="worst-case error / optimum", title="against the number of workers"
    )
    finish(against_workers, points.num_workers, 0.8)
    _over_sets(over_sets, table.query("claim == 'optimal-recovery'"))
    return figure


def _over_sets(axis: Axes, table: pd.DataFrame) -> None:
    for (points, rows), look, shift in zip(table.groupby("points"), ("letcc", "bacc"), (0.15, -0.15), strict=True):
        bars = np.abs(rows[["least", "most"]].to_numpy().T - rows["median"].to_numpy())
        place = shift - np.arange(len(rows))
        marks = LOOK[look] | {"linestyle": "none"}
        axis.errorbar(rows["median"], place, xerr=bars, label=f"{points.capitalize()} points", **marks)
    axis.axvline(1, **CLAIMED)
    axis.set_yticks(-np.arange(len(rows)), [name.replace("lambda", "λ").replace(", ", "\n") for name in rows.sweep])
    axis.set(xscale="log", xlabel="worst-case error / optimum", title="random workers are lost")
    axis.legend(loc="upper right")
