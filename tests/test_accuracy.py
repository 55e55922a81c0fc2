import json
import math
from pathlib import Path

import numpy as np
import pytest

from letcc.nodes import chebyshev_second_kind, equispaced
from letcc.smoothers import SmoothingSpline
from tests.reference import cases

REFERENCE = Path(__file__).parent / "reference"
DRAWN = json.loads((REFERENCE / "accuracy.json").read_text())["drawn"]
GIVEN = json.loads((REFERENCE / "spline.json").read_text())["given"]
BAR = 1e-14

pytestmark = pytest.mark.usefixtures("both_ways")


def relative_error(smoothing, nodes, values, targets, expected):
    fitted = SmoothingSpline(float(smoothing)).operator(nodes, targets) @ values
    return np.abs(fitted - expected).max() / max(np.abs(values).max(), np.abs(expected).max())


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: f"{case['family']}-{case['n']}")
def test_spline_is_right_to_rounding_for_every_smoothing(case):
    nodes, values, targets = cases.draw(case["family"], case["n"], case["seed"])
    if cases.digest(nodes, values) != case["sha256"]:
        pytest.skip("this platform draws other inputs than the reference values are for")
    errors = {
        fit["smoothing"]: relative_error(fit["smoothing"], nodes, values, targets, fit["expected"])
        for fit in case["fits"]
    }
    assert {smoothing: error for smoothing, error in errors.items() if error > BAR} == {}


@pytest.mark.parametrize("case", GIVEN, ids=lambda case: f"{case['nodes_kind']}-{case['smoothing']}")
def test_spline_against_values_of_another_implementation(case):
    error = relative_error(*(np.array(case[key]) for key in ("smoothing", "nodes", "values", "targets", "expected")))
    assert error <= BAR


@pytest.mark.parametrize("smoothing", [0.0, 1e-14, 1e-6, 1e2, 1e14, math.inf])
@pytest.mark.parametrize("family", [chebyshev_second_kind, equispaced])
def test_a_hundred_thousand_nodes_keep_constants_and_lines(family, smoothing):
    nodes, targets = family(100_000), np.array([-1.0, 1 / 3, 0.99])
    matrix = SmoothingSpline(smoothing).operator(nodes, targets)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-11)
    np.testing.assert_allclose(matrix @ nodes, targets, rtol=0, atol=1e-11)
