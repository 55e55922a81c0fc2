"""How much the choice of both smoothing parameters matters on networks."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from figures.names import shown
from figures.results import Results
from figures.style import in_decimals, panels_across

CAPTION = (
    "Mean RMSE of LeTCC over the smoothing of its encoder and of its decoder, as a multiple of the least. Star: the "
    "least; dots: 95 % intervals that overlap the least one's, so that these trials do not tell them apart."
)
CLAIMS = ("table-1",)
_LOOK = {"cmap": "viridis_r", "norm": LogNorm(1, 10), "origin": "lower"}


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.study("smoothing").query("metric == 'rmse'")
    table[["encoder", "decoder"]] = table.scheme.str.split(", ", expand=True).astype(float)
    subjects = list(table.groupby(["network", "dataset"], sort=False))
    across = panels_across(len(subjects), width)
    down = -(-len(subjects) // across)
    figure, axes = plt.subplots(down, across, figsize=(width, 2.6 * down), squeeze=False)
    for axis, ((network, dataset), rows) in zip(axes.flat, subjects, strict=False):
        best = rows.loc[rows["mean"].idxmin()]
        wide = rows.pivot(index="encoder", columns="decoder", values="mean") / best["mean"]
        picture = axis.imshow(wide, **_LOOK)
        for row in rows[rows.mean_low <= best.mean_high].itertuples():
            marker = {"marker": "*", "ms": 7} if row.Index == best.name else {"marker": ".", "ms": 3}
            axis.plot(wide.columns.get_loc(row.decoder), wide.index.get_loc(row.encoder), color="0.1", **marker)
        for side, values in ((axis.xaxis, wide.columns), (axis.yaxis, wide.index)):
            labels = [f"$10^{{{np.log10(value):.0f}}}$" if value else "0" for value in values]
            side.set_ticks(range(0, len(values), 4), labels[::4])
        axis.set(
            title=f"{shown(network)} on {shown(dataset)}",
            xlabel=r"decoder's $\lambda_d$",
            ylabel=r"encoder's $\lambda_e$",
        )
        axis.grid(visible=False)
    for axis in axes.flat[len(subjects) :]:
        axis.remove()
    bar = figure.colorbar(picture, ax=axes, label="RMSE / least RMSE", extend="max", location="bottom", aspect=40)
    in_decimals(bar.ax.xaxis)
    return figure
