"""What figures of rates share: an error with its claimed slope beside it, and a fitted slope in words."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from figures.style import CLAIMED, LOOK
from theory.claims import BY_ID

_ABOVE = 1.7  # times the errors
_NORMAL = 1.96  # standard errors on either side of a 95 % interval


def of_claim(table: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Certificates belong to a claim; measurements to a scheme, its smoothing and the noise.

    Parameters
    ----------
    table : DataFrame
        certified or measured.
    claim : str

    Returns
    -------
    DataFrame
    """
    about = BY_ID[claim]
    if "claim" in table:
        return table[table.claim == about.examined_as]
    setup = {"scheme": about.method, "smoothing": about.smoothing.formula, "noise": about.noise_std}
    return table[(table[list(setup)] == pd.Series(setup)).all(axis=1)]


def judged(fitted: Any) -> bool:
    """Whether a part of the evidence is a fit that the verdict rests on.

    Parameters
    ----------
    fitted : dict, float or str

    Returns
    -------
    bool
    """
    return isinstance(fitted, dict) and fitted.get("judged", True)


def slope(fitted: Any) -> str:
    """A fitted exponent with its interval, in words.

    Parameters
    ----------
    fitted : dict or str
        With value, low and high; a text where the slope is out of reach.

    Returns
    -------
    str
    """
    if isinstance(fitted, str) or fitted["value"] is None:
        return "slope unsettled"
    return f"slope {fitted['value']:.2f} ± {(fitted['high'] - fitted['low']) / 2:.2f}".replace("-", "−")


def curve(axis: Axes, x: pd.Series, rows: pd.DataFrame, label: str, look: str, units: float = 1.0) -> None:
    """Errors in logarithmic axes, with their 95 % intervals where they are sampled.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    x : Series
    rows : DataFrame
        With error and, where it is sampled, uncertainty.
    label : str
    look : str
        Of `figures.style.LOOK`.
    units : float
        In which the error is shown.
    """
    error = rows.error / units
    half = _NORMAL * rows.uncertainty * error if "uncertainty" in rows else error * np.nan
    axis.errorbar(x, error, yerr=half if half.notna().any() else None, label=label, **LOOK[look])


def claimed(axis: Axes, x: pd.Series, error: pd.Series, exponent: Fraction, symbol: str, color: str) -> None:
    """A claimed power, with a constant that keeps it above the errors.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    x : Series
        Ascending.
    error : Series
    exponent : Fraction
    symbol : str
        Of x.
    color : str
    """
    power = x ** float(exponent)
    power *= _ABOVE * (error / power).max()
    axis.plot(x, power, **CLAIMED | {"color": color})
    end = (x.iloc[-1], power.iloc[-1])
    text = f"${symbol}$" if exponent == 1 else f"${symbol}^{{{exponent}}}$"
    axis.annotate(text, end, xytext=(4, -2), textcoords="offset points", color=color)


def round_ticks(axis: Axes, places: Sequence[int]) -> None:
    """Label a logarithmic x axis with whole numbers, and nothing between them.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    places : sequence of int
    """
    axis.set_xticks(places, list(map(str, places)))
    axis.xaxis.minorticks_off()


def finish(axis: Axes, ticks: Iterable[int], room: float = 0.4) -> None:
    """Logarithmic axes with round numbers, and room for the claimed powers on the right and the legend below.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    ticks : iterable of int
        Every other one is shown, on the x axis.
    room : float
        For the legend, relative to the height of the curves.
    """
    axis.set(xscale="log", yscale="log")
    places = sorted(set(ticks))
    round_ticks(axis, places[::2])
    axis.set_xlim(right=places[-1] * (places[-1] / places[0]) ** 0.13)
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom * (bottom / top) ** room, top)
    entries = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))  # each label once
    axis.legend(entries.values(), entries.keys(), loc="lower left")
