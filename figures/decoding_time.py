"""How long decoding takes as N grows, and beside other people's splines."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, in_band, panels_across

CAPTION = (
    "Processor time to build the smoothing spline through N outputs and to evaluate it at K = 20 data points, and the "
    "same divided by that of letcc in the same repeat: medians, and the quantiles 10 % and 90 % over the repeats."
)
CLAIMS = ("decode-cost",)
_LOOKS = {
    "letcc": LOOK["letcc"],
    "letcc without numba": LOOK["letcc"] | {"linestyle": "--", "markerfacecolor": "white"},
    "SciPy": LOOK["bacc"] | {"linestyle": "-."},
    "csaps": LOOK["letcc-optimal"] | {"linestyle": ":"},
}


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("speed")
    table = table.assign(**{f"ms{end}": 1e3 * table[f"seconds{end}"] for end in ("", "_low", "_high")})
    across = panels_across(2, width)
    figure, grid = plt.subplots(2 // across, across, figsize=(width, 2.6 * 2 // across), squeeze=False, sharex=True)
    times, ratios = grid.flat
    for method, rows in table.groupby("method", sort=False):
        in_band(times, rows.num_workers, rows, "ms", label=method, **_LOOKS[method])
        in_band(ratios, rows.num_workers, rows, "ratio", label=method, **_LOOKS[method])
    times.set(ylabel="time to decode [ms]")
    ratios.set(ylabel="time / time of letcc")
    for axis in grid.flat:
        axis.set(xscale="log", yscale="log")
        axis.yaxis.set_major_formatter("{x:g}")
    for axis in grid[-1]:
        axis.set_xlabel("workers $N$")
        axis.set_xticks(sizes := sorted(set(table.num_workers))[::2], map(str, sizes))
        axis.minorticks_off()
    times.legend(loc="upper left")
    return figure
