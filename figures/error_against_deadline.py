"""What is decoded by a deadline, and how good it is."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, in_band

CAPTION = (
    "Quality against the time that the deadline leaves after the fastest answer, in units of that one, under four "
    "models of slow workers: RMSE on a smooth function and relative accuracy on LeNet5, over the rounds that could be "
    "decoded, and the share of these, with 95 % intervals. Uncoded and replicated computing is exact when in time."
)
CLAIMS = ()
_ROWS = {"smooth": ("rmse", "RMSE, smooth f"), "LeNet5": ("relative_accuracy", "rel. accuracy,\nLeNet5")}
_SHARE = 0.05  # of rounds decoded, below which there is no quality to speak of


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("latency").query("rule == 'deadline'")
    models = list(dict.fromkeys(table.latency))
    tasks = [task for task in _ROWS if task in set(table.task)]
    across = 4 if width > 5 else 2
    rows = [*tasks, "decoded"]
    blocks = -(-len(models) // across)
    down = blocks * len(rows)
    figure, grid = plt.subplots(down, across, figsize=(width, 1.3 * down + 0.6), squeeze=False, sharey="row")
    for place, model in enumerate(models):
        column = grid[place // across * len(rows) :, place % across]
        column[0].set_title(model)
        for axis, row in zip(column, rows, strict=False):
            of = table[(table.latency == model) & (table.task == (row if row in tasks else tasks[0]))]
            for scheme, points in of.groupby("scheme", sort=False):
                look = LOOK[scheme.lower()] | {"markersize": 3, "label": scheme}
                if row == "decoded":
                    in_band(axis, points.deadline - 1, points, "decoded", **look)
                elif scheme not in ("uncoded", "replicated"):
                    points = points[points.decoded >= _SHARE]
                    in_band(axis, points.deadline - 1, points, _ROWS[row][0], **look)
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
    for line, row in zip(grid, rows * blocks, strict=True):
        line[0].set_ylabel(_ROWS[row][1] if row in tasks else "share decoded")
        if row == "smooth":
            line[0].set_yscale("log")
    figure.supxlabel("deadline, after the fastest answer [fastest answer]", fontsize="medium")
    handles = grid[len(rows) - 1, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=6 if across > 2 else 3)
    return figure
