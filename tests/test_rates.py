import math

import numpy as np
import pytest
from scipy.stats import t

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

    def test_points_off_the_line_at_the_beginning_are_left_out(self):
        errors = X**-3.0
        errors[:2] = 50, 1e-9
        fit = fit_exponent(X, errors)
        assert fit.value == pytest.approx(-3, abs=1e-12)
        assert fit.window == (X[2], X[-1])
        assert fit.local_slopes[0] == pytest.approx(math.log2(1e-9 / 50))
        assert len(fit.local_slopes) == 7

    @pytest.mark.parametrize("points", [3, 4, 5, 6])
    def test_what_is_straight_is_used_to_its_beginning(self, points):
        fit = fit_exponent(X[:points], X[:points] ** -2.0)
        assert fit.window == (X[0], X[points - 1])
        assert fit.value == pytest.approx(-2, abs=1e-12)

    def test_three_points_always_stay(self):
        fit = fit_exponent(X, np.exp(-(np.log(X) ** 3)))
        assert fit.window == (X[-3], X[-1])

    def test_local_slopes_that_wander_before_they_settle_are_left_out(self):
        """As those of LeTCC for S = 16 do."""
        errors = np.exp(np.cumsum(np.log(2) * np.array([0, -1.5, -6.3, -3.4, -3.02, -3.01, -3.0, -2.99])))
        fit = fit_exponent(X, errors)
        assert fit.window[0] >= X[2]
        assert fit.judge(-3) is Verdict.ATTAINED

    @pytest.mark.parametrize("rounding", [[3e-12, 2e-13, 1e-12], [0.0, 1e-3, 1e-3], [np.nan, 1e-3, 1e-3], [-1.0, 0, 0]])
    def test_rounding_and_all_that_follows_it_are_left_out(self, rounding):
        errors = X**-3.0
        errors[5:] = rounding
        fit = fit_exponent(X, errors, floor=5e-12)
        assert fit.value == pytest.approx(-3, abs=1e-12)
        assert fit.window == (X[0], X[4])
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

    def test_the_interval_is_the_jackknife_s(self):
        rng = np.random.default_rng(3)
        errors = X**-3.0 * np.exp(0.3 * rng.standard_normal(X.size))
        log_x, log_error = np.log(X), np.log(errors)
        slope = np.polyfit(log_x, log_error, 1)[0]
        without = [np.polyfit(np.delete(log_x, i), np.delete(log_error, i), 1)[0] for i in range(X.size)]
        curvature = np.polyfit(log_x, log_error, 2)[0]
        drift = abs(curvature) * (log_x[-1] - log_x[0])
        margin = np.linalg.norm(without - slope) * t.ppf(0.975, X.size - 2) + max(drift, 0.05)
        fit = fit_exponent(X, errors)
        assert fit.window == (X[0], X[-1])
        assert (fit.low, fit.high) == (pytest.approx(slope - margin), pytest.approx(slope + margin))

    def test_uncertainty_is_weight_and_interval(self):
        rng = np.random.default_rng(5)
        spread = np.geomspace(0.02, 0.5, X.size)
        errors = X**-3.0 * np.exp(spread * rng.standard_normal(X.size))
        (slope, _), covariance = np.polyfit(np.log(X), np.log(errors), 1, w=1 / spread, cov="unscaled")
        fit = fit_exponent(X, errors, uncertainty=spread)
        assert fit.window == (X[0], X[-1])
        assert fit.value == pytest.approx(slope)
        assert fit.high - fit.value > 1.95996 * covariance[0, 0] ** 0.5 + 0.05

    def test_uncertainty_that_the_scatter_belies_is_not_believed(self):
        rng = np.random.default_rng(1)
        errors = X**-3.0 * np.exp(0.3 * rng.standard_normal(X.size))
        believed, belied = (fit_exponent(X, errors, uncertainty=np.full(X.size, u)) for u in (0.3, 1e-6))
        assert belied.high - belied.low > 0.5 * (believed.high - believed.low)

    def test_two_interleaved_sequences_are_no_power(self):
        """BACC against S + 1 for S = 0..8, which depends on the parity of S: each parity has a slope of about 2."""
        errors = np.array([4.2e-5, 1.39e-3, 5.8e-4, 9.9e-3, 1.8e-3, 2.7e-2, 4.4e-3, 5.3e-2, 7.2e-3])
        fit = fit_exponent(np.arange(1, 10), errors)
        assert fit.high - fit.low > 1.5
        assert {fit.judge(claimed) for claimed in (1.5, 2.0, 2.5)} == {Verdict.INCONCLUSIVE}

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

    @pytest.mark.parametrize(
        ("uncertainty", "message"),
        [
            ([0.1, 0.1], r"\(3,\), not \(2,\)"),
            (0.1, r"\(3,\), not \(\)"),
            ([0.1, 0.0, 0.1], "positive"),
            ([0.1, -0.1, 0.1], "positive"),
            ([0.1, np.inf, 0.1], "positive"),
            ([0.1, np.nan, 0.1], "positive"),
        ],
    )
    def test_bad_uncertainty(self, uncertainty, message):
        with pytest.raises(InvalidInput, match=message):
            fit_exponent(X[:3], X[:3] ** -2, uncertainty=uncertainty)


def simulate(errors, spread, known, floor=0.0, times=500):
    """Share of the intervals that cover -3, and their median width."""
    rng = np.random.default_rng(0)
    low, high = np.empty((2, times))
    for i in range(times):
        noisy = errors(rng) * np.exp(spread * rng.standard_normal(spread.size))
        fit = fit_exponent(X[: spread.size], noisy, floor=floor, uncertainty=spread if known else None)
        low[i], high[i] = fit.low, fit.high
    return np.mean((low <= -3) & (high >= -3)), np.median(high - low)


class TestCoverage:
    """On synthetic errors of slope -3 intervals cover it as often as they say, and say something."""

    LEAST = 0.95 - 3 * math.sqrt(0.95 * 0.05 / 500)

    @pytest.mark.parametrize("known", [False, True])
    @pytest.mark.parametrize(
        ("spread", "width"),
        [
            (np.full(4, 0.05), 0.6),
            (np.full(7, 0.3), 0.9),
            (np.full(8, 0.02), 0.15),
            (np.geomspace(0.02, 0.5, 7), 0.8),
            (np.geomspace(0.5, 0.02, 7), 0.5),
        ],
    )
    def test_of_a_power(self, spread, width, known):
        covered, median = simulate(lambda _: X[: spread.size] ** -3.0, spread, known)
        assert covered >= self.LEAST
        assert median <= width

    @pytest.mark.parametrize("known", [False, True])
    @pytest.mark.parametrize("transient", [-10, 4, 10])
    @pytest.mark.parametrize(("noise", "width"), [(0.02, 0.3), (0.1, 0.5)])
    def test_of_a_transient(self, transient, noise, width, known):
        covered, median = simulate(lambda _: X[:7] ** -3.0 * (1 + transient / X[:7]), np.full(7, noise), known)
        assert covered >= self.LEAST
        assert median <= width

    @pytest.mark.parametrize("known", [False, True])
    def test_of_what_ends_in_rounding(self, known):
        rounding = 1e-10
        covered, median = simulate(
            lambda rng: X**-3.0 + rounding * rng.random(X.size), np.full(8, 0.05), known, floor=10 * rounding
        )
        assert covered >= self.LEAST
        assert median <= 0.35


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


@pytest.mark.parametrize("claimed", [np.nan, np.inf, "x", None])
def test_a_claimed_exponent_is_a_number(claimed):
    with pytest.raises(InvalidInput, match="finite number"):
        fit_exponent([1, 2, 4, 8], [8, 4, 2, 1]).judge(claimed)
