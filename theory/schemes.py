"""Anyone's scheme from the command line: ``python -m theory --scheme package:function``."""

import sys
import traceback
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc import RateReport, certify_rates
from letcc.exceptions import InvalidInput, LetccError
from theory.evidence.fits import describe


def certify_scheme(name: str) -> RateReport:
    """Import a function that makes schemes, and certify their rates.

    Parameters
    ----------
    name : str
        ``package.module:function``; the function takes K and N. The current folder is searched too.

    Returns
    -------
    RateReport

    Raises
    ------
    InvalidInput
        If there is no such function, or it fails.
    LetccError
        As for `letcc.certify_rates`.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidInput(f"--scheme is {name!r}: give package.module:function, a function of K and N")
    sys.path.insert(0, str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):  # what the scheme prints is no result
            return certify_rates(_imported(module, attribute))
    except LetccError:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidInput(
            f"{name} failed in {where.filename}, line {where.lineno}: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)


def _imported(module: str, attribute: str) -> Any:
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise InvalidInput(f"{module} imports {error.name!r}, which is not installed") from error
        raise InvalidInput(
            f"there is no module {module!r}: run from the folder that holds it, without .py, or install it"
        ) from error
    try:
        return attrgetter(attribute)(found)
    except AttributeError as error:
        raise InvalidInput(f"{module} has no {attribute!r}") from error


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
    exponents = {"N": describe(report.exponent_n), "S": describe(report.exponent_s)}
    plain = {key: value for key, value in asdict(report).items() if not key.startswith("exponent")}
    return {"scheme": name} | exponents | plain


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
        output.print(f"exponent in {variable}: {exponent.value:.2f} ({exponent.low:.2f} .. {exponent.high:.2f})")
    output.print(
        f"ball: {report.ball}; largest ratio to the optimum for one received set: {report.ratio:.4g}", soft_wrap=True
    )
