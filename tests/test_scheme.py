import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from letcc import CodedScheme
from letcc.exceptions import DuplicateNodes, InvalidInput, TooFewReceived
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind, equispaced
from letcc.smoothers import BerrutRational, LagrangePolynomial, SmoothingSpline

SPLINE = SmoothingSpline(0.0)


class TestConstructors:
    @pytest.mark.parametrize(
        ("points", "alphas", "betas"),
        [
            ("chebyshev", chebyshev_first_kind(5), chebyshev_second_kind(12)),
            ("equispaced", np.linspace(-1, 1, 7)[1:-1], np.linspace(-1, 1, 12)),
        ],
    )
    @pytest.mark.parametrize("make", [CodedScheme.letcc, CodedScheme.bacc, CodedScheme.lagrange])
    def test_points(self, make, points, alphas, betas):
        scheme = make(5, 12, points=points, **({"degree": 2} if make == CodedScheme.lagrange else {}))
        np.testing.assert_allclose(scheme.data_points, alphas, rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(scheme.worker_points, betas, rtol=1e-15, atol=1e-16)
        assert (scheme.num_data, scheme.num_workers) == (5, 12)

    def test_the_three_schemes_are_three_sets_of_arguments(self):
        alphas, betas = chebyshev_first_kind(5), chebyshev_second_kind(12)
        splines = SmoothingSpline(1e-5), SmoothingSpline(1e-3)
        letcc = CodedScheme.letcc(5, 12, encoder_smoothing=1e-5, decoder_smoothing=1e-3)
        assert letcc == CodedScheme(*splines, alphas, betas)
        assert CodedScheme.letcc(5, 12) == CodedScheme(SPLINE, SPLINE, alphas, betas)
        assert CodedScheme.bacc(5, 12) == CodedScheme(BerrutRational(), BerrutRational(), alphas, betas)
        lagrange = CodedScheme(LagrangePolynomial(), LagrangePolynomial(8), alphas, betas)
        assert CodedScheme.lagrange(5, 12, degree=2) == lagrange

    def test_matrices_are_the_operators_between_the_points(self):
        scheme = CodedScheme.letcc(5, 12, encoder_smoothing=1e-5, decoder_smoothing=1e-3)
        encoding = SmoothingSpline(1e-5).operator(scheme.data_points, scheme.worker_points)
        np.testing.assert_array_equal(scheme.encoding_matrix(), encoding)
        assert scheme.encoding_matrix().shape == (12, 5)
        decoding = SmoothingSpline(1e-3).operator(scheme.worker_points[[7, 0, 3]], scheme.data_points)
        np.testing.assert_array_equal(scheme.decoding_matrix([7, 0, 3]), decoding)
        assert scheme.decoding_matrix().shape == (5, 12)

    @pytest.mark.parametrize(("degree", "threshold"), [(0, 1), (1, 5), (2, 9), (3, 13)])
    def test_lagrange_threshold(self, degree, threshold):
        assert CodedScheme.lagrange(5, 13, degree=degree).min_received == threshold
        if threshold > 1:
            with pytest.raises(InvalidInput, match=rf"num_workers is {threshold - 1}, .* = {threshold} workers"):
                CodedScheme.lagrange(5, threshold - 1, degree=degree)

    @pytest.mark.parametrize("num_received", [1, 6])
    def test_too_few_received_says_how_many_are_needed(self, num_received):
        scheme, received = CodedScheme.lagrange(4, 10, degree=2), range(num_received)
        message = f"{num_received} of 10 workers answered, .* at least 7: wait for {7 - num_received} more"
        with pytest.raises(TooFewReceived, match=message):
            scheme.decoding_matrix(received)
        with pytest.raises(TooFewReceived, match=message):
            scheme.decode(np.zeros(num_received), received)

    @pytest.mark.parametrize("make", [CodedScheme.letcc, CodedScheme.bacc])
    def test_splines_and_berrut_decode_from_one_worker(self, make):
        scheme = make(4, 10)
        assert scheme.min_received == 1
        np.testing.assert_array_equal(scheme.decode([[2.0, -3.0]], [6]), [[2.0, -3.0]] * 4)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0, 5), "num_data is 0: it must be at least 1"),
            ((4, 10**20), f"num_workers is {10**20}: it must be at most {2**53}"),
            ((10**400, 5), "num_data is 10"),
            ((-2, 5), "num_data is -2"),
            ((5, 0), "num_workers is 0"),
            ((2.5, 5), "num_data must be an integer, not 2.5"),
            ((5, "9"), "num_workers must be an integer, not '9'"),
        ],
    )
    @pytest.mark.parametrize("make", [CodedScheme.letcc, CodedScheme.bacc, CodedScheme.lagrange])
    def test_numbers(self, make, arguments, message):
        with pytest.raises(InvalidInput, match=re.escape(message)):
            make(*arguments, **({"degree": 1} if make == CodedScheme.lagrange else {}))

    @pytest.mark.parametrize("degree", [-1, -2, 1.5, "2"])
    @pytest.mark.parametrize("num_data", [1, 4])
    def test_a_degree_is_named_as_it_was_given(self, num_data, degree):
        with pytest.raises(InvalidInput, match=rf"degree (is|must be an integer, not) {degree!r}"):
            CodedScheme.lagrange(num_data, 9, degree=degree)

    @pytest.mark.parametrize("name", ["encoder_smoothing", "decoder_smoothing"])
    def test_smoothing(self, name):
        with pytest.raises(InvalidInput, match=r"smoothing is -0\.5"):
            CodedScheme.letcc(4, 9, **{name: -0.5})

    def test_point_family(self):
        with pytest.raises(InvalidInput, match="not 'random'"):
            CodedScheme.bacc(4, 9, points="random")

    @pytest.mark.parametrize(
        ("points", "error", "message"),
        [
            ([], InvalidInput, "{} is empty"),
            ([0.0, 1.5], InvalidInput, r"{}\[1\] is 1.5: points lie in \[-1, 1\]"),
            ([0.0, np.nan], InvalidInput, r"{}\[1\] is nan"),
            ([0.25, 0.5, 0.25], DuplicateNodes, r"{}\[0\] and {}\[2\] are both 0.25"),
            ([0.0, -0.0], DuplicateNodes, r"{}\[0\] and {}\[1\] are both"),
            ([[0.0]], InvalidInput, "{} must have one axis"),
            ([object()], InvalidInput, "{} must be real numbers, not object"),
        ],
    )
    @pytest.mark.parametrize("name", ["data_points", "worker_points"])
    def test_custom_points(self, name, points, error, message):
        arguments = {"data_points": [0.1, 0.2], "worker_points": [0.1, 0.2], name: points}
        with pytest.raises(error, match=message.replace("{}", name)):
            CodedScheme(SPLINE, SPLINE, **arguments)

    @pytest.mark.parametrize("name", ["encoder", "decoder"])
    @pytest.mark.parametrize("smoother", [None, SmoothingSpline, "spline"])
    def test_smoothers(self, name, smoother):
        arguments = {"encoder": SPLINE, "decoder": SPLINE, name: smoother}
        with pytest.raises(InvalidInput, match=f"{name} must be a smoother"):
            CodedScheme(**arguments, data_points=[0.0], worker_points=[0.0])

    def test_smoothers_that_need_more_points(self):
        with pytest.raises(InvalidInput, match="at least 4 data points, not 1"):
            CodedScheme(LagrangePolynomial(3), SPLINE, [0.0], [0.0])
        with pytest.raises(InvalidInput, match="at least 4 workers, but there are only 2"):
            CodedScheme(SPLINE, LagrangePolynomial(3), [0.0], [0.0, 1.0])


class TestValue:
    def test_points_cannot_be_changed_through_what_was_passed_in_or_handed_out(self):
        alphas = np.array([0.5, -0.5])
        scheme = CodedScheme(SPLINE, SPLINE, alphas, equispaced(9))
        before = hash(scheme)
        alphas[0] = 0.75
        np.testing.assert_array_equal(scheme.data_points, [0.5, -0.5])
        assert hash(scheme) == before
        for points in (scheme.data_points, scheme.worker_points):
            with pytest.raises(ValueError, match="read-only"):
                points[0] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                points.setflags(write=True)

    @pytest.mark.parametrize("matrix", [CodedScheme.encoding_matrix, CodedScheme.decoding_matrix])
    def test_matrices_are_read_only(self, matrix):
        with pytest.raises(ValueError, match="read-only"):
            matrix(CodedScheme.letcc(3, 9))[0, 0] = 1

    @pytest.mark.parametrize("name", ["encoder", "decoder", "data_points", "worker_points", "anything"])
    def test_attributes_cannot_be_set(self, name):
        with pytest.raises(FrozenInstanceError):
            setattr(CodedScheme.bacc(3, 9), name, None)

    @pytest.mark.parametrize(
        "other",
        [
            CodedScheme.bacc(3, 9),
            CodedScheme.letcc(3, 10),
            CodedScheme.letcc(4, 9),
            CodedScheme.letcc(3, 9, decoder_smoothing=1e-9),
            CodedScheme.letcc(3, 9, encoder_smoothing=1e-9),
            CodedScheme.letcc(3, 9, points="equispaced"),
            CodedScheme(SPLINE, SPLINE, chebyshev_first_kind(3)[::-1], chebyshev_second_kind(9)),
            CodedScheme(SPLINE, SPLINE, chebyshev_first_kind(3), chebyshev_second_kind(9)[::-1]),
            None,
            "CodedScheme",
        ],
        ids=str,
    )
    def test_anything_else_differs(self, other):
        assert CodedScheme.letcc(3, 9) != other

    def test_zero_is_one_point_whatever_its_sign(self):
        plus, minus = (CodedScheme(SPLINE, SPLINE, [zero], [zero, 1.0]) for zero in (0.0, -0.0))
        assert plus == minus
        assert hash(plus) == hash(minus)

    def test_representation_is_short_at_any_size(self):
        shown = repr(CodedScheme.letcc(20, 1000, decoder_smoothing=0.25))
        assert "num_data=20, num_workers=1000" in shown
        assert "SmoothingSpline(smoothing=0.25)" in shown
        assert len(shown) < 150


class TestCoding:
    @pytest.mark.parametrize(
        "scheme",
        [CodedScheme.letcc(20, 100), CodedScheme.letcc(4, 40, points="equispaced"), CodedScheme.bacc(20, 100)],
        ids=str,
    )
    def test_data_points_are_encoded_as_the_worker_points(self, scheme):
        np.testing.assert_allclose(scheme.encode(scheme.data_points), scheme.worker_points, rtol=0, atol=1e-14)

    @pytest.mark.parametrize(
        ("scheme", "bar"),
        [
            (CodedScheme.letcc(4, 60), 3e-5),
            (CodedScheme.bacc(4, 60), 3e-3),
            (CodedScheme.lagrange(4, 60, degree=2), 3e-5),
        ],
        ids=str,
    )
    def test_a_smooth_function_of_vectors(self, scheme, bar):
        inputs = np.array([[0.1, 0.5], [0.2, 0.3], [0.4, 0.1], [0.3, 0.2]])
        received = [n for n in range(60) if n % 5]
        outputs = np.exp(scheme.encode(inputs)[received]).prod(axis=1)
        error = np.abs(scheme.decode(outputs, received) - np.exp(inputs).prod(axis=1)).max()
        assert 1e-12 < error < bar
