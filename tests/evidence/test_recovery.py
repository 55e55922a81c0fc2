import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from letcc.stragglers import AtMost
from theory.claims import BY_ID
from theory.evidence.recovery import best_linear_mse

OPTIMAL, LINEAR = BY_ID["optimal-recovery"], BY_ID["best-linear"]


class TestOptimalRecovery:
    def test_letcc_attains_it_on_a_hundred_sets(self, rows):
        evidence = rows[OPTIMAL.id]["certified"]
        assert evidence["LeTCC's distance from 1"] < 1e-6
        assert evidence["least ratio of all"] > 1 - 1e-6

    @pytest.mark.parametrize(
        ("scheme", "points", "median", "largest"),
        [
            ("BACC", "chebyshev", 32.5, 645),
            ("BACC", "equispaced", 33.0, 382),
            ("Floater-Hormann, degree 3", "chebyshev", 7.16, 255.5),
            ("Floater-Hormann, degree 3", "equispaced", 2.17, 11.1),
            ("cubic B-spline", "chebyshev", 1.0, 2.88),
            ("LeTCC, lambda = 1e-6", "chebyshev", 1.67, 7.38),
        ],
    )
    def test_what_others_lose(self, errors, scheme, points, median, largest):
        row = errors(OPTIMAL.id, scheme).query("points == @points").iloc[0]
        assert row["median"] == pytest.approx(median, rel=0.01)
        assert row["error"] == pytest.approx(largest, rel=0.01)

    @pytest.mark.parametrize(
        ("change", "verdict"),
        [
            ({}, Verdict.HOLDS),
            ({"sweep": "LeTCC", "most": 1 + 1e-5}, Verdict.REFUTED),  # the spline is not the best
            ({"sweep": "BACC", "least": 1 - 1e-5}, Verdict.REFUTED),  # something is better than the best
        ],
    )
    def test_judge(self, change, verdict):
        row = {"sweep": "BACC", "points": "chebyshev", "median": 2.0, "error": 3.0, "least": 1.0, "most": 9.0}
        table = [row, row | {"sweep": "LeTCC", "most": 1.0}, row | {"sweep": "LeTCC", "most": 1.0} | change]
        assert OPTIMAL.evidence.judge(OPTIMAL, table)[0] == verdict


def worst_mse(weights, nodes, target, noise_std):
    """Of weights that reproduce lines, by quadrature of the squared Peano kernel."""
    breaks = np.unique(np.concatenate([nodes, [target]]))
    abscissae, quadrature = np.polynomial.legendre.leggauss(2)
    halves, centres = np.diff(breaks)[:, None] / 2, (breaks[1:] + breaks[:-1])[:, None] / 2
    s = (centres + halves * abscissae).ravel()
    kernel = np.clip(target - s, 0, None) - weights @ np.clip(nodes[:, None] - s, 0, None)
    return kernel**2 @ (halves * quadrature).ravel() + noise_std**2 * weights @ weights


class TestBestLinear:
    @pytest.mark.parametrize("noise_std", [0.03, 0.1, 1.0])
    @pytest.mark.parametrize("target", [-0.95, 0.1, 0.7])
    def test_by_numerical_minimisation(self, target, noise_std):
        nodes = np.array([-0.8, -0.1, 0.3, 0.9])
        lines = np.stack([np.ones(4), nodes])
        particular = np.linalg.pinv(lines) @ [1, target]
        free = np.linalg.svd(lines)[2][2:].T
        least = minimize(lambda c: worst_mse(particular + free @ c, nodes, target, noise_std), np.zeros(2), tol=1e-12)
        assert best_linear_mse(nodes, np.array([target]), noise_std) == pytest.approx([least.fun], rel=1e-7)

    @given(
        seed=st.integers(0, 1000),
        factor=st.floats(-4, 4).map(lambda log: 10.0**log),
        noise_std=st.sampled_from([0.01, 0.1, 1.0]),
    )
    def test_no_other_lambda_is_better(self, seed, factor, noise_std):
        received = AtMost(seed % 10).sample(20, seed)
        best = noise_std**2 / received.size
        scheme = CodedScheme.letcc(4, 20, decoder_smoothing=factor * best)
        certificate = certify(scheme, received, noise_std=noise_std)
        found = certificate.squared_bias + noise_std**2 * certificate.noise_gain
        least = best_linear_mse(scheme.worker_points[received], scheme.data_points, noise_std)
        assert (least > 0).all()
        assert (found >= least * (1 - 1e-9)).all()
        if not 0.5 < factor < 2:
            assert found.max() > least.max() * (1 + 1e-9)

    def test_letcc_at_its_best_lambda_attains_it(self, rows, errors):
        assert rows[LINEAR.id]["certified"]["off the best linear decoder by"] < 1e-9
        sweep = errors(LINEAR.id, "N")
        assert len(sweep) == 6
        ratio = rows[LINEAR.id]["certified"]["lambda / lambda*, best for the average"]
        assert ratio == pytest.approx(np.median(sweep.average))
        assert 2 < ratio < 4  # another lambda is best for the average over the data points

    @pytest.mark.parametrize(("off", "verdict"), [(1e-9, Verdict.HOLDS), (1e-5, Verdict.REFUTED)])
    def test_judge(self, off, verdict):
        row = {"error": 1.0, "least": 1.0, "num_workers": 64, "points": "chebyshev", "average": 2.9}
        assert LINEAR.evidence.judge(LINEAR, [row, row | {"error": 1 + off}])[0] == verdict
        assert LINEAR.evidence.judge(LINEAR, [row, row | {"least": 1 - off}])[0] == verdict
