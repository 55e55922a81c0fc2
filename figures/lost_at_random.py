"""Workers lost independently: the error divided by each claimed power of N and of its logarithm."""

import numpy as np
from matplotlib.figure import Figure

from figures.curves import finish, of_claim
from figures.results import Results
from figures.style import CLAIMED, LOOK, panels
from theory.claims import BY_ID

_PANELS = {
    "LeTCC": ("letcc-bernoulli", "letcc-bernoulli-swapped", "letcc-bernoulli-no-log"),
    "BACC": ("bacc-bernoulli-log2", "bacc-bernoulli", "bacc-bernoulli-swapped"),
}

CAPTION = (
    "Certified supremum of the squared error over the interval, in expectation over workers lost with probability "
    "0.2, divided by what each claim states, relative to where it starts, with 95 % intervals over 400 sets. Flat is "
    "attained, falling holds, rising is false."
)
CLAIMS = (*_PANELS["LeTCC"], *_PANELS["BACC"])


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("certified")
    figure, axes = panels(len(_PANELS), width, 2.6)
    for axis, (scheme, claims) in zip(axes, _PANELS.items(), strict=True):
        for claim, look in zip(map(BY_ID.__getitem__, claims), LOOK.values(), strict=False):
            points = of_claim(table, claim.id)
            n, log = claim.exponents["N"], claim.exponents.get("log N", 0)
            power = points.num_workers ** float(n) * np.log(points.num_workers) ** float(log)
            error, low, high = (points[name] / power for name in ("error", "low", "high"))
            label = (rf"$\log^{{{log}}} N \cdot " if log else "$") + f"N^{{{n}}}$" + (", false" * claim.control)
            bars = np.stack([error - low, high - error]) / error.iloc[0]
            axis.errorbar(points.num_workers, error / error.iloc[0], yerr=bars, label=label, **look)
        axis.axhline(1, **CLAIMED)
        axis.set(xlabel="workers $N$", ylabel="E[sup error] / claimed power, relative", title=scheme)
        finish(axis, points.num_workers)
    return figure
