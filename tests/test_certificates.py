import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf, workdps
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline

from letcc import CodedScheme, certify
from letcc.exceptions import InfiniteCertificate, InvalidInput, TooFewReceived
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import BerrutRational, LagrangePolynomial, SmoothingSpline
from tests.reference import cases
from tests.reference.high_precision import smoothing_spline_operator_rows

REFERENCE = json.loads((Path(__file__).parent / "reference" / "certificate.json").read_text())
SPLINE, SMOOTH, BERRUT = SmoothingSpline(0.0), SmoothingSpline(1e-4), BerrutRational()
LOST = [3, 4, 9]  # of twelve, so that nine are received


def decoding_with(decoder, num_data=4, num_workers=12):
    """A scheme whose encoder maps the data points to the worker points, on the standard points."""
    return CodedScheme(SPLINE, decoder, chebyshev_first_kind(num_data), chebyshev_second_kind(num_workers))


def received_but(lost, num_workers=12):
    return np.delete(np.arange(num_workers), lost)


# every decoder on sets of both parities, with the balls over which its worst case is finite
FINITE = [
    pytest.param(decoding_with(decoder, k), received_but(lost), ball, id=f"{decoder}-K{k}-S{len(lost)}-{ball}")
    for k in (1, 4, 5)
    for decoder in (SPLINE, SMOOTH, SmoothingSpline(math.inf), BERRUT, LagrangePolynomial(5), LagrangePolynomial())
    for lost in (LOST, LOST[:2])
    for ball in ("seminorm", "full")
    if not (decoder == BERRUT and lost == LOST and ball == "seminorm")
]
every_finite = pytest.mark.parametrize(("scheme", "received", "ball"), FINITE)


def dense_gram(scheme, received, ball):
    """W by the reproducing kernel, without a Peano kernel."""
    nodes, alphas = scheme.worker_points[received], scheme.data_points
    points = np.concatenate([alphas, nodes])
    functionals = np.hstack([np.eye(alphas.size), -scheme.decoding_matrix(received)])
    x, y = np.meshgrid(points, points)
    if ball == "seminorm":
        kernel = np.abs(x - y) ** 3 / 12
    else:
        low, high = np.minimum(x, y) + 1, np.maximum(x, y) + 1
        kernel = 1 + low * high + low**2 * (3 * high - low) / 6
    return functionals @ kernel @ functionals.T


def pieces(function, scheme, received):
    """The cubics between the points at which a function of the scheme's space may bend."""
    knots = np.unique(np.concatenate([[-1, 1], scheme.data_points, scheme.worker_points[received]]))
    for a, b in pairwise(knots[np.append(True, np.diff(knots) > 1e-9)]):
        x = np.linspace(a, b, 7)
        cubic = Polynomial.fit(x, function(x), 3, domain=[a, b])
        np.testing.assert_allclose(cubic(x), function(x), rtol=0, atol=1e-10)
        yield a, b, cubic


class TestReference:
    @pytest.mark.parametrize("case", REFERENCE["given"], ids=lambda case: f"{case['worker_points']}-{case['workers']}")
    def test_given(self, case):
        workers = getattr(cases, case["worker_points"])(case["workers"])
        scheme = CodedScheme(SPLINE, SmoothingSpline(case["smoothing"]), case["data_points"], workers)
        certificate = certify(scheme, received_but(case["stragglers"], case["workers"]))
        assert certificate.worst_pointwise_mse == pytest.approx(case["worst_pointwise_mse"], rel=1e-12)
        assert certificate.worst_average_mse == pytest.approx(case["worst_average_mse"], rel=1e-12)

    @pytest.mark.parametrize(
        ("case", "worst"),
        [
            pytest.param(
                case, worst, id=f"{case['points']}-{case['workers']}-{'-'.join(map(str, worst.values()))[:30]}"
            )
            for case in REFERENCE["received"]
            for worst in case["worst"]
        ],
    )
    def test_received(self, case, worst):
        decoders = {"berrut": BERRUT, "lagrange": LagrangePolynomial()}
        decoder = decoders.get(worst["decoder"]) or SmoothingSpline(worst["smoothing"])
        scheme = CodedScheme(SPLINE, decoder, case["data_points"], case["nodes"])
        if worst["worst_pointwise_mse"] == "inf":
            with pytest.raises(InfiniteCertificate):
                certify(scheme, ball=worst["ball"])
            return
        certificate = certify(scheme, ball=worst["ball"])
        largest = worst["worst_pointwise_mse"]
        assert certificate.worst_pointwise_mse == pytest.approx(largest, rel=1e-12)
        assert certificate.worst_average_mse == pytest.approx(worst["worst_average_mse"], rel=1e-12)
        np.testing.assert_allclose(
            certificate.squared_bias, worst["pointwise_mse"], rtol=1e-11 if decoder == BERRUT else 1e-13, atol=1e-30
        )

    @pytest.mark.parametrize("case", REFERENCE["convergence"], ids=lambda case: f"{case['decoder']}-{case['workers']}")
    def test_convergence(self, case):
        scheme = {"spline": CodedScheme.letcc, "berrut": CodedScheme.bacc}[case["decoder"]](8, case["workers"])
        certificate = certify(scheme, ball=case["ball"])
        assert certificate.worst_pointwise_mse == pytest.approx(case["worst_pointwise_mse"], rel=1e-12)
        assert certificate.worst_average_mse == pytest.approx(case["worst_average_mse"], rel=1e-11)

    @pytest.mark.parametrize("decoder", [SPLINE, BERRUT], ids=str)
    def test_ten_thousand_workers_keep_eight_digits(self, decoder):
        scheme = CodedScheme(SPLINE, decoder, [0.3], chebyshev_second_kind(10_000))
        expected = high_precision_certificate(decoder, scheme.worker_points.tolist(), 0.3)
        certificate = certify(scheme, ball="full")
        assert certificate.worst_pointwise_mse == pytest.approx(expected, rel=1e-8)
        assert certificate.worst_average_mse == pytest.approx(expected, rel=1e-8)


def high_precision_certificate(decoder, nodes, target):
    """Full-norm certificate of one target among ascending nodes from -1 on: running sums with 40 digits."""
    with workdps(40):
        points, alpha = [mpf(node) for node in nodes], mpf(target)
        if decoder == BERRUT:
            terms = [(-1) ** rank / (alpha - x) for rank, x in enumerate(points)]
            denominator = mp.fsum(terms)
            row = [term / denominator for term in terms]
        else:
            (row,) = smoothing_spline_operator_rows(nodes, decoder.smoothing, [target])
        weighted = sorted([(alpha, mpf(1)), *((x, -weight) for x, weight in zip(points, row, strict=True))])
        squared = (1 - mp.fsum(row)) ** 2 + mp.fsum(weight * (x + 1) for x, weight in weighted) ** 2
        beyond = kernel = mpf(0)
        for (right, weight), (left, _) in pairwise(reversed(weighted)):
            beyond += weight
            before, kernel = kernel, kernel + beyond * (right - left)
            squared += (right - left) * (before**2 + before * kernel + kernel**2) / 3
        return float(squared)


class TestIndependentWays:
    @every_finite
    def test_dense_kernel(self, scheme, received, ball):
        certificate, gram = certify(scheme, received, ball=ball), dense_gram(scheme, received, ball)
        np.testing.assert_allclose(certificate.squared_bias, gram.diagonal(), rtol=1e-9, atol=1e-14)
        average = np.linalg.eigvalsh(gram)[-1] / scheme.num_data
        assert certificate.worst_average_mse == pytest.approx(average, rel=1e-9)

    @pytest.mark.parametrize("lost", [[], LOST, [0, 1], [5, 6, 7, 11]])
    def test_kriging_identity(self, lost):
        """W_kk = 1 / min{int g''^2 : g(beta_v) = 0, g(alpha_k) = 1}; the minimiser is a natural spline."""
        scheme, received = decoding_with(SPLINE), received_but(lost)
        nodes = scheme.worker_points[received]
        expected = []
        for alpha in scheme.data_points:
            points = np.sort(np.append(nodes, alpha))
            second = CubicSpline(points, (points == alpha).astype(float), bc_type="natural").derivative(2)
            a, b = second(points[:-1]), second(points[1:])
            expected.append(3 / np.sum(np.diff(points) * (a * a + a * b + b * b)))
        np.testing.assert_allclose(certify(scheme, received).squared_bias, expected, rtol=1e-12)

    @pytest.mark.parametrize("decoder", [SPLINE, SMOOTH, LagrangePolynomial()], ids=str)
    def test_both_balls_agree_where_lines_are_reproduced(self, decoder):
        scheme, received = decoding_with(decoder), received_but(LOST)
        seminorm, full = (certify(scheme, received, ball=ball) for ball in ("seminorm", "full"))
        np.testing.assert_allclose(seminorm.squared_bias, full.squared_bias, rtol=1e-13)

    @every_finite
    def test_no_function_of_the_ball_is_decoded_worse(self, scheme, received, ball):
        certificate = certify(scheme, received, ball=ball)
        rng = np.random.default_rng(0)
        knots = np.linspace(-1, 1, 9)
        for _ in range(20):
            spline = CubicSpline(knots, rng.standard_normal(9), bc_type=((2, 1.0), (2, -1.0)))
            second, a = spline.derivative(2), knots[:-1]
            curvature = sum((second(knots[1:]) ** 2 + second(knots[1:]) * second(a) + second(a) ** 2) * 0.25 / 3)
            squared = curvature + (ball == "full") * (spline(-1) ** 2 + spline(-1, 1) ** 2)
            decoded = scheme.decoding_matrix(received) @ spline(scheme.worker_points[received])
            errors = (decoded - spline(scheme.data_points)) ** 2 / squared
            assert (errors <= certificate.squared_bias * (1 + 1e-12)).all()
            assert errors.mean() <= certificate.worst_average_mse * (1 + 1e-12)


class TestExtremal:
    @every_finite
    def test_lies_on_the_unit_sphere(self, scheme, received, ball):
        extremal = certify(scheme, received, ball=ball).extremal
        squared, first = 0.0, None
        for a, b, cubic in pieces(extremal, scheme, received):
            first = first or cubic
            squared += (cubic.deriv(2) ** 2).integ()(b) - (cubic.deriv(2) ** 2).integ()(a)
        if ball == "full":
            squared += first(-1) ** 2 + first.deriv()(-1) ** 2
        assert squared == pytest.approx(1, rel=1e-8)

    @every_finite
    def test_the_real_pipeline_gives_the_certificate_back(self, scheme, received, ball):
        certificate = certify(scheme, received, ball=ball)
        # one input would be encoded as a constant
        coded = scheme.encode(scheme.data_points) if scheme.num_data > 1 else scheme.worker_points
        outputs = certificate.extremal(coded)
        errors = scheme.decode(outputs[received], received) - certificate.extremal(scheme.data_points)
        assert np.max(errors**2) == pytest.approx(certificate.worst_pointwise_mse, rel=1e-8)
        assert np.argmax(errors**2) == np.argmax(certificate.squared_bias)

    @pytest.mark.parametrize("workers", [32, 256, 2048])
    @pytest.mark.parametrize(("make", "ball"), [(CodedScheme.letcc, "seminorm"), (CodedScheme.bacc, "full")])
    def test_the_real_pipeline_of_whole_schemes(self, make, ball, workers):
        scheme = make(8, workers)
        received = received_but([workers // 2, workers // 2 + 1, workers // 2 + 2], workers)
        certificate = certify(scheme, received, ball=ball)
        outputs = certificate.extremal(scheme.encode(scheme.data_points))
        errors = scheme.decode(outputs[received], received) - certificate.extremal(scheme.data_points)
        assert np.max(errors**2) == pytest.approx(certificate.worst_pointwise_mse, rel=1e-8)

    def test_shapes_and_the_straight_line_outside(self):
        extremal = certify(decoding_with(SMOOTH), received_but(LOST)).extremal
        x = np.linspace(-1, 1, 6).reshape(2, 1, 3)
        assert extremal(x).shape == (2, 1, 3)
        assert np.shape(extremal(0.25)) == ()
        assert float(extremal(0.25)) == extremal([0.25])[0]
        for end in (-1, 1):
            near, further, far = extremal(end * np.array([1.0, 1.5, 2.0]))
            assert further - near == pytest.approx(far - further, rel=1e-12)
            assert further - near == pytest.approx((extremal(end) - extremal(end * (1 - 1e-6))) * 5e5, rel=1e-4)

    @pytest.mark.parametrize("decoder", [SPLINE, BERRUT], ids=str)
    @pytest.mark.parametrize(("num_data", "num_workers"), [(2, 9), (4, 17), (8, 33), (32, 193)])
    def test_zero_certificate(self, decoder, num_data, num_workers):
        """Every data point lies on a worker point, to the last bits: nothing is to be lost."""
        certificate = certify(decoding_with(decoder, num_data, num_workers), ball="full")
        assert certificate.worst_pointwise_mse <= 1e-26
        np.testing.assert_array_equal(certificate.extremal(np.linspace(-1, 1, 7).reshape(7, 1)), np.zeros((7, 1)))
        assert certificate.extremal(0.3) == 0
        assert certificate.worst_average_mse <= 1e-26

    def test_the_worst_average_is_attained(self):
        scheme, received = decoding_with(SMOOTH), received_but(LOST)
        gram = dense_gram(scheme, received, "seminorm")
        value, vector = (part[..., -1] for part in np.linalg.eigh(gram))
        points = np.concatenate([scheme.data_points, scheme.worker_points[received]])
        weights = np.concatenate([vector, -vector @ scheme.decoding_matrix(received)]) / np.sqrt(value)

        def worst(x):
            return np.abs(np.subtract.outer(x, points)) ** 3 / 12 @ weights

        outputs = worst(scheme.encode(scheme.data_points))[received]
        errors = scheme.decode(outputs, received) - worst(scheme.data_points)
        assert np.mean(errors**2) == pytest.approx(certify(scheme, received).worst_average_mse, rel=1e-8)


class TestNoise:
    def test_adds_its_variance_times_the_squared_weights(self):
        scheme, received, std = decoding_with(SMOOTH), received_but(LOST), 0.3
        quiet, noisy = certify(scheme, received), certify(scheme, received, noise_std=std)
        gain = np.array([sum(weight**2 for weight in row) for row in scheme.decoding_matrix(received)])
        np.testing.assert_allclose(noisy.noise_gain, gain, rtol=1e-14)
        np.testing.assert_array_equal(noisy.squared_bias, quiet.squared_bias)
        total = quiet.squared_bias + std**2 * gain
        assert noisy.worst_pointwise_mse == pytest.approx(total.max(), rel=1e-14)
        assert noisy.worst_average_mse == pytest.approx(quiet.worst_average_mse + std**2 * gain.mean(), rel=1e-14)

    def test_the_worst_point_is_that_of_the_sum(self):
        # bias alone is worst at one data point, the sum at another: a maximum of each apart would be too large
        scheme, received, std = decoding_with(SPLINE), received_but([1, 5, 6]), 0.005
        certificate = certify(scheme, received, noise_std=std)
        bias, noise = certificate.squared_bias, std**2 * certificate.noise_gain
        assert np.argmax(bias) != np.argmax(noise)
        assert certificate.worst_pointwise_mse < 0.95 * (bias.max() + noise.max())

    @pytest.mark.parametrize("std", [0.01, 0.1])
    def test_the_best_smoothing_is_the_variance_over_n(self, std):
        """The best linear predictor, at every data point; in sum form it would be n times as large."""
        received = received_but([5, 6], 32)
        best, *others = (
            certify(decoding_with(SmoothingSpline(factor * std**2 / received.size), 8, 32), received, noise_std=std)
            for factor in (1, 0.9, 1.1)
        )
        total = best.squared_bias + std**2 * best.noise_gain
        for other in others:
            assert (total < other.squared_bias + std**2 * other.noise_gain).all()

    def test_the_mean_squared_error_of_noisy_decoding(self):
        scheme, received, std = decoding_with(SMOOTH), received_but(LOST), 0.05
        certificate = certify(scheme, received, noise_std=std)
        rng = np.random.default_rng(0)
        clean = certificate.extremal(scheme.encode(scheme.data_points))[received]
        noisy = clean[:, None] + std * rng.standard_normal((received.size, 40_000))
        errors = scheme.decode(noisy, received) - certificate.extremal(scheme.data_points)[:, None]
        measured = np.mean(errors**2, axis=1)[np.argmax(certificate.squared_bias)]
        expected = certificate.squared_bias.max() + std**2 * certificate.noise_gain[np.argmax(certificate.squared_bias)]
        assert measured == pytest.approx(expected, rel=0.03)


class TestUnbounded:
    def test_berrut_on_an_odd_number(self):
        with pytest.raises(
            InfiniteCertificate, match=r'BerrutRational\(\) .*straight lines.*at data point \d.*ball="full"'
        ):
            certify(decoding_with(BERRUT), received_but(LOST))

    @pytest.mark.parametrize("decoder", [SPLINE, SMOOTH, BERRUT, LagrangePolynomial()], ids=str)
    def test_one_received_worker(self, decoder):
        with pytest.raises(InfiniteCertificate, match="does not reproduce straight lines"):
            certify(decoding_with(decoder), [5])
        gram = dense_gram(decoding_with(decoder), np.array([5]), "full")
        np.testing.assert_allclose(certify(decoding_with(decoder), [5], ball="full").squared_bias, gram.diagonal())

    def test_finiteness_is_of_the_matrix_and_not_of_the_class(self):
        nodes = chebyshev_second_kind(9)
        assert certify(CodedScheme(SPLINE, BERRUT, nodes[[1, 4]], nodes)).worst_pointwise_mse == 0
        with pytest.raises(InfiniteCertificate, match=r"off by .* at data point 1"):
            certify(CodedScheme(SPLINE, BERRUT, [nodes[1], 0.1], nodes))
        with pytest.raises(InfiniteCertificate):
            certify(decoding_with(LagrangePolynomial(0)))


class TestBoundedCurvature:
    @every_finite
    def test_brute_force_quadrature(self, scheme, received, ball):
        """Taylor about the data point: g(t) = g(a) + g'(a) (t - a) + integral of g''(s) |t - s| between a and t."""
        nodes, matrix = scheme.worker_points[received], scheme.decoding_matrix(received)
        edges = np.union1d(np.linspace(-1, 1, 100_001), scheme.data_points)
        s, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        expected = []
        for alpha, row in zip(scheme.data_points, matrix, strict=True):
            kernel = np.zeros_like(s)
            for weight, node in zip(row, nodes, strict=True):
                between = (s - alpha) * (s - node) < 0
                kernel -= weight * np.where(between, np.abs(node - s), 0)
            slope = alpha - sum(row * nodes)
            expected.append(3 * np.abs(kernel) @ widths + 0.7 * abs(slope))
        computed = certify(scheme, received, ball=ball).bounded_curvature_error(3.0, 0.7)
        np.testing.assert_allclose(computed, expected, rtol=1e-7)

    @pytest.mark.parametrize("lost", [LOST, LOST[:2]])
    @pytest.mark.parametrize("decoder", [SPLINE, SMOOTH, BERRUT], ids=str)
    def test_is_never_exceeded(self, decoder, lost):
        scheme, received = decoding_with(decoder), received_but(lost)
        certificate = certify(scheme, received, ball="full")
        for frequency in (0.5, 2, 9, 30):
            for phase in (0, 1, 2):
                g = np.sin(frequency * scheme.worker_points[received] + phase)
                errors = np.abs(scheme.decode(g, received) - np.sin(frequency * scheme.data_points + phase))
                assert (errors <= certificate.bounded_curvature_error(frequency**2, frequency) * (1 + 1e-12)).all()

    def test_the_slope_matters_only_where_lines_are_not_reproduced(self):
        odd, even = (certify(decoding_with(BERRUT), received_but(lost), ball="full") for lost in (LOST, LOST[:2]))
        np.testing.assert_allclose(even.bounded_curvature_error(0.0, 1.0), 0, atol=1e-14)
        assert (odd.bounded_curvature_error(0.0, 1.0) > 1e-4).all()


class TestArguments:
    @pytest.mark.parametrize("ball", ["sup", "Seminorm", None])
    def test_ball(self, ball):
        with pytest.raises(InvalidInput, match=f"not {ball!r}"):
            certify(decoding_with(SPLINE), ball=ball)

    @pytest.mark.parametrize("std", [-0.1, math.nan, math.inf])
    def test_noise(self, std):
        with pytest.raises(InvalidInput, match=f"noise_std is {std}"):
            certify(decoding_with(SPLINE), noise_std=std)

    @pytest.mark.parametrize(
        ("scheme", "received", "error"),
        [
            (decoding_with(SPLINE), [], InvalidInput),
            (decoding_with(SPLINE), [12], InvalidInput),
            (CodedScheme.lagrange(3, 9, degree=2), [0, 1, 2, 3], TooFewReceived),
        ],
    )
    def test_received(self, scheme, received, error):
        with pytest.raises(error):
            certify(scheme, received)

    def test_the_received_set_may_come_in_any_form_and_order(self):
        scheme, received = decoding_with(SMOOTH), received_but(LOST)
        mask = np.isin(np.arange(12), received)
        ascending, reverse, masked = (certify(scheme, form) for form in (received.tolist(), received[::-1], mask))
        np.testing.assert_array_equal(ascending.squared_bias, masked.squared_bias)
        np.testing.assert_allclose(reverse.squared_bias, masked.squared_bias, rtol=1e-13)

    @pytest.mark.parametrize("name", ["squared_bias", "noise_gain"])
    def test_arrays_are_read_only(self, name):
        with pytest.raises(ValueError, match="read-only"):
            getattr(certify(decoding_with(SPLINE)), name)[0] = 1
