"""Slopes between neighbouring points, and the window in which they have settled."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.curves import judged, of_claim, round_ticks, slope
from figures.results import Results
from figures.style import CLAIMED, LOOK, panels
from theory.claims import BY_ID

_PANELS = {
    ("letcc-noiseless", "N"): "LeTCC without noise",
    ("bacc-rate", "N"): "BACC without noise",
    ("letcc-noisy", "N"): r"LeTCC, $\lambda = 0.01\,N^{-4/5}$",
    ("letcc-noisy-optimal", "N"): r"LeTCC, $\lambda = \sigma^2/N$",
    ("letcc-noiseless", "S"): "LeTCC without noise",
    ("bacc-rate", "S"): "BACC without noise",
}
_LABELS = {"N": "$N$", "S": "$S + 1$"}

CAPTION = (
    "Slopes of the certified error between neighbouring points, the window in which the fit found them settled "
    "(shaded), the fitted exponent with its interval (band), and the exponents that claims, some of them false, "
    "state (dotted). Slopes settle on the true ones."
)
CLAIMS = (
    *("letcc-noiseless", "letcc-noiseless-v1", "letcc-noisy", "letcc-noisy-optimal", "bacc-rate"),
    *("bacc-n3", "letcc-n3.5", "letcc-s2", "noisy-n1"),
)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    verdicts, table = results.verdicts(), results.table("certified")
    figure, axes = panels(len(_PANELS), width, 2.0, narrowest=3.3)
    for axis, ((claim, variable), title) in zip(axes, _PANELS.items(), strict=True):
        rows, found = of_claim(table, claim), verdicts[claim]["certified"].items()
        parts = {sweep: fit for sweep, fit in found if sweep.split(",")[0] == variable and judged(fit)}
        for (sweep, fitted), look in zip(parts.items(), LOOK.values(), strict=False):
            points = rows[rows.sweep == sweep]
            x = (points.num_workers if variable == "N" else points.stragglers + 1).to_numpy()
            label = points.points.iloc[0].capitalize() if variable == "N" else f"$N = {points.num_workers.iloc[0]}$"
            between = np.sqrt(x[1:] * x[:-1])[: len(fitted["local_slopes"])]
            axis.plot(between, fitted["local_slopes"], label=f"{label}: {slope(fitted)}", **look)
        if (fitted := parts.get(variable)) and fitted["value"] is not None:
            axis.axvspan(*fitted["window"], color="0.94", zorder=0)
            axis.fill_between(fitted["window"], fitted["low"], fitted["high"], color="#0072B2", alpha=0.15, lw=0)
        _claimed(axis, claim, variable)
        axis.set(xscale="log", xlabel=_LABELS[variable], ylabel=f"local slope in {_LABELS[variable]}", title=title)
        bottom, top = axis.get_ylim()
        room = 0.5 if width > 4 else 1.0  # below for the legend, in a column of low panels
        axis.set_ylim(bottom - room * (top - bottom), top + 0.15 * (top - bottom))
        if parts:
            round_ticks(axis, x[::2])
            axis.legend(loc="lower left")
    return figure


def _claimed(axis: Axes, claim: str, variable: str) -> None:
    about = [each for each in map(BY_ID.__getitem__, CLAIMS) if each.examined_as == claim]
    for exponent in dict.fromkeys(each.exponents[variable] for each in about if variable in each.exponents):
        false = all(each.control for each in about if each.exponents.get(variable) == exponent)
        axis.axhline(float(exponent), **CLAIMED)
        text = f"${variable}^{{{exponent}}}$" + (", false" if false else "")
        axis.annotate(text, (1, exponent), xycoords=("axes fraction", "data"), ha="right", va="bottom")
