import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letcc import CodedScheme, certify, certify_many
from letcc.exceptions import DuplicateNodes, InfiniteCertificate, InvalidInput, TooFewReceived
from letcc.smoothers import (
    BerrutRational,
    CubicBSpline,
    FloaterHormann,
    LagrangePolynomial,
    SmoothingSpline,
    SobolevRidge,
)
from letcc.stragglers import AtMost, ConsecutiveBlock

LAMBDAS = [0.0, 1e-100, 1e-12, 1e-6, 1e-2, 1e4, np.inf]
SMOOTHERS = [
    *map(SmoothingSpline, LAMBDAS),
    SobolevRidge(0.3, 1e-6),
    BerrutRational(),
    LagrangePolynomial(),
    LagrangePolynomial(1),
    FloaterHormann(1),
    CubicBSpline(),
]

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("smoother", SMOOTHERS, ids=str)
@given(n=st.integers(2, 9), more=st.sampled_from([0, 3, 40]), seed=st.integers(0, 2**31))
def test_many_sets_of_nodes_as_one_by_one(smoother, n, more, seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(-1, 1, 30)
    nodes = np.array([rng.choice(grid, n, replace=False) for _ in range(1 + more)])  # in any order
    targets = np.concatenate([rng.uniform(-1.1, 1.1, 3), nodes[0, :1]])
    together = smoother.operators(nodes, targets)
    for matrix, each in zip(together, nodes, strict=True):
        alone = smoother.operator(each, targets)
        scale = np.abs(alone).sum(axis=1, keepdims=True)
        assert np.max(np.abs(matrix - alone) / scale) <= 2e-13


@pytest.mark.parametrize("smoothing", LAMBDAS)
def test_the_recursion_keeps_close_pairs_of_nodes(smoothing):
    rng = np.random.default_rng(0)
    nodes = np.sort(rng.uniform(-1, 1, (60, 20)), axis=1)
    nodes[:, 10] = nodes[:, 9] + 1e-7 * (nodes[:, 10] - nodes[:, 9])
    targets = np.linspace(-1, 1, 7)
    together = SmoothingSpline(smoothing).operators(nodes, targets)
    alone = np.array([SmoothingSpline(smoothing).operator(each, targets) for each in nodes])
    scale = np.abs(alone).sum(axis=2, keepdims=True)
    assert np.max(np.abs(together - alone) / scale) <= 2e-13


class TestDecodingMatrices:
    scheme = CodedScheme.letcc(6, 20, decoder_smoothing=1e-5)
    sets = np.array([AtMost(8).sample(20, seed) for seed in range(50)])

    def test_rows_follow_each_sets_own_order(self):
        shuffled = np.random.default_rng(0).permuted(self.sets, axis=1)
        matrices = self.scheme.decoding_matrices(shuffled)
        for matrix, received in zip(matrices, shuffled, strict=True):
            np.testing.assert_allclose(matrix, self.scheme.decoding_matrix(received), atol=1e-14)
        assert not matrices.flags.writeable

    def test_masks(self):
        masks = np.zeros((50, 20), dtype=bool)
        np.put_along_axis(masks, self.sets, True, axis=1)
        np.testing.assert_array_equal(self.scheme.decoding_matrices(masks), self.scheme.decoding_matrices(self.sets))

    @pytest.mark.parametrize(
        ("sets", "message"),
        [
            ([[0, 1], [2, 20]], "received\\[1\\] of set 1 is 20"),
            ([[0, 1], [-1, 2]], "of set 1 is -1"),
            ([[0, 1], [3, 3]], "worker 3 is named more than once"),
            ([[0, 1], [3]], "one size"),
            ([0, 1], r"\(2,\)"),
            ([[0.5, 1]], "float64"),
            (np.zeros((2, 0), int), "empty"),
            (np.eye(2, 19, dtype=bool), "20 workers"),
            ([[True] * 20, [True] * 19 + [False]], r"\[19, 20\]"),
        ],
    )
    def test_bad_sets(self, sets, message):
        with pytest.raises(InvalidInput, match=message):
            self.scheme.decoding_matrices(sets)

    def test_too_few(self):
        with pytest.raises(TooFewReceived, match="at least 6"):
            CodedScheme.lagrange(6, 20, degree=1).decoding_matrices([[0, 1], [2, 3]])

    def test_repeated_nodes_are_named_with_their_set(self):
        with pytest.raises(DuplicateNodes, match=r"nodes\[1\]\[0\] and nodes\[1\]\[2\]"):
            SmoothingSpline(0.0).operators([[0, 1, 2], [3, 1, 3]], [0.0])


class TestCertifyMany:
    @pytest.mark.parametrize("points", ["chebyshev", "equispaced"])
    @pytest.mark.parametrize("stragglers", [0, 1, 5, 30, 38])
    @pytest.mark.parametrize("ball", ["seminorm", "full"])
    @pytest.mark.parametrize("method", ["letcc", "smoothed", "bacc"])
    def test_as_one_by_one(self, method, ball, stragglers, points):
        if method == "bacc" and ball == "seminorm" and (40 - stragglers) % 2:
            pytest.skip("Berrut's interpolant reproduces lines from an even number only")
        smoothing = 1e-5 if method == "smoothed" else 0.0
        scheme = (
            CodedScheme.bacc(7, 40, points=points)
            if method == "bacc"
            else CodedScheme.letcc(7, 40, decoder_smoothing=smoothing, points=points)
        )
        sets = np.array(list(ConsecutiveBlock(stragglers).all(40)))
        many = certify_many(scheme, sets, ball=ball, noise_std=0.1)
        ones = [certify(scheme, received, ball=ball, noise_std=0.1) for received in sets]
        np.testing.assert_allclose(many.squared_bias, [one.squared_bias for one in ones], rtol=1e-10, atol=1e-28)
        np.testing.assert_allclose(many.noise_gain, [one.noise_gain for one in ones], rtol=1e-12)
        np.testing.assert_allclose(many.worst_pointwise_mse, [one.worst_pointwise_mse for one in ones], rtol=1e-11)

    def test_unsorted_points_and_sets(self):
        rng = np.random.default_rng(0)
        scheme = CodedScheme(
            SmoothingSpline(0.0), SmoothingSpline(1e-4), rng.uniform(-1, 1, 5), rng.uniform(-0.8, 0.9, 15)
        )
        sets = np.array([rng.permutation(15)[:9] for _ in range(20)])
        many = certify_many(scheme, sets)
        ones = [certify(scheme, received).squared_bias for received in sets]
        np.testing.assert_allclose(many.squared_bias, ones, rtol=1e-10)

    def test_one_infinite_set_is_an_error(self):
        with pytest.raises(InfiniteCertificate, match="full"):
            certify_many(CodedScheme.bacc(4, 7), [list(range(7))])
