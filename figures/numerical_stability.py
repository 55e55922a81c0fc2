"""How much each method amplifies errors in its values, and how much it adds by rounding."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.results import Results
from figures.style import LOOK, in_band, panels_across

CAPTION = (
    "Lebesgue constants between n of 2n Chebyshev points, the others lost at random: medians over the sets, and the "
    "quantiles 10 % and 90 %; Lagrange's leaves the picture. Errors against 60 digits, relative to the largest value: "
    "medians and ranges over all cases, also with clustered nodes; ∞: some case overflows."
)
CLAIMS = ()
_METHODS = {
    "spline": ("spline", "letcc"),
    "berrut": ("Berrut", "bacc"),
    "lagrange": ("Lagrange", "lagrange"),
    "least-squares": ("least squares", "uncoded"),
    "sobolev": ("Sobolev", "recommended"),
    "floater-hormann": ("Floater-Hormann", "replicated"),
    "cubic-bspline": ("cubic B-spline", "letcc-optimal"),
}
_DTYPES = {"float16": "lagrange", "float32": "bacc", "float64": "letcc"}


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    constants, errors = results.table("lebesgue"), results.table("stability")
    across = panels_across(2, width)
    figure, grid = plt.subplots(2 // across, across, figsize=(width, 3.2 * 2 // across), squeeze=False)
    left, right = grid.flat
    for place, (method, (label, look)) in enumerate(_METHODS.items()):
        of = constants[constants.method == method]
        in_band(left, of.n, of, "lebesgue", label=label, **LOOK[look])
        for number, (dtype, style) in enumerate(_DTYPES.items()):
            error = errors[(errors.method == method) & (errors.dtype == dtype)].error.clip(lower=1e-17)
            finite, x = error[np.isfinite(error)], place + (number - 1) / 4
            low, middle, high = finite.quantile([0, 0.5, 1])
            point = LOOK[style] | {"linestyle": "none", "label": "" if place else dtype}
            right.errorbar(x, middle, [[middle - low], [high - middle]], **point)
            if len(finite) < len(error):
                right.plot(x, 1, marker=r"$\infty$", ms=9, color=LOOK[style]["color"])
    left.set(xscale="log", yscale="log", ylim=(1, 1e6), xlabel="nodes $n$", ylabel="Lebesgue constant")
    right.set(yscale="log", ylabel="rounding error")
    right.set_xticks(range(len(_METHODS)), [label for label, _ in _METHODS.values()], rotation=35, ha="right")
    for axis in (left, right):
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.0)
    return figure
