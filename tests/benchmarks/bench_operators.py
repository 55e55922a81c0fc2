"""Smoothing from outputs to estimates, N = 100 and K = 20: letcc beside what else one would take."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import SmoothingSpline

csaps = pytest.importorskip("csaps").csaps
NODES, TARGETS = chebyshev_second_kind(100), chebyshev_first_kind(20)


def letccs(smoothing, outputs):
    return SmoothingSpline(smoothing).operator(NODES, TARGETS) @ outputs


def scipys(smoothing, outputs):
    return make_smoothing_spline(NODES, outputs, lam=NODES.size * smoothing)(TARGETS)


def csapss(smoothing, outputs):
    return csaps(NODES, outputs.T, TARGETS, smooth=1 / (1 + NODES.size * smoothing)).T


@pytest.mark.parametrize("smoothing", [0.0, 1e-6])
@pytest.mark.parametrize(("m", "contender"), [(10, scipys), (1000, scipys), (1000, csapss)])
def test_operator_and_product(side_by_side, m, contender, smoothing):
    outputs = np.random.default_rng(0).standard_normal((NODES.size, m))
    np.testing.assert_allclose(contender(smoothing, outputs), letccs(smoothing, outputs), rtol=0, atol=1e-9)
    name = f"{contender.__name__[:-1]}, m = {m}, smoothing = {smoothing}"
    side_by_side(name, lambda: letccs(smoothing, outputs), lambda: contender(smoothing, outputs), rounds=25, inner=20)
