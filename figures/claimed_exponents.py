"""Every fitted exponent against the claimed one: what holds, and what is refuted."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.curves import judged
from figures.results import Results
from figures.style import CLAIMED, LOOK
from theory.claims import CLAIMS as REGISTRY

_LOOKS = {"certified": ("letcc", 0.15), "measured": ("bacc", -0.15)}
_VANISHING = ("q/N", "lambda_e")  # in which a larger exponent is a smaller error
_GROWTH = "growth"
_SYMBOLS = {"lambda_e": r"$\lambda_e$"}

CAPTION = (
    "By how much the error grows faster (right) or more slowly (left) than each claim states: fitted minus claimed "
    "exponent with its interval, of the worst part; growth: of the error divided by the claim, as S grows with N. In "
    "brackets the verdict on the whole claim: refuted if an interval lies to the right of 0, attained if those of all "
    "its parts contain 0, else it holds."
)
CLAIMS = tuple(claim.id for claim in REGISTRY if claim.exponents)


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    verdicts = results.verdicts()
    rows = [(claim, variable) for claim in CLAIMS for variable in (*verdicts[claim]["predicted"], _GROWTH)]
    excess = {
        (kind, *row): found for kind in _LOOKS for row in rows if (found := _worst(verdicts[row[0]], kind, row[1]))
    }
    rows = [row for row in rows if ("certified", *row) in excess]
    figure, axis = plt.subplots(figsize=(width, 0.19 * len(rows) + 0.9))
    for kind, (look, shift) in _LOOKS.items():
        shown = [(shift - place, *excess[kind, *row]) for place, row in enumerate(rows) if (kind, *row) in excess]
        places, low, value, high = np.reshape(shown, (-1, 4)).T
        axis.errorbar(value, places, xerr=[value - low, high - value], label=kind, **LOOK[look] | {"linestyle": "none"})
    axis.axvline(0, **CLAIMED)
    names = [f"{claim}, {_SYMBOLS.get(variable, variable)} ({verdicts[claim]['verdict']})" for claim, variable in rows]
    axis.set_yticks([-place for place in range(len(rows))], names, fontsize=6)
    axis.set_xlabel("fitted − claimed exponent" if width > 4 else "fitted − claimed")
    axis.set_ylim(0.5 - max(1, len(rows)), 0.5)
    figure.legend(loc="outside upper center", ncols=len(_LOOKS))
    return figure


def _worst(row: dict[str, Any], kind: str, variable: str) -> tuple[float, float, float] | None:
    """Low, value and high of the excess."""
    claimed, sign = row["predicted"].get(variable, 0.0), -1 if variable in _VANISHING else 1
    worst = None
    for name, fitted in (row[kind] or {}).items():
        if name.split(",")[0] == variable and judged(fitted) and fitted["value"] is not None:
            low, value, high = sorted(sign * (fitted[part] - claimed) for part in ("low", "value", "high"))
            if worst is None or high > worst[2]:
                worst = low, value, high
    return worst
