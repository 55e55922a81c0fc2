"""The function on which a scheme errs most, and what its decoder makes of it."""

from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, panels

CAPTION = (
    "The function with integral of g''^2 equal to 1 on which LeTCC, and on which BACC, errs most at a data point, and "
    "what the decoder makes of it from the received workers."
)
CLAIMS = ("certificate", "optimal-recovery")


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("extremal")
    schemes = list(dict.fromkeys(table.scheme))
    figure, axes = panels(len(schemes), width, 2.5)
    for axis, scheme in zip(axes, schemes, strict=True):
        parts = dict(iter(table[table.scheme == scheme].groupby("part")))
        look = LOOK[scheme.lower()] | {"marker": "none", "linestyle": "-"}
        axis.plot(parts["extremal"].t, parts["extremal"].value, color="0.4", linestyle="--", label="extremal function")
        axis.plot(parts["decoder"].t, parts["decoder"].value, **look, label=f"{scheme}'s answer")
        axis.plot(parts["received"].t, parts["received"].value, "|", color="0.2", label="received workers")
        axis.plot(parts["data"].t, parts["data"].value, "o", mfc="none", color="0.2", label="data points")
        axis.set(title=f"{scheme}, N = 32, K = 8, S = 6", xlabel="$t$", ylabel="$g(t)$")
        axis.legend(loc="best")
    return figure
