"""Rates in what is neither N nor S: corrupted workers, the encoder's smoothing, the size of the decoder."""

from matplotlib.figure import Figure

from figures.curves import claimed, curve, of_claim, slope
from figures.results import Results
from figures.style import LOOK, panels
from theory.claims import BY_ID

_PANELS = {
    "letcc-adversarial": ("q/N", "(q/N)", r"$q/N$, of $q$ corrupted workers", "squared error"),
    "encoder-training-error": ("lambda_e", r"\lambda_e", r"encoder's smoothing $\lambda_e$", "mean squared error"),
    "decode-cost": ("|F|", "|F|", "received workers $|F|$", "numbers in the decoder"),
}
_NAMES = {f"q=N^({power})": f"$q=N^{{{power}}}$" for power in ("1/4", "1/2", "3/4")}
_NAMES |= {"q=1": "$q=1$", "chebyshev": "Chebyshev"}

CAPTION = (
    "Exact numbers, with fitted slopes, beside claimed ones (dotted): the worst error against the share of corrupted "
    "workers, for four ways in which their number grows with N; the encoder's worst training error against its "
    "smoothing; how many numbers building and applying the decoder takes, against the received workers."
)
CLAIMS = tuple(_PANELS)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    verdicts, table = results.verdicts(), results.table("certified")
    figure, axes = panels(len(_PANELS), width, 2.8)
    for axis, (claim, (variable, symbol, xlabel, ylabel)) in zip(axes, _PANELS.items(), strict=True):
        rows = of_claim(table, claim).query("error > 0")
        x = {"q/N": rows.parameter / rows.num_workers, "lambda_e": rows.parameter, "|F|": rows.num_workers}[variable]
        for (sweep, points), look in zip(rows.assign(x=x).groupby("sweep", sort=False), LOOK, strict=False):
            part = sweep.removeprefix(f"{variable}, ")
            points = points.sort_values("x")
            fitted = verdicts[claim]["certified"][f"{variable}, {part}"]
            label = f"{_NAMES.get(part, part)}: {slope(fitted).removeprefix('slope ')}"
            curve(axis, points.x, points, label, look)
        claimed(axis, points.x, points.error, BY_ID[claim].exponents[variable], symbol, "0.35")
        axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        axis.set_xlim(right=x.max() * (x.max() / x.min()) ** 0.3)  # room for the claimed power
        room = 0.3 + 0.1 * len(axis.containers)  # and above for the legend
        axis.set_ylim(top=rows.error.max() * (rows.error.max() / rows.error.min()) ** room)
        axis.legend(loc="upper left", title="fitted slope", alignment="left")
    return figure
