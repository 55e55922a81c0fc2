"""What was measured, for people."""

import math

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from convergence.measurement import LOST

NAMES = {"letcc": "LeTCC", "bacc": "BACC", "lagrange": "Lagrange"}
_COLUMNS = {  # standard deviation of the noise, sweep, model of stragglers
    "σ = 0\nN": (0.0, "N", "consecutive"),
    "\nN, block of 3": (0.0, LOST, "consecutive"),
    "\nN, random 3": (0.0, LOST, "random"),
    "\nS, block": (0.0, "S", "consecutive"),
    "\nS, random": (0.0, "S", "random"),
    "σ = 0.03\nN": (0.03, "N", "consecutive"),
    "σ = 0.1\nN": (0.1, "N", "consecutive"),
}
_WIDEST = 1.0  # half an interval beyond which an exponent has no digits worth showing
_FEW = 4  # data, whose received workers are too few to show more than all or nothing


def print_zoo(slopes: pd.DataFrame, output: Console) -> None:
    """Print the exponents of every problem and scheme.

    Parameters
    ----------
    slopes : DataFrame
        From `convergence.measurement.measure_rates`.
    output : rich.console.Console
    """
    table = Table(title="Exponents of the measured mean squared error at the worst data point", box=SIMPLE_HEAD)
    for column in ("\nfunction", "\nscheme", *_COLUMNS):
        table.add_column(column, no_wrap=True)
    found = slopes.drop_duplicates(keys := ["problem", "scheme", "noise", "sweep", "model"]).set_index(keys)
    for problem in slopes.problem.unique():
        for scheme in slopes[slopes.problem == problem].scheme.unique():
            shown = [_exponent(found, (problem, scheme, *column)) for column in _COLUMNS.values()]
            table.add_row(problem, NAMES[scheme], *shown)
    output.print(table)
    output.print(
        "λ of LeTCC: 0, 0.01 N^(-4/5), σ²/N. Block: the worst one; random: the mean over sets. S: held against S + 1. "
        f"~: the interval is wider than ± {_WIDEST:g}. Exact: below rounding. All else is in slopes.parquet."
    )


def _exponent(found: pd.DataFrame, key: tuple[str | float, ...]) -> str:
    if key not in found.index:
        return ""
    row = found.loc[key]
    if math.isnan(row.exponent):
        return "exact"
    half = (row.high - row.low) / 2
    return f"{row.exponent:.2f} ± {half:.2f}" if half <= _WIDEST else f"~ {row.exponent:.0f}"


def print_polynomials(measured: pd.DataFrame, output: Console) -> None:
    """Print Lagrange's error on polynomial maps beside the others'.

    Parameters
    ----------
    measured : DataFrame
        From `convergence.polynomials.measure_polynomials`.
    output : rich.console.Console
    """
    title = "Relative error on polynomial maps of degree 2: median over received sets (largest)"
    table = Table(title=title, box=SIMPLE_HEAD)
    for column in ("function", "N", "K", "received", *NAMES.values()):
        table.add_column(column, no_wrap=True, justify="left" if column in ("function", "received") else "right")
    keys = ["problem", "num_workers", "num_data", "received"]
    for key, rows in measured[measured.num_data > _FEW].groupby(keys, sort=False):
        by_scheme = rows.set_index("scheme")
        threshold = " (threshold)" if key[-1] == rows.threshold.iloc[0] else ""
        cells = [
            "refused" if row.refused else f"{row.typical:.1e} ({row.error:.1e})"
            for row in map(by_scheme.loc.__getitem__, NAMES)
        ]
        table.add_row(*map(str, key[:-1]), f"{key[-1]}{threshold}", *cells)
    output.print(table)
