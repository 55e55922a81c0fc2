"""Stability regression: every method's error against 60 digits, cell by cell, beside the committed ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc.arrays import Values, combine
from letcc.exceptions import InvalidInput
from letcc.metrics import lebesgue_constant
from letcc.nodes import FloatArray
from letcc.smoothers import (
    AbstractLinearSmoother,
    BerrutRational,
    CubicBSpline,
    FloaterHormann,
    LagrangePolynomial,
    SmoothingSpline,
    SobolevRidge,
)
from tests.reference import cases
from theory.cells import run_cells

COMMITTED = Path(__file__).with_name("stability.csv")
METHODS = ("spline", "berrut", "lagrange", "least-squares", "sobolev", "floater-hormann", "cubic-bspline")
DTYPES = (np.float64, np.float32, np.float16)
KEYS = ["method", "nodes", "n", "parameters", "dtype"]
_REFERENCE = Path(cases.__file__).parent
_LOSS = 10.0  # an error this many times the committed one, or the dtype's rounding, has lost a digit


def table(methods: tuple[str, ...] = METHODS, jobs: int = 1) -> pd.DataFrame:
    """Measure every cell of some methods.

    Parameters
    ----------
    methods : tuple of str
        Of `METHODS`.
    jobs : int

    Returns
    -------
    DataFrame
        method, nodes (family, or case of given nodes), n, parameters, dtype; error (largest, relative to the largest
        value or fitted value), lebesgue (constant at the targets), condition (lebesgue times the largest value over
        the largest fitted value).

    Raises
    ------
    InvalidInput
        If a method is unknown.
    """
    unknown = set(methods) - set(METHODS)
    if unknown:
        raise InvalidInput(f"unknown methods {sorted(unknown)}: choose from {', '.join(METHODS)}")
    return pd.DataFrame([row for rows in run_cells(_rows, methods, jobs, "comparing") for row in rows])


def _rows(method: str) -> list[dict[str, Any]]:
    return [row for case in _cases(method) for row in _measure(method, *case)]


def _cases(method: str) -> Iterator[tuple[str, AbstractLinearSmoother, FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Node family, smoother, nodes, values, targets and the right results."""
    if method == "spline":
        for case in json.loads((_REFERENCE / "accuracy.json").read_text())["drawn"]:
            nodes, values, targets = cases.draw(case["family"], case["n"], case["seed"])
            if cases.digest(nodes, values) == case["sha256"]:  # elsewhere the right results are for other inputs
                for fit in case["fits"]:
                    expected = np.array(fit["expected"])
                    yield case["family"], SmoothingSpline(float(fit["smoothing"])), nodes, values, targets, expected
        return
    key = {
        "least-squares": "least_squares_polynomial",
        "sobolev": "sobolev_ridge",
        "floater-hormann": "floater_hormann",
        "cubic-bspline": "not_a_knot_spline",
    }.get(method, method)
    for number, case in enumerate(json.loads((_REFERENCE / "operators.json").read_text())[key]):
        nodes, targets = np.array(case["nodes"]), np.array(case["targets"])
        if method == "sobolev":
            for fit in case["fits"]:
                smoother: AbstractLinearSmoother = SobolevRidge(fit["length_scale"], float(fit["smoothing"]))
                yield f"case {number}", smoother, nodes, np.array(case["values"]), targets, np.array(fit["expected"])
        else:
            smoother = {
                "berrut": BerrutRational(),
                "lagrange": LagrangePolynomial(),
                "least-squares": LagrangePolynomial(case.get("degree")),
                "floater-hormann": FloaterHormann(case.get("degree", 0)),
                "cubic-bspline": CubicBSpline(),
            }[method]
            values = np.random.default_rng(number).standard_normal(nodes.size)
            # the right rows have all their digits; of their products with the values only rounding is lost
            expected = np.array([np.dot(np.array(row, dtype=np.longdouble), values) for row in case["rows"]])
            yield f"case {number}", smoother, nodes, values, targets, expected.astype(float)


def _measure(
    method: str,
    family: str,
    smoother: AbstractLinearSmoother,
    nodes: FloatArray,
    values: FloatArray,
    targets: FloatArray,
    expected: FloatArray,
) -> Iterator[dict[str, Any]]:
    matrix = smoother.operator(nodes, targets)
    lebesgue = lebesgue_constant(matrix)
    for dtype in DTYPES:
        outputs, names, what = values.astype(dtype), np.arange(nodes.size), Values("the values", "")
        # where half precision overflows, the error is infinite and stays so
        fitted = combine(lambda real, _: matrix.astype(real), outputs, what, names, False)
        scale = max(np.abs(values).max(), np.abs(expected).max())
        condition = lebesgue * np.abs(values).max() / np.abs(expected).max()
        parameters = ", ".join(f"{name}={value}" for name, value in vars(smoother).items())
        cell = dict(zip(KEYS, (method, family, nodes.size, parameters, np.dtype(dtype).name), strict=True))
        error = np.abs(fitted.astype(float) - expected).max() / scale
        yield cell | {"error": error, "lebesgue": lebesgue, "condition": condition}


def lost(measured: pd.DataFrame, committed: pd.DataFrame) -> list[str]:
    """Name the cells that have lost a digit, or that the committed table does not have.

    Parameters
    ----------
    measured, committed : DataFrame
        From `table`.

    Returns
    -------
    list of str
    """
    both = measured.merge(committed, how="left", on=KEYS, suffixes=("", "_committed"))
    rounding = both["dtype"].map(lambda name: float(np.finfo(name).eps) / 2)
    allowed = _LOSS * np.maximum(both["error_committed"], rounding)
    worse = both[~(both["error"] <= allowed)]  # NaN, in either table, is worse too
    return [
        f"{' | '.join(str(row[key]) for key in KEYS)}: error {row['error']:.1e}, committed {row['error_committed']:.1e}"
        for row in worse.to_dict("records")
    ]


def committed() -> pd.DataFrame:
    """The table as it was committed.

    Returns
    -------
    DataFrame
    """
    return pd.read_csv(COMMITTED, keep_default_na=False, na_values=["nan"]).astype({"parameters": str})


def print_stability(measured: pd.DataFrame, output: Console) -> None:
    """Print the worst cell of every method and dtype.

    Parameters
    ----------
    measured : DataFrame
        From `table`.
    output : rich.console.Console
    """
    shown = Table(title="Largest error against 60 digits", box=SIMPLE_HEAD)
    for column in ("method", "dtype", "error", "at nodes", "n", "parameters", "Lebesgue constant", "condition"):
        shown.add_column(column)
    worst = measured.loc[measured.groupby(["method", "dtype"], sort=False)["error"].idxmax()]
    for row in worst.to_dict("records"):
        numbers = [f"{row[key]:.1e}" for key in ("error", "lebesgue", "condition")]
        where = (row["nodes"], str(row["n"]), row["parameters"])
        shown.add_row(row["method"], row["dtype"], numbers[0], *where, *numbers[1:])
    output.print(shown)
