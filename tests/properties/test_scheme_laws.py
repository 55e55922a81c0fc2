"""Laws of every scheme: a new one joins by one line in `SCHEMES`."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letcc import CodedScheme
from letcc.exceptions import TooFewReceived
from letcc.nodes import chebyshev_first_kind, equispaced
from letcc.smoothers import BerrutRational, SmoothingSpline, SobolevRidge
from tests.strategies import point_sets, received_sets, values

SCHEMES = [
    CodedScheme.letcc(4, 13),
    CodedScheme.letcc(5, 12, encoder_smoothing=1e-4, decoder_smoothing=1e-3, points="equispaced"),
    CodedScheme.bacc(4, 13),
    CodedScheme.bacc(5, 12, points="equispaced"),
    CodedScheme.lagrange(3, 12, degree=2),
    CodedScheme.lagrange(1, 12, degree=3),
    CodedScheme(
        BerrutRational(), SobolevRidge(0.3, 1e-6), chebyshev_first_kind(6)[::-1], equispaced(12)[[*range(11, -1, -1)]]
    ),
]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=str)


def received_by(scheme):
    return received_sets(scheme.num_workers, min_size=scheme.min_received)


def scale(matrix, *arrays):
    """What rounding in a product may grow to."""
    return np.abs(matrix).sum(axis=1).max() * max(1.0, *(np.abs(array).max() for array in arrays))


class TestReceived:
    @every_scheme
    @given(data=st.data())
    def test_the_order_of_arrival_permutes_columns_and_changes_no_estimate(self, scheme, data):
        received = data.draw(received_by(scheme))
        outputs = data.draw(values(scheme.num_workers))
        order = np.array(data.draw(st.permutations(range(received.size))))
        matrix = scheme.decoding_matrix(received)
        np.testing.assert_array_equal(scheme.decoding_matrix(received[order]), matrix[:, order])
        first, second = (scheme.decode(outputs[arrived], arrived) for arrived in (received, received[order]))
        np.testing.assert_allclose(second, first, rtol=0, atol=1e-14 * scale(matrix, outputs))

    @every_scheme
    @given(data=st.data())
    def test_a_mask_is_the_sorted_indices(self, scheme, data):
        received = np.sort(data.draw(received_by(scheme)))
        mask = np.zeros(scheme.num_workers, dtype=bool)
        mask[received] = True
        outputs = data.draw(values(received.size))
        np.testing.assert_array_equal(scheme.decoding_matrix(mask), scheme.decoding_matrix(received))
        np.testing.assert_array_equal(scheme.decode(outputs, mask.tolist()), scheme.decode(outputs, received.tolist()))

    @every_scheme
    @given(data=st.data())
    def test_a_batch_is_its_sets_one_by_one(self, scheme, data):
        first = data.draw(received_by(scheme))
        orders = data.draw(st.lists(st.permutations(range(scheme.num_workers)), max_size=4))
        sets = np.array([first, *(order[: first.size] for order in orders)])
        batch = scheme.decoding_matrices(sets)
        assert batch.shape == (len(sets), scheme.num_data, first.size)
        for matrix, received in zip(batch, sets, strict=True):
            single = scheme.decoding_matrix(received)
            np.testing.assert_allclose(matrix, single, rtol=0, atol=1e-13 * scale(single, single))

    @every_scheme
    @given(data=st.data())
    def test_none_is_everyone_in_order(self, scheme, data):
        outputs = data.draw(values(scheme.num_workers))
        np.testing.assert_array_equal(scheme.decode(outputs), scheme.decode(outputs, range(scheme.num_workers)))

    @every_scheme
    @given(data=st.data())
    def test_what_was_lost_is_not_looked_at(self, scheme, data):
        received = data.draw(received_by(scheme))
        outputs = data.draw(values(scheme.num_workers))
        other = np.where(np.isin(np.arange(scheme.num_workers), received), outputs, np.nan)
        np.testing.assert_array_equal(
            scheme.decode(outputs[received], received), scheme.decode(other[received], received)
        )

    @every_scheme
    def test_one_fewer_than_the_least_is_refused(self, scheme):
        if scheme.min_received == 1:
            assert scheme.decode([5.0], [scheme.num_workers - 1]) == pytest.approx(np.full(scheme.num_data, 5.0))
        else:
            with pytest.raises(TooFewReceived, match=f"at least {scheme.min_received}: wait for 1 more"):
                scheme.decoding_matrix(range(scheme.min_received - 1))


class TestLinearity:
    @every_scheme
    @given(data=st.data())
    def test_decoding_is_linear(self, scheme, data):
        received = data.draw(received_by(scheme))
        a, b = data.draw(st.floats(-3, 3)), data.draw(st.floats(-3, 3))
        x, y = (data.draw(values(received.size)) for _ in range(2))
        matrix = scheme.decoding_matrix(received)
        together = scheme.decode(a * x + b * y, received)
        apart = a * scheme.decode(x, received) + b * scheme.decode(y, received)
        np.testing.assert_allclose(together, apart, rtol=0, atol=1e-13 * scale(matrix, x, y))

    @every_scheme
    @given(data=st.data())
    def test_coding_is_the_matrix_column_by_column(self, scheme, data):
        received = data.draw(received_by(scheme))
        columns = scheme.decode(np.eye(received.size), received)
        np.testing.assert_allclose(columns, scheme.decoding_matrix(received), rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(scheme.encode(np.eye(scheme.num_data)), scheme.encoding_matrix(), rtol=1e-14)

    @every_scheme
    @given(data=st.data())
    def test_a_constant_survives(self, scheme, data):
        received = data.draw(received_by(scheme))
        constant = data.draw(st.floats(-10, 10))
        coded = scheme.encode(np.full((scheme.num_data, 2), constant))
        bound = 1e-13 * scale(scheme.decoding_matrix(received), np.array([constant]))
        np.testing.assert_allclose(coded, constant, rtol=0, atol=1e-13 * scale(scheme.encoding_matrix(), coded))
        np.testing.assert_allclose(scheme.decode(coded[received], received), constant, rtol=0, atol=bound)


class TestValues:
    @every_scheme
    @pytest.mark.parametrize(
        "twin",
        [copy.copy, copy.deepcopy, lambda scheme: pickle.loads(pickle.dumps(scheme))],
        ids=["copy", "deep", "pickle"],
    )
    def test_copies_are_equal_and_as_immutable(self, scheme, twin):
        other = twin(scheme)
        assert other == scheme
        assert hash(other) == hash(scheme)
        assert {scheme: "found"}[other] == "found"
        np.testing.assert_array_equal(other.encoding_matrix(), scheme.encoding_matrix())
        for points in (other.data_points, other.worker_points):
            with pytest.raises(ValueError, match="WRITEABLE"):
                points.setflags(write=True)

    def test_no_two_of_them_are_equal(self):
        assert all(one != other for one, other in combinations(SCHEMES, 2))
        assert len(set(SCHEMES)) == len(SCHEMES)

    @given(point_sets(max_size=4), point_sets(max_size=4), st.data())
    def test_equal_iff_made_of_equal_parts(self, data_points, worker_points, data):
        smoother = st.sampled_from([SmoothingSpline(0.0), SmoothingSpline(1.0), BerrutRational()])
        families = [st.just(data_points), st.just(worker_points)]
        parts = [
            (data.draw(smoother), data.draw(smoother), *(data.draw(st.one_of(families)) for _ in range(2)))
            for _ in range(2)
        ]
        one, other = (CodedScheme(*part) for part in parts)
        same = parts[0][:2] == parts[1][:2] and all(map(np.array_equal, parts[0][2:], parts[1][2:]))
        assert (one == other) is same
        if same:
            assert hash(one) == hash(other)


class TestLagrange:
    @given(
        data=st.data(),
        degree=st.integers(0, 3),
        num_data=st.integers(1, 4),
        points=st.sampled_from(["chebyshev", "equispaced"]),
    )
    def test_polynomials_are_exact_from_any_workers_at_the_threshold(self, data, degree, num_data, points):
        threshold = (num_data - 1) * degree + 1
        scheme = CodedScheme.lagrange(num_data, threshold + data.draw(st.integers(0, 3)), degree=degree, points=points)
        assert scheme.min_received == threshold
        received = data.draw(received_sets(scheme.num_workers, min_size=threshold))[:threshold]
        inputs = np.stack([data.draw(values(num_data)) for _ in range(2)], axis=1)
        powers = data.draw(st.lists(st.integers(0, degree), min_size=3, max_size=3))

        def polynomial(x):
            """Of two variables, of total degree `degree`."""
            return sum((i + 1.0) * x[:, 0] ** p * x[:, 1] ** (degree - p) for i, p in enumerate(powers)) - 2.0

        outputs = polynomial(scheme.encode(inputs))
        decoded = scheme.decode(outputs[received], received)
        bound = 1e-12 * scale(scheme.decoding_matrix(received), outputs)
        np.testing.assert_allclose(decoded, polynomial(inputs), rtol=0, atol=bound)

    def test_a_higher_degree_is_not_exact(self):
        scheme = CodedScheme.lagrange(3, 12, degree=2)
        received = [0, 11, 5, 7, 2]
        inputs = np.array([1.0, -2.0, 0.5])
        error = {
            d: np.abs(scheme.decode(scheme.encode(inputs)[received] ** d, received) - inputs**d).max() for d in (2, 3)
        }
        assert error[2] < 1e-12
        assert error[3] > 1e-3
