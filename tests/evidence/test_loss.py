import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letcc import CodedScheme
from letcc.rates import Verdict
from letcc.stragglers import AtMost
from theory.certification import examine
from theory.claims import BY_ID
from theory.evidence import Cell, LossSplit

CLAIM = BY_ID["loss-split"]


def losses(scheme, x, received, function):
    """L, L_dec and L_enc of a function by the real pipeline; for m functions at once, what their squares sum to.

    Returns
    -------
    tuple of ndarray, shape (sets * K, m)
        What is squared: the whole error, the decoder's part, the encoder's part.
    """
    outputs = function(scheme.encode(x))
    own = function(scheme.encoder.operator(scheme.data_points, scheme.data_points) @ x)
    truth = function(x)
    decoded = [scheme.decode(outputs[f], f) for f in received]
    parts = [each - truth for each in decoded], [each - own for each in decoded], [own - truth for _ in decoded]
    return tuple(np.concatenate(part) / np.sqrt(len(decoded) * x.size) for part in parts)


def prepared(num_workers, num_data, stragglers, smoothing, seed):
    """As the cells of the claim: inputs in random order and five random received sets."""
    scheme = CodedScheme.letcc(num_data, num_workers, encoder_smoothing=smoothing)
    rng = np.random.default_rng(seed)
    x = rng.permutation(scheme.data_points)
    return scheme, x, [AtMost(stragglers).sample(num_workers, rng) for _ in range(5)]


class Tabulated:
    """Functions given by their values at every point where the pipeline evaluates them."""

    def __init__(self, scheme, x, values=None):
        own = scheme.encoder.operator(scheme.data_points, scheme.data_points) @ x
        self.points = np.unique(np.concatenate([x, own, scheme.encode(x)]).round(12))
        self.values = np.eye(self.points.size) if values is None else values(self.points.size)

    def __call__(self, inputs):
        nearest = np.abs(inputs[:, None] - self.points).argmin(axis=1)
        assert np.abs(self.points[nearest] - inputs).max() < 1e-11
        return self.values[nearest]


class TestLargestRatio:
    @pytest.mark.parametrize("smoothing", [1e-5, 1e-1])
    @pytest.mark.parametrize("sizes", [(32, 8, 0), (32, 8, 8), (66, 16, 21)])
    def test_the_maximising_function_really_run(self, sizes, smoothing):
        scheme, x, received = prepared(*sizes, smoothing, seed=0)
        table = Tabulated(scheme, x)
        loss, decoder, encoder = losses(scheme, x, received, table)
        _, scales, directions = np.linalg.svd(np.concatenate([decoder, encoder]), full_matrices=False)
        kept = scales > 1e-9 * scales[0]
        whitened = directions[kept].T / scales[kept]
        _, _, right = np.linalg.svd(loss @ whitened)
        table.values = whitened @ right[0][:, None]
        whole, decoding, encoding = (float(np.sum(part**2)) for part in losses(scheme, x, received, table))
        ratio = whole / (2 * decoding + 2 * encoding)
        assert ratio == pytest.approx(examine(Cell(CLAIM.id, "lambda_e", *sizes, smoothing))["error"], rel=1e-7)
        if sizes[0] % 2 == 0:
            assert ratio == pytest.approx(1, abs=1e-7)
            assert decoding == pytest.approx(encoding, rel=1e-5)  # equality in (a + b)^2 <= 2 a^2 + 2 b^2
        else:  # N = 65: all data points are worker points, at most of which the decoder cannot err
            assert 0.8 < ratio < 0.95

    @given(
        num_workers=st.integers(4, 30),
        num_data=st.integers(2, 9),
        lost=st.floats(0, 0.7),
        smoothing=st.floats(-7, 1).map(lambda log: 10.0**log) | st.just(0.0),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_no_function_exceeds_one(self, num_workers, num_data, lost, smoothing, seed):
        scheme, x, received = prepared(num_workers, num_data, int(lost * num_workers), smoothing, seed)
        table = Tabulated(scheme, x, lambda size: np.random.default_rng(seed).standard_normal((size, 20)))
        whole, decoding, encoding = (np.sum(part**2, axis=0) for part in losses(scheme, x, received, table))
        assert (whole <= 2 * (decoding + encoding) * (1 + 1e-9)).all()

    def test_interpolating_encoder_makes_the_loss_the_decoder_s(self):
        scheme, x, received = prepared(32, 8, 8, 0.0, seed=3)
        whole, decoding, encoding = losses(scheme, x, received, np.sin)
        assert np.abs(encoding).max() < 1e-12
        np.testing.assert_allclose(whole, decoding, atol=1e-12)
        assert examine(Cell(CLAIM.id, "lambda_e", 32, 8, 8, 0.0))["error"] == pytest.approx(0.5, abs=1e-8)


class TestCertified:
    def test_attained_with_the_factors_and_not_without(self, rows):
        evidence = rows[CLAIM.id]["certified"]
        assert evidence["largest L / (L_dec + L_enc)"] == pytest.approx(1, abs=1e-9)
        assert evidence["at lambda_e = 0"] == pytest.approx(0.5, abs=1e-8)
        assert 0.5 < evidence["for a smooth f"] < 0.7
        control = rows["loss-split-1"]["certified"]
        assert control["largest L / (L_dec + L_enc)"] == pytest.approx(2, abs=1e-9)
        assert control["for a smooth f"] > 1.1  # no contrived function is needed to refute it

    @pytest.mark.parametrize(("largest", "verdict"), [(1, Verdict.HOLDS), (1 + 1e-6, Verdict.REFUTED)])
    def test_one_violation_is_enough(self, largest, verdict):
        table = [
            {"error": error, "smooth": 0.5, "parameter": p} for error, p in ((0.5, 0.0), (largest, 1e-3), (1, 0.1))
        ]
        assert LossSplit().judge(CLAIM, table)[0] == verdict
