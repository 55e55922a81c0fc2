import math

import numpy as np
import pytest

from letcc.exceptions import InvalidInput
from letcc.rates import Exponent, Verdict, fit_exponent

X = 2.0 ** np.arange(5, 13)


class TestFit:
    @pytest.mark.parametrize("exponent", [-3.0, -0.6, 1.6])
    def test_a_pure_power(self, exponent):
        fit = fit_exponent(X, 7 * X**exponent)
        assert fit.value == pytest.approx(exponent, abs=1e-12)
        assert (fit.low, fit.high) == (pytest.approx(exponent - 0.05), pytest.approx(exponent + 0.05))
        np.testing.assert_allclose(fit.local_slopes, np.full(7, exponent), atol=1e-12)

    def test_the_first_two_points_are_left_out(self):
        errors = X**-3.0
        errors[:2] = 50, 1e-9
        fit = fit_exponent(X, errors)
        assert fit.value == pytest.approx(-3, abs=1e-12)
        assert fit.window == (X[2], X[-1])
        assert fit.local_slopes[0] == pytest.approx(math.log2(1e-9 / 50))
        assert len(fit.local_slopes) == 7

    @pytest.mark.parametrize(("points", "first"), [(3, 0), (4, 1), (5, 2), (6, 2)])
    def test_but_three_always_stay(self, points, first):
        fit = fit_exponent(X[:points], X[:points] ** -2.0)
        assert fit.window == (X[first], X[points - 1])
        assert fit.value == pytest.approx(-2, abs=1e-12)

    @pytest.mark.parametrize("rounding", [[3e-12, 2e-13, 1e-12], [0.0, 1e-3, 1e-3], [np.nan, 1e-3, 1e-3], [-1.0, 0, 0]])
    def test_rounding_and_all_that_follows_it_are_left_out(self, rounding):
        errors = X**-3.0
        errors[5:] = rounding
        fit = fit_exponent(X, errors, floor=5e-12)
        assert fit.value == pytest.approx(-3, abs=1e-12)
        assert fit.window == (X[2], X[4])
        assert len(fit.local_slopes) == 4

    def test_without_the_floor_rounding_would_have_been_fitted(self):
        errors = np.maximum(X**-3.0, 1e-9)
        assert fit_exponent(X, errors).value > -2.7
        assert fit_exponent(X, errors, floor=1.0001e-9).value == pytest.approx(-3, abs=1e-12)

    def test_drift_towards_the_asymptote_widens_the_interval(self):
        errors = X**-3.0 * (1 + 30 / X)
        straight, drifting = fit_exponent(X, X**-3.0), fit_exponent(X, errors)
        assert drifting.value < -3.02
        assert drifting.high - drifting.low > 1.5 * (straight.high - straight.low)
        assert drifting.judge(-3) is Verdict.ATTAINED

    def test_noise_is_in_the_interval_nineteen_times_in_twenty(self):
        rng = np.random.default_rng(0)
        fits = [fit_exponent(X, X**-3.0 * np.exp(0.5 * rng.standard_normal(X.size))) for _ in range(400)]
        covered = np.mean([fit.low <= -3 <= fit.high for fit in fits])
        assert covered >= 0.95
        assert np.mean([fit.high - fit.low for fit in fits]) < 2

    def test_the_interval_is_students(self):
        # three points: slope 0 and residuals (1, -2, 1) / 3 about it, one degree of freedom
        fit = fit_exponent(np.exp([0.0, 1.0, 2.0]), np.exp([0.0, -1.0, 0.0]))
        standard_error = math.sqrt((6 / 9) / 1 / 2)
        assert fit.value == pytest.approx(0, abs=1e-15)
        assert fit.high == pytest.approx(standard_error * math.tan(0.475 * math.pi) + 0.05, rel=1e-9)
        assert fit.low == pytest.approx(-fit.high)

    @pytest.mark.parametrize("errors", [[], [1.0], [1.0, 0.5], [1.0, 0.5, 0.0, 0.1], [0.0] * 8, [np.nan] * 8])
    def test_too_few_points_are_no_fit(self, errors):
        fit = fit_exponent(X[: len(errors)], errors)
        assert all(map(math.isnan, (fit.value, fit.low, fit.high)))
        assert (fit.window, fit.local_slopes) == ((), ())
        assert fit.judge(-3) is Verdict.INCONCLUSIVE

    @pytest.mark.parametrize(
        ("x", "errors", "message"),
        [
            ([1.0, 2.0, 3.0], [1.0, 0.5], r"\(3,\) and \(2,\)"),
            ([[1.0, 2.0]], [[1.0, 0.5]], "one axis"),
            ([0.0, 1.0, 2.0], [1.0, 0.5, 0.1], "ascend from above 0"),
            ([1.0, 3.0, 2.0], [1.0, 0.5, 0.1], "ascend from above 0"),
            ([1.0, 1.0, 2.0], [1.0, 0.5, 0.1], "ascend from above 0"),
            ([1.0, np.nan, 2.0], [1.0, 0.5, 0.1], "ascend from above 0"),
        ],
    )
    def test_bad_input(self, x, errors, message):
        with pytest.raises(InvalidInput, match=message):
            fit_exponent(x, errors)


class TestVerdict:
    @pytest.mark.parametrize(
        ("value", "claimed", "verdict"),
        [
            (-3.0, -3.0, Verdict.ATTAINED),
            (-3.0, -2.96, Verdict.ATTAINED),
            (-3.0, -3.04, Verdict.ATTAINED),
            (-3.0, -2.9, Verdict.HOLDS),
            (-3.0, -3.1, Verdict.REFUTED),
            (-2.0, -3.0, Verdict.REFUTED),
            (0.8, 1.6, Verdict.HOLDS),
            (2.9, 1.6, Verdict.REFUTED),
            (-25.0, -3.0, Verdict.INCONCLUSIVE),
            (25.0, 3.0, Verdict.INCONCLUSIVE),
            (math.inf, 3.0, Verdict.INCONCLUSIVE),
        ],
    )
    def test_of_an_exact_power(self, value, claimed, verdict):
        assert Exponent(value, value - 0.05, value + 0.05, (), ()).judge(claimed) is verdict

    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [
            (-4.9, -3.1, Verdict.HOLDS),
            (-2.9, -1.1, Verdict.REFUTED),
            (-3.6, -2.2, Verdict.ATTAINED),
            (-3.9, -2.1, Verdict.INCONCLUSIVE),
            (-3.0, -2.9, Verdict.ATTAINED),
            (-3.1, -3.0, Verdict.ATTAINED),
        ],
    )
    def test_an_interval_too_wide_attains_nothing_but_may_still_exclude(self, low, high, verdict):
        assert Exponent((low + high) / 2, low, high, (), ()).judge(-3) is verdict

    def test_of_fits(self):
        fits = {verdict: set() for verdict in Verdict}
        for claimed in (-2.0, -2.5, -3.0, -3.5):
            fits[fit_exponent(X, X**-3.0).judge(claimed)].add(claimed)
        assert fits[Verdict.HOLDS] == {-2.0, -2.5}
        assert fits[Verdict.ATTAINED] == {-3.0}
        assert fits[Verdict.REFUTED] == {-3.5}
