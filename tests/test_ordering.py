import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import letcc
from letcc.exceptions import InvalidInput, NonFiniteValues, NotFitted
from letcc.ordering import ShortPath
from letcc.smoothers import SmoothingSpline, SobolevRidge


def length(path, x, metric=None):
    steps = np.diff(np.asarray(x).reshape(len(x), -1)[path], axis=0)
    return np.linalg.norm(steps, axis=1).sum()


class TestPath:
    @pytest.mark.parametrize("seed", range(10))
    def test_is_close_to_the_shortest(self, seed):
        x = np.random.default_rng(seed).normal(size=(7, 2))
        shortest = min(length(list(order), x) for order in itertools.permutations(range(7)))
        assert length(ShortPath().path(x), x) <= 1.15 * shortest

    @pytest.mark.parametrize("count", [2, 3, 30, 200, 450])
    def test_recovers_a_line(self, count):
        rng = np.random.default_rng(count)
        t = rng.permutation(count).astype(float)
        x = t[:, None] * rng.normal(size=5) + 3
        path = ShortPath().path(x)
        assert abs(np.diff(t[path])).tolist() == [1.0] * (count - 1)

    @given(st.integers(1, 40), st.integers(0, 2**32 - 1))
    @settings(max_examples=30, deadline=None)
    def test_no_reversal_shortens_it(self, count, seed):
        x = np.random.default_rng(seed).normal(size=(count, 3))
        path = ShortPath().path(x)
        assert sorted(path) == list(range(count))
        for i, j in itertools.combinations(range(count + 1), 2):
            other = np.concatenate([path[:i], path[i:j][::-1], path[j:]])
            assert length(other, x) >= length(path, x) * (1 - 1e-9)

    def test_many_inputs_are_far_better_than_as_drawn(self):
        x = np.random.default_rng(0).normal(size=(700, 4))
        assert length(ShortPath().path(x), x) < 0.6 * length(np.arange(700), x)

    def test_metric(self):
        x = np.array([[1.0, 0.0], [10.0, 0.1], [0.0, 1.0], [0.1, 10.0]])
        path = ShortPath(metric="cosine").path(x).tolist()
        assert {frozenset(path[:2]), frozenset(path[2:])} == {frozenset({0, 1}), frozenset({2, 3})}


class TestDataPoints:
    def test_gaps_are_the_square_roots_of_distances(self):
        x = np.array([0.0, 1.0, 5.0, 14.0])[[2, 0, 3, 1]]  # 1, 4 and 9 apart
        points = ShortPath().data_points(x)
        ordered = np.sort(points)
        gaps = np.diff(ordered)
        up = gaps / gaps[0], gaps[::-1] / gaps[-1]
        assert any(np.allclose(ratio, [1, 2, 3]) for ratio in up)
        np.testing.assert_allclose([ordered[0] + 1, 1 - ordered[-1]], gaps.mean() / 2)
        assert np.argsort(points).tolist() in ([1, 3, 0, 2], [2, 0, 3, 1])

    @pytest.mark.parametrize(("power", "ratios"), [(0, [1, 1, 1]), (1, [1, 4, 9])])
    def test_power(self, power, ratios):
        gaps = np.diff(np.sort(ShortPath(power).data_points(np.array([0.0, 1.0, 5.0, 14.0]))))
        assert any(np.allclose(g / g[0], ratios) for g in (gaps, gaps[::-1]))

    def test_equal_inputs_keep_points_of_their_own(self):
        points = ShortPath().data_points(np.array([[1.0, 2.0]] * 3 + [[5.0, 2.0]]))
        assert np.diff(np.sort(points)).min() > 1e-3
        np.testing.assert_allclose(ShortPath().data_points(np.ones((4, 2))), [-0.75, -0.25, 0.25, 0.75])

    def test_one_input(self):
        assert ShortPath().data_points(np.ones((1, 3))).tolist() == [0.0]

    def test_torch_gives_the_same(self, torch):
        x = np.random.default_rng(0).normal(size=(9, 2, 3))
        np.testing.assert_array_equal(
            ShortPath().data_points(torch.from_numpy(x).requires_grad_()), ShortPath().data_points(x)
        )

    def test_nan_is_refused(self):
        with pytest.raises(NonFiniteValues, match="inputs 1 contain NaN"):
            ShortPath().data_points(np.array([0.0, np.nan, 1.0]))

    @pytest.mark.parametrize("arguments", [{"power": 2}, {"power": -0.1}, {"power": "x"}, {"metric": "euclidian"}])
    def test_bad_parameters(self, arguments):
        with pytest.raises(InvalidInput, match=f"{next(iter(arguments))} "):
            ShortPath(**arguments)

    def test_a_metric_without_a_distance(self):
        with pytest.raises(InvalidInput, match="gives no distance"):
            ShortPath(metric="cosine").data_points(np.array([[0.0, 0.0], [1.0, 0.0]]))


class TestFit:
    X = np.random.default_rng(3).normal(size=(8, 5))

    def test_differs_only_in_its_data_points(self):
        scheme = letcc.CodedScheme.recommended(8, 40)
        fitted = scheme.fit(self.X)
        assert fitted.ordering is None
        assert (fitted.encoder, fitted.decoder) == (SmoothingSpline(0.0), SobolevRidge(0.5, 0.0))
        np.testing.assert_array_equal(fitted.worker_points, scheme.worker_points)
        np.testing.assert_array_equal(fitted.data_points, ShortPath(0.0).data_points(self.X))
        np.testing.assert_allclose(np.sort(fitted.data_points), scheme.data_points)
        assert fitted.fit(self.X[::-1]) is fitted

    def test_nothing_is_permuted(self):
        fitted = letcc.CodedScheme.recommended(8, 400).fit(self.X)
        np.testing.assert_allclose(fitted.decode(np.sin(fitted.encode(self.X))), np.sin(self.X), atol=2e-4)

    def test_order_of_the_inputs_does_not_matter(self):
        shuffle = np.random.default_rng(0).permutation(8)
        a, b = (letcc.CodedScheme.recommended(8, 40).fit(x) for x in (self.X, self.X[shuffle]))
        same = np.allclose(a.data_points[shuffle], b.data_points)
        assert same or np.allclose(a.data_points[shuffle], -b.data_points)

    def test_a_scheme_that_does_not_adapt_returns_itself(self):
        scheme = letcc.CodedScheme.letcc(8, 40)
        assert scheme.fit(self.X) is scheme

    @pytest.mark.parametrize(
        "use",
        [
            lambda scheme, x: scheme.encode(x),
            lambda scheme, x: scheme.encoding_matrix(),
            lambda scheme, x: scheme.decode(np.ones((40, 2))),
            lambda scheme, x: scheme.decoding_matrix([1, 2, 3]),
            lambda scheme, x: scheme.decoding_matrices([[1, 2, 3]]),
            lambda scheme, x: scheme.resolve(np.ones((40, 2))),
            lambda scheme, x: letcc.certify(scheme),
        ],
    )
    def test_unfitted(self, use):
        with pytest.raises(NotFitted, match=r"use the scheme that fit\(x\) returns"):
            use(letcc.CodedScheme.recommended(8, 40), self.X)

    def test_workers_gather_about_the_data_points(self):
        """Each of eight cells has five workers within 0.7 of its half width of 1/8."""
        scheme = letcc.CodedScheme.recommended(8, 40)
        distance = np.abs(np.subtract.outer(scheme.worker_points, scheme.data_points))
        assert distance.min(axis=1).max() == pytest.approx(0.7 / 8)
        assert (np.bincount(distance.argmin(axis=1)) == 5).all()
        wide = letcc.CodedScheme.recommended(8, 40, width=1.0)
        np.testing.assert_allclose(wide.worker_points, letcc.nodes.equispaced(40), atol=1e-15)

    @pytest.mark.parametrize("width", [0, -1, 1.5, float("nan")])
    def test_bad_width(self, width):
        with pytest.raises(InvalidInput, match="width is"):
            letcc.CodedScheme.recommended(8, 40, width=width)

    @given(st.integers(1, 300), st.integers(1, 40), st.floats(1e-6, 1))
    @settings(deadline=None)
    def test_clusters_are_distinct_ascending_points(self, n, cells, width):
        points = letcc.nodes.clustered(n, cells, width)
        assert (np.diff(points) > 0).all()
        assert np.abs(points).max() <= 1

    def test_wrong_number_of_inputs(self):
        with pytest.raises(InvalidInput, match="8 data points, but there are 7 inputs"):
            letcc.CodedScheme.recommended(8, 40).fit(self.X[:7])

    def test_identity_and_copies(self):
        scheme = letcc.CodedScheme.recommended(8, 40)
        assert pickle.loads(pickle.dumps(scheme)) == scheme
        assert scheme != letcc.CodedScheme(scheme.encoder, scheme.decoder, scheme.data_points, scheme.worker_points)
        assert "ordering=ShortPath(power=0.0" in repr(scheme)
        with pytest.raises(InvalidInput, match="ordering must be a ShortPath"):
            letcc.CodedScheme(scheme.encoder, scheme.decoder, scheme.data_points, scheme.worker_points, "short")
