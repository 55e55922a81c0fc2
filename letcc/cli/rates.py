"""What `letcc.certify_rates` found, for people and for machines."""

from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc import RateReport
from letcc.rates import Exponent


def rates_row(name: str, report: RateReport) -> dict[str, Any]:
    """A report as plain data.

    Parameters
    ----------
    name : str
    report : RateReport

    Returns
    -------
    dict
    """
    exponents = {"N": _plain(report.exponent_n), "S": _plain(report.exponent_s)}
    plain = {key: value for key, value in asdict(report).items() if not key.startswith("exponent")}
    return {"scheme": name} | exponents | plain


def _plain(exponent: Exponent) -> dict[str, Any]:
    """Without NaN, which JSON has not."""
    return {key: None if value != value else value for key, value in asdict(exponent).items()}


def print_rates(name: str, report: RateReport, output: Console) -> None:
    """Print a report.

    Parameters
    ----------
    name : str
    report : RateReport
    output : rich.console.Console
    """
    table = Table(title=name, box=SIMPLE_HEAD)
    for column in ("sweep", "N", "K", "S", "worst squared error", "least possible", "ratio", "Lebesgue constant"):
        table.add_column(column, justify="left" if column == "sweep" else "right")
    for row in report.rows:
        sizes = (str(row[key]) for key in ("sweep", "num_workers", "num_data", "stragglers"))
        ratio = row["error"] / row["optimum"] if row["optimum"] else 1.0
        numbers = (row["error"], row["optimum"], ratio, row["lebesgue"])
        table.add_row(*sizes, *(f"{number:.4g}" for number in numbers))
    output.print(table)
    for variable, exponent in (("N", report.exponent_n), ("S + 1", report.exponent_s)):
        output.print(f"exponent in {variable}: {_said(exponent)}", soft_wrap=True)
    why = "" if report.ball == "seminorm" else ", since not every straight line is reproduced"
    output.print(f"ball: {report.ball}{why}", soft_wrap=True)
    output.print(f"largest ratio to the optimum for one received set: {report.ratio:.4g}", soft_wrap=True)
    output.print("The sweeps have N, K and S of their own; lost are blocks of neighbouring workers.", soft_wrap=True)


def _said(exponent: Exponent) -> str:
    if exponent.value != exponent.value:
        return "none, for there was nothing to fit"
    value, low, high = (round(number, 2) + 0.0 for number in (exponent.value, exponent.low, exponent.high))  # no -0.00
    return f"{value:.2f} ({low:.2f} .. {high:.2f})"
