import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from strategies import point_sets, values

from letcc import CodedScheme
from letcc.rates import Verdict
from letcc.smoothers import SmoothingSpline
from theory.bounds import training_error
from theory.claims import BY_ID
from theory.evidence import Scope
from theory.evidence.encoder import worst_training_error

CLAIM = BY_ID["encoder-training-error"]


def roughness(nodes, data):
    """Least int x''^2 of a function through the data: the second derivative of the natural spline is broken lines."""
    bent = CubicSpline(nodes, data, bc_type="natural")(nodes, 2)
    return np.diff(nodes) @ (bent[1:] ** 2 + bent[1:] * bent[:-1] + bent[:-1] ** 2) / 3


class TestBound:
    def test_by_hand(self):
        assert training_error(1e-3) == 0.25e-3
        assert training_error(0.04, 5.0) == pytest.approx(0.05)
        assert training_error(0.0) == 0

    @given(data=st.data(), smoothing=st.floats(-9, 2).map(lambda log: 10.0**log))
    def test_no_data_exceed_it(self, data, smoothing):
        """Any K data lie on a spline; of all functions through them it is the least rough."""
        nodes = np.sort(data.draw(point_sets(min_size=3)))
        x = data.draw(values(nodes.size))
        fitted = SmoothingSpline(smoothing).operator(nodes, nodes) @ x
        assert np.mean((fitted - x) ** 2) <= training_error(smoothing, roughness(nodes, x)) * (1 + 1e-9) + 1e-24

    @given(seed=st.integers(0, 1000), smoothing=st.sampled_from([1e-6, 1e-4, 1e-2]))
    def test_of_the_loss_of_a_lipschitz_function(self, seed, smoothing):
        """L_enc of f = sin, q = 1, for data on a function with int x''^2 = 1."""
        scheme = CodedScheme.letcc(12, 24, encoder_smoothing=smoothing)
        x = np.random.default_rng(seed).standard_normal(12)
        order = np.argsort(scheme.data_points)
        x /= np.sqrt(roughness(scheme.data_points[order], x[order]))
        fitted = scheme.encoder.operator(scheme.data_points, scheme.data_points) @ x
        assert 2 * np.mean((np.sin(fitted) - np.sin(x)) ** 2) <= 2 * training_error(smoothing)


class TestWorstTrainingError:
    @pytest.mark.parametrize("smoothing", [1e-6, 1e-3, 1.0])
    @pytest.mark.parametrize("num_data", [4, 9, 20])
    def test_by_the_frequencies_of_the_data(self, num_data, smoothing):
        """The largest (lambda nu / (1 + lambda nu))^2 / nu over the ratios nu of roughness to mean square."""
        nodes = np.sort(np.random.default_rng(num_data).uniform(-1, 1, num_data))
        unit = np.eye(num_data)
        pairs = [[roughness(nodes, a + b) - roughness(nodes, a - b) for a in unit] for b in unit]
        frequencies = num_data * np.linalg.eigvalsh(np.array(pairs) / 4)[2:]
        left = (smoothing * frequencies / (1 + smoothing * frequencies)) ** 2 / frequencies
        assert worst_training_error(nodes, smoothing) == pytest.approx(left.max(), rel=1e-6)

    def test_is_the_bound_where_some_frequency_is_one_over_lambda(self):
        nodes = np.linspace(-1, 1, 8)
        unit = np.eye(8)
        pairs = [[roughness(nodes, a + b) - roughness(nodes, a - b) for a in unit] for b in unit]
        frequency = 8 * np.linalg.eigvalsh(np.array(pairs) / 4)[4]
        assert worst_training_error(nodes, 1 / frequency) == pytest.approx(training_error(1 / frequency), rel=1e-9)

    def test_interpolation_leaves_none(self, rows):
        assert worst_training_error(np.linspace(-1, 1, 9), 0.0) <= 1e-28
        assert rows[CLAIM.id]["certified"]["at lambda_e = 0"] <= 1e-24


class TestCertified:
    def test_bound_is_tight_and_never_violated(self, rows, errors):
        assert 0.9999 < rows[CLAIM.id]["certified"]["largest exact/bound"] <= 1
        for points in ("chebyshev", "equispaced"):
            sweep = errors(CLAIM.id, f"lambda_e, {points}").query("parameter > 0")
            assert (sweep.error <= sweep.bound * (1 + 1e-12)).all()
            assert (sweep.error >= 0.5 * sweep.bound).all()
            assert rows[CLAIM.id]["certified"][f"lambda_e, {points}"]["value"] == pytest.approx(1, abs=0.05)


class TestJudge:
    @pytest.mark.parametrize(
        ("exponent", "constant", "at_zero", "verdict"),
        [
            (1, 0.25, 0, Verdict.ATTAINED),
            (1.1, 0.25, 0, Verdict.HOLDS),
            (1, 0.25 * (1 + 1e-9), 0, Verdict.REFUTED),  # above the bound
            (1, 0.25, 1e-9, Verdict.REFUTED),  # interpolation that misses its data
            (0.9, 1e-3, 0, Verdict.REFUTED),  # below the bound here, and above it as lambda goes to 0
        ],
    )
    def test_exponent_and_bound(self, exponent, constant, at_zero, verdict):
        table = [
            dataclasses.asdict(cell)
            | {
                "error": constant * cell.parameter**exponent if cell.parameter else at_zero,
                "bound": training_error(cell.parameter),
            }
            for cell in CLAIM.evidence.cells(CLAIM, Scope())
        ]
        assert CLAIM.evidence.judge(CLAIM, table)[0] == verdict
