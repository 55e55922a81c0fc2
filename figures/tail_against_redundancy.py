"""What redundancy buys in the tail of the time to answer."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, in_band, in_decimals, panels_across

CAPTION = (
    "Quantiles of the time to answer against the redundancy, under four models of slow workers, in units of the "
    "fastest answer, with 95 % intervals. The redundancy of coded computing is N over the number of answers waited "
    "for; of replicated computing N / K, the copies of each input; of uncoded computing 1."
)
CLAIMS = ()
_QUANTILES = {"p99": {"linestyle": "-"}, "p99.9": {"linestyle": "--", "markerfacecolor": "white"}}


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("latency").query("rule == 'wait for' and scheme in ('LeTCC', 'replicated', 'uncoded')")
    table = table[table.task == table.task.iloc[0]]  # the times are the same for every task
    models = list(table.groupby("latency", sort=False))
    across = min(2, panels_across(len(models), width))
    down = -(-len(models) // across)
    figure, grid = plt.subplots(down, across, figsize=(width, 1.9 * down + 0.4), squeeze=False, sharex=True)
    for axis, (model, of) in zip(grid.flat, models, strict=False):
        for quantile, look in _QUANTILES.items():
            coded = of[of.scheme == "LeTCC"]
            label = f"coded, {quantile}"
            in_band(axis, coded.workers / coded.wait_for, coded, quantile, **LOOK["letcc"] | look, label=label)
            for scheme in ("replicated", "uncoded"):
                row = of[of.scheme == scheme].iloc[0]
                middle, low, high = (row[quantile + end] for end in ("", "_low", "_high"))
                redundancy = row.workers / row.data if scheme == "replicated" else 1
                point = LOOK[scheme] | look | {"linestyle": "none", "label": f"{scheme}, {quantile}"}
                axis.errorbar(redundancy, middle, [[middle - low], [high - middle]], **point)
        axis.set(title=model, xscale="log", yscale="log", ylabel="time [fastest answer]")
        in_decimals(axis.xaxis)
        in_decimals(axis.yaxis)
    for axis in grid[-1]:
        axis.set_xlabel("redundancy")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3 if across > 1 else 2)
    return figure
