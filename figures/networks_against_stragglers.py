"""How good decoded networks are as workers are lost."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.names import shown
from figures.results import Results
from figures.style import LOOK, in_band, panels_across

CAPTION = (
    "Root mean square error of the decoded outputs, and share of images whose class is the network's own, against the "
    "number of workers lost at random: means over trials on the same images and workers, with 95 % intervals."
)
CLAIMS = ("table-1",)
_METRICS = {"rmse": "RMSE", "relative_accuracy": "relative accuracy"}


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.study("stragglers")
    subjects = list(table.groupby(["network", "dataset"], sort=False))
    across = panels_across(len(_METRICS), width)
    down = len(subjects) * len(_METRICS) // across
    figure, grid = plt.subplots(down, across, figsize=(width, (1.75 if across > 1 else 1.4) * down), squeeze=False)
    axes = iter(grid.flat)
    for (network, dataset), of in subjects:
        for metric, label in _METRICS.items():
            axis = next(axes)
            for scheme, rows in of[of.metric == metric].groupby("scheme", sort=False):
                in_band(axis, rows.num_stragglers, rows, "mean", label=scheme, **LOOK[scheme.lower()])
            least, most = of[of.metric == metric]["mean"].agg(["min", "max"])
            if metric == "rmse":  # intervals of few trials reach below 0
                axis.set(yscale="log", ylim=(least / 2, most * 2))
            else:
                axis.set_ylim(top=1.02)
            sizes = f"N = {of.num_workers.iloc[0]}, K = {of.num_data.iloc[0]}"
            axis.set(title=f"{shown(network)} on {shown(dataset)}, {sizes}", ylabel=label)
    for axis in grid[-1]:
        axis.set_xlabel("stragglers $S$")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
