"""The function on which a scheme errs most, and what its decoder makes of it."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, PAGE


def draw(results: Results) -> Figure:
    """Draw it.

    Parameters
    ----------
    results : Results

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = results.table("extremal")
    schemes = list(dict.fromkeys(table.scheme))
    figure, axes = plt.subplots(1, len(schemes), figsize=(PAGE, 2.5))
    for axis, scheme in zip(axes, schemes, strict=True):
        parts = dict(iter(table[table.scheme == scheme].groupby("part")))
        look = LOOK[scheme.lower()] | {"marker": "none", "linestyle": "-"}
        axis.plot(parts["extremal"].t, parts["extremal"].value, color="0.4", linestyle="--", label="extremal function")
        axis.plot(parts["decoder"].t, parts["decoder"].value, **look, label=f"{scheme}'s answer")
        axis.plot(parts["received"].t, parts["received"].value, "|", color="0.2", label="received workers")
        axis.plot(parts["data"].t, parts["data"].value, "o", mfc="none", color="0.2", label="data points")
        axis.set(title=f"{scheme}, N = 32, K = 8, S = 6", xlabel="$t$")
        axis.legend(loc="best")
    axes[0].set_ylabel("value")
    return figure
