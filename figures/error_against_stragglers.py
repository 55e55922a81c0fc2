"""Error against the number of lost workers, with the claimed slopes beside it."""

from matplotlib.figure import Figure

from figures.curves import claimed, curve, finish, of_claim, slope
from figures.results import Results
from figures.style import LOOK, panels
from theory.claims import BY_ID

_WITHOUT_NOISE = {"letcc-noiseless": ("LeTCC", "letcc"), "bacc-rate": ("BACC", "bacc")}
_WITH_NOISE = {"letcc-noisy": (r"$\lambda = 0.01\,N^{-4/5}$, $\sigma = 0.03$", "letcc")}
_PANELS = (
    ("certified", "consecutive", _WITHOUT_NOISE, "worst block, worst case over the ball"),
    ("certified", "consecutive", _WITH_NOISE, "the same for LeTCC with noise"),
    ("measured", "consecutive", _WITHOUT_NOISE, r"worst block, $|t - c|^{1.51}$, measured"),
    ("measured", "random", _WITHOUT_NOISE, r"mean over random sets, $|t - c|^{1.51}$, measured"),
)

CAPTION = (
    "Mean squared error at the worst data point against the number of lost workers, N = 512 and K = 32, with its "
    "fitted slope, beside the claimed slopes (dotted): certified (exact) and measured, with 95 % intervals over random "
    "sets. When the worst block is lost, LeTCC grows like S^3, BACC like S^2 from a far higher level, and with noise "
    "the slope has not settled. Over random sets the mean hardly grows."
)
CLAIMS = ("letcc-noiseless", "bacc-rate", "letcc-noisy")


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    tables = {
        "certified": results.table("certified").query("sweep == 'S'").assign(model="consecutive"),
        "measured": results.table("measured").query("sweep == 'S' and problem == 'edge'"),
    }
    verdicts = results.verdicts()
    slopes = results.table("slopes").query("sweep == 'S' and problem == 'edge' and model == 'random'")
    figure, axes = panels(len(_PANELS), width, 2.4)
    for axis, (kind, model, claims, title) in zip(axes, _PANELS, strict=True):
        for claim, (label, look) in claims.items():
            points = of_claim(tables[kind][tables[kind].model == model], claim)
            x, units = points.stragglers + 1, (BY_ID[claim].noise_std or 1.0) ** 2
            if model == "random":
                fitted = of_claim(slopes, claim).rename(columns={"exponent": "value"}).iloc[0]
            else:
                fitted = verdicts[claim][kind]["S"]
                exponent = BY_ID[claim].exponents["S"]
                claimed(axis, x, points.error / units, exponent, "S", LOOK[look]["color"])
            curve(axis, x, points, f"{label}: {slope(fitted)}", look, units)
        what = "mean squared error" + (r" / $\sigma^2$" if claims is _WITH_NOISE else "")
        axis.set(xlabel="$S + 1$, of $S$ lost workers", ylabel=what, title=title)
        finish(axis, x)
    return figure
