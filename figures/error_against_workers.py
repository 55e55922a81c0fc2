"""The paper's main picture: error against the number of workers, with the claimed slopes beside it."""

from matplotlib.figure import Figure

from figures.curves import claimed, curve, finish, of_claim, slope
from figures.results import Results
from figures.style import LOOK, panels
from theory.claims import BY_ID

_WITHOUT_NOISE = {"letcc-noiseless": ("LeTCC", "letcc"), "bacc-rate": ("BACC", "bacc")}
_WITH_NOISE = {
    "letcc-noisy-optimal": (r"$\lambda = \sigma^2/N$, $\sigma = 0.1$", "letcc-optimal"),
    "letcc-noisy": (r"$\lambda = 0.01\,N^{-4/5}$, $\sigma = 0.03$", "letcc"),
}
_OPTIMA = {0.0: ("optimum", "x"), 0.1: (r"optimum, $\sigma = 0.1$", "x"), 0.03: (r"optimum, $\sigma = 0.03$", "+")}
_KINDS = {"certified": "certified worst case", "measured": r"$|t - c|^{1.51}$, measured"}
_BACC_WITH_NOISE = "scheme == 'bacc' and noise == 0.1"

CAPTION = (
    "Mean squared error at the worst data point against the number of workers, with its fitted slope, beside the "
    "claimed slopes (dotted) and what no decoder can beat at this σ (crosses); with noise, of LeTCC by its smoothing. "
    "Certified errors are exact; measured ones carry 95 % intervals where there is noise. All but BACC's with noise "
    "are straight lines in logarithmic axes, parallel to the claimed slopes."
)
CLAIMS = ("letcc-noiseless", "bacc-rate", "letcc-noisy", "letcc-noisy-optimal")


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    verdicts, of_n = results.verdicts(), "sweep == 'N' and stragglers == 0"
    tables = {kind: results.table(kind).query(of_n) for kind in _KINDS}
    tables["measured"] = tables["measured"].query("problem == 'edge'")
    slopes = results.table("slopes").query("problem == 'edge' and sweep == 'N'")
    figure, axes = panels(4, width, 2.4)
    rows = [(kind, noise) for kind in _KINDS for noise in (False, True)]
    for axis, (kind, noise) in zip(axes, rows, strict=True):
        for claim, (label, look) in (_WITH_NOISE if noise else _WITHOUT_NOISE).items():
            points, units = of_claim(tables[kind], claim), (BY_ID[claim].noise_std or 1.0) ** 2
            label = f"{label}: {slope(verdicts[claim][kind]['N'])}"
            curve(axis, points.num_workers, points, label, look, units)
            exponent, color = BY_ID[claim].exponents["N"], LOOK[look]["color"]
            claimed(axis, points.num_workers, points.error / units, exponent, "N", color)
            if kind == "certified":
                optimum, marker = _OPTIMA[BY_ID[claim].noise_std]
                look_of_best = LOOK["optimum"] | {"linewidth": 0.7, "marker": marker}
                axis.plot(points.num_workers, points.optimum / units, **look_of_best, label=optimum)
        if kind == "measured" and noise:
            points, fitted = (table.query(_BACC_WITH_NOISE) for table in (tables[kind], slopes))
            label = rf"BACC, $\sigma = 0.1$: {slope(fitted.rename(columns={'exponent': 'value'}).iloc[0])}"
            curve(axis, points.num_workers, points, label, "bacc", 0.1**2)
        what = "mean squared error" + (r" / $\sigma^2$" if noise else "")
        title = f"{_KINDS[kind]}, {'with' if noise else 'without'} noise"
        axis.set(xlabel="workers $N$", ylabel=what, title=title)
        finish(axis, points.num_workers)
    return figure
