"""How long the slowest rounds take, coded and uncoded."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, in_band, in_decimals, panels_across

CAPTION = (
    "Quantiles of the time to answer under four models of slow workers, in units of the fastest answer, with 95 % "
    "intervals. LeTCC, BACC and the recommended scheme answer at the same time, when so many workers have; Lagrange's "
    "threshold is for a function of degree 2; replicated: each input at N / K workers; uncoded: K workers, all needed."
)
CLAIMS = ()
_QUANTILES = ("p50", "p95", "p99", "p99.9")
_ANY = {60: "recommended", 80: "letcc"}  # numbers waited for


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("latency").query("rule == 'wait for'")
    table = table[table.task == table.task.iloc[0]]  # the times are the same for every task
    models = list(table.groupby("latency", sort=False))
    across = min(2, panels_across(len(models), width))
    down = -(-len(models) // across)
    figure, grid = plt.subplots(down, across, figsize=(width, 1.9 * down + 0.4), squeeze=False, sharex=True)
    for axis, (model, of) in zip(grid.flat, models, strict=False):
        coded, lagrange = of[of.scheme == "LeTCC"], of[of.scheme == "Lagrange"]
        lines = {
            "uncoded": (of[of.scheme == "uncoded"], "uncoded"),
            "replicated": (of[of.scheme == "replicated"], "replicated"),
        }
        for wait, look in _ANY.items():
            lines[f"coded, any {wait} of {of.workers.iloc[0]}"] = coded[coded.wait_for == wait], look
        least = lagrange[lagrange.wait_for == lagrange.wait_for.min()]
        lines[f"Lagrange, any {least.wait_for.iloc[0]:.0f}"] = least, "lagrange"
        for label, (row, look) in lines.items():
            ends = {
                f"time{end}": row[[q + end for q in _QUANTILES]].iloc[0].to_numpy() for end in ("", "_low", "_high")
            }
            in_band(axis, range(len(_QUANTILES)), ends, "time", label=label, **LOOK[look])
        axis.set(title=model, yscale="log", xticks=range(len(_QUANTILES)), xticklabels=_QUANTILES)
        in_decimals(axis.yaxis)
        axis.set_ylabel("time [fastest answer]")
    for axis in grid[-1]:
        axis.set_xlabel("quantile of rounds")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3 if across > 1 else 2)
    return figure
