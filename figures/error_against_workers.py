"""The paper's main picture: error against the number of workers, with the claimed slopes beside it."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import CLAIMED, LOOK
from theory.claims import BY_ID

_COLUMNS = {
    "without noise": {"letcc-noiseless": ("LeTCC", "letcc"), "bacc-rate": ("BACC", "bacc")},
    "LeTCC with noise": {
        "letcc-noisy-optimal": (r"$\lambda = \sigma^2/N$, $\sigma = 0.1$", "letcc-optimal"),
        "letcc-noisy": (r"$\lambda = 0.01\,N^{-4/5}$, $\sigma = 0.03$", "letcc"),
    },
}
_ROWS = {"certified": "worst case over the ball, certified", "measured": r"$|t - c|^{1.51}$, measured"}

CAPTION = (
    "Mean squared error at the worst data point against the number of workers, certified and measured, without noise "
    "and with noise: straight lines in logarithmic axes, parallel to the claimed slopes."
)
CLAIMS = ("letcc-noiseless", "bacc-rate", "letcc-noisy", "letcc-noisy-optimal")


def draw(results: Results, width: float) -> Figure:
    """Draw it.

    Parameters
    ----------
    results : Results
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    verdicts = results.verdicts()
    tables = {kind: results.table(kind).query("sweep == 'N'") for kind in _ROWS}
    tables["measured"] = tables["measured"].query("problem == 'edge'")
    figure, axes = plt.subplots(len(_ROWS), len(_COLUMNS), figsize=(width, 4.6), sharex="col")
    for row, (kind, title) in zip(axes, _ROWS.items(), strict=True):
        for axis, (noise, claims) in zip(row, _COLUMNS.items(), strict=True):
            for claim, (label, look) in claims.items():
                fitted = verdicts[claim][kind]["N"]
                slope = "slope unknown"
                if fitted["value"] is not None:
                    slope = f"slope {fitted['value']:.2f} ± {(fitted['high'] - fitted['low']) / 2:.2f}"
                _curve(axis, _of_claim(tables[kind], claim), claim, f"{label}: {slope}", look)
            axis.set(xscale="log", yscale="log", title=f"{title}, {noise}")
            axis.set_ylim(bottom=axis.get_ylim()[0] / 6)  # room for the legend
            axis.legend(loc="lower left")
    for axis, column in zip(axes[-1], _COLUMNS.values(), strict=True):
        workers = sorted(set(tables["certified"][tables["certified"].claim.isin(list(column))].num_workers))
        axis.set_xticks(workers, [str(n) for n in workers])
        axis.minorticks_off()
        axis.set_xlim(right=workers[-1] * 1.5)  # room for the claimed exponents
        axis.set_xlabel("workers $N$")
    figure.supylabel("mean squared error at the worst data point", fontsize="medium")
    for axis in axes[:, 1]:
        axis.set_ylabel("in units of $\\sigma^2$")
    return figure


def _of_claim(table: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Certificates belong to a claim; measurements to a scheme, its smoothing and the noise."""
    if "claim" in table:
        return table[table.claim == claim]
    about = BY_ID[claim]
    setup = {"scheme": about.method, "smoothing": about.smoothing.formula, "noise": about.noise_std}
    return table[(table[list(setup)] == pd.Series(setup)).all(axis=1)]


def _curve(axis: Axes, points: pd.DataFrame, claim: str, label: str, look: str) -> None:
    workers = points.num_workers.to_numpy()
    # curves of different noise are comparable in units of its variance
    error = points.error.to_numpy() / (BY_ID[claim].noise_std or 1.0) ** 2
    axis.plot(workers, error, label=label, **LOOK[look])
    exponent = BY_ID[claim].exponents["N"]
    claimed = 1.7 * error[-1] * (workers / workers[-1]) ** float(exponent)
    color = LOOK[look]["color"]
    axis.plot(workers, claimed, **CLAIMED | {"color": color})
    axis.annotate(
        f"$N^{{{exponent}}}$", (workers[-1], claimed[-1]), xytext=(4, -2), textcoords="offset points", color=color
    )
