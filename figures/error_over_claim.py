"""Whether claims hold where S grows with N: the error divided by the claimed S^s N^n."""

from matplotlib.figure import Figure

from figures.curves import finish, of_claim, slope
from figures.results import Results
from figures.style import CLAIMED, LOOK, panels
from theory.claims import BY_ID

_CURVES = {"S=3": "$S = 3$", "S=sqrt(N)": r"$S = \sqrt{N}$", "S=N/4": "$S = N/4$"}

CAPTION = (
    "The certified error divided by the claimed S^s N^n, relative to where it starts, as S grows with N along three "
    "curves, with its fitted slope. Constant: the claim is the true growth (attained). Falling: the error grows more "
    "slowly than claimed, so the claim, an upper bound, holds with room. Rising: the claim is false."
)
CLAIMS = ("letcc-noiseless", "letcc-noiseless-v1", "bacc-rate", "letcc-noisy")


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    verdicts, table = results.verdicts(), results.table("certified")
    figure, axes = panels(len(CLAIMS), width, 2.2)
    for axis, claim in zip(axes, CLAIMS, strict=True):
        n, s = (BY_ID[claim].exponents[variable] for variable in ("N", "S"))
        for (sweep, label), look in zip(_CURVES.items(), LOOK.values(), strict=False):
            points = of_claim(table, claim)
            points = points[points.sweep == sweep]
            ratio = points.error / (points.num_workers ** float(n) * (points.stragglers + 1) ** float(s))
            fitted = verdicts[claim]["certified"][f"growth, {sweep}"]
            axis.plot(points.num_workers, ratio / ratio.iloc[0], label=f"{label}: {slope(fitted)}", **look)
        axis.axhline(1, **CLAIMED)
        axis.axhspan(0.3, 3, alpha=0)  # what changes by less than that hardly changes
        axis.set(xlabel="workers $N$", ylabel=f"error / $(S+1)^{{{s}}} N^{{{n}}}$, relative", title=claim)
        finish(axis, points.num_workers, 1.0)
    return figure
