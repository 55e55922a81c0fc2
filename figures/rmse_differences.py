"""What each scheme gains over BACC on trained networks, within the same trials."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from figures.names import shown
from figures.results import Results
from figures.style import CLAIMED, LOOK

CAPTION = (
    "RMSE of each scheme minus BACC's on the same images and stragglers, mean over the trials with its 95 % interval, "
    "for each network: left of the line is better than BACC. Lagrange, which is not defined for networks, is left out."
)
CLAIMS = ("table-1",)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = pd.DataFrame(results.rows("table1")).query("scheme != 'BACC' and not scheme.str.startswith('Lagrange')")
    networks = list(table.groupby(["network", "dataset"], sort=False))
    schemes = list(dict.fromkeys(table.scheme))
    height = 0.8 * len(networks) + 0.15 * len(table)
    figure, axes = plt.subplots(len(networks), 1, figsize=(width, height), squeeze=False)
    for axis, ((network, dataset), rows) in zip(axes.flat, networks, strict=True):
        places = [-schemes.index(scheme) for scheme in rows.scheme]
        difference = rows.rmse_difference
        bars = [difference - rows.rmse_difference_low, rows.rmse_difference_high - difference]
        axis.errorbar(difference, places, xerr=bars, **LOOK["letcc"] | {"linestyle": "none"})
        axis.axvline(0, **CLAIMED)
        axis.set_yticks(places, [name.replace("lambda", "λ") for name in rows.scheme])
        sizes = f"$(N, K, S)$ = ({rows.num_workers.iloc[0]}, {rows.num_data.iloc[0]}, {rows.num_stragglers.iloc[0]})"
        axis.set(xlabel="RMSE minus BACC's")
        title = f"{shown(network)} on {shown(dataset)}, {sizes}, {rows.trials.max()} trials"
        axis.set_title(title, loc="left" if width > 4 else "right")  # above the names, where it is narrow
    return figure
