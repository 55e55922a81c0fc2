import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from letcc.rates import Verdict
from letcc.smoothers import AbstractLinearSmoother, CubicBSpline, SmoothingSpline
from theory.claims import BY_ID
from theory.evidence import Scope, SplineOptimality

CLAIM = BY_ID["spline-optimality"]


def found(smoother, *smoothings):
    """Largest decrease over encoder and decoder, and the verdict."""
    evidence = SplineOptimality(smoother, smoothings)
    table = [{"sweep": c.sweep} | evidence.examine(CLAIM, c) for c in evidence.cells(CLAIM, Scope())]
    assert len(table) == 2 * len(smoothings)
    return max(row["error"] for row in table), evidence.judge(CLAIM, table)[0]


class SciPys(AbstractLinearSmoother):
    """SciPy's smoothing spline, which goes on as a cubic outside and minimises the same objective in between."""

    def __init__(self, smoothing):
        self.smoothing = smoothing

    def _sorted_operator(self, nodes, targets):
        splines = [make_smoothing_spline(nodes, e, lam=nodes.size * self.smoothing) for e in np.eye(nodes.size)]
        return np.stack([spline(targets) for spline in splines], axis=1)


class TestOptimality:
    def test_of_the_natural_spline(self, rows, errors):
        evidence = rows[CLAIM.id]["certified"]
        assert evidence["largest decrease"] < 1e-15
        assert evidence["stationarity's residual"] < 1e-7
        for side in ("encoder", "decoder"):
            assert list(errors(CLAIM.id, side).parameter) == [0, 1e-6, 1e-3, 1]

    @pytest.mark.parametrize("factor", [0.99, 1.01, 2])
    def test_a_slightly_wrong_lambda_is_detected(self, factor):
        decrease, verdict = found(lambda smoothing: SmoothingSpline(factor * smoothing), 1e-3)
        assert decrease > 1e-9
        assert verdict != Verdict.HOLDS
        if factor == 2:
            assert verdict == Verdict.REFUTED

    def test_lambda_in_the_sum_form_is_detected(self):
        decrease, verdict = found(lambda smoothing: SmoothingSpline(smoothing / 12), 1e-3)
        assert decrease > 1e-3
        assert verdict == Verdict.REFUTED

    def test_smoothing_where_interpolation_is_asked_for_is_detected(self):
        """No perturbation that leaves the values at the nodes alone could lower its roughness."""
        assert found(lambda smoothing: SmoothingSpline(1e-6), 0.0) == (1, Verdict.REFUTED)

    def test_not_a_knot_is_detected(self, rows):
        decrease, verdict = found(lambda smoothing: CubicBSpline(), 0.0)
        assert decrease > 0.05
        assert verdict == Verdict.REFUTED
        assert rows["not-a-knot-optimality"]["certified"]["largest decrease"] > 0.05

    def test_scipy_s_cubic_beyond_the_outermost_nodes_is_detected(self):
        decrease, verdict = found(SciPys, 1e-3)
        assert decrease > 0
        assert verdict != Verdict.HOLDS


class TestJudge:
    @pytest.mark.parametrize(
        ("decrease", "residual", "verdict"),
        [
            (1e-13, 1e-9, Verdict.HOLDS),
            (1e-9, 1e-9, Verdict.INCONCLUSIVE),  # more than rounding, too little to be a better function
            (1e-13, 1e-3, Verdict.INCONCLUSIVE),  # no perturbation found it
            (1e-5, 1e-9, Verdict.REFUTED),
        ],
    )
    def test_by_both(self, decrease, residual, verdict):
        good = {"error": 0.0, "stationarity": 0.0}
        table = [good, {"error": decrease, "stationarity": residual}, good]
        assert CLAIM.evidence.judge(CLAIM, table)[0] == verdict
