import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, FloaterHormannInterpolator, make_interp_spline, make_smoothing_spline

from letcc.exceptions import DuplicateNodes, IllConditionedWarning, InvalidInput, TooFewReceived
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind, equispaced
from letcc.smoothers import (
    BerrutRational,
    CubicBSpline,
    FloaterHormann,
    LagrangePolynomial,
    SmoothingSpline,
    SobolevRidge,
)
from tests.exact import berrut_rows

REFERENCE = Path(__file__).parent / "reference"
OPERATORS = json.loads((REFERENCE / "operators.json").read_text())
SMOOTHERS = [
    SmoothingSpline(0.0),
    SmoothingSpline(1e-3),
    SobolevRidge(0.5, 1e-3),
    BerrutRational(),
    LagrangePolynomial(),
    LagrangePolynomial(1),
    FloaterHormann(0),
    FloaterHormann(1),
    CubicBSpline(),
]

pytestmark = pytest.mark.usefixtures("both_ways")
every_smoother = pytest.mark.parametrize("smoother", SMOOTHERS, ids=str)


def cases(name):
    return [pytest.param(case, id=f"{name}-{i}-n{len(case['nodes'])}") for i, case in enumerate(OPERATORS[name])]


def assert_within_ulps(matrix, expected, ulps):
    expected = np.asarray(expected)
    assert matrix.shape == expected.shape
    assert np.max(np.abs(matrix - expected) / np.spacing(np.abs(expected))) <= ulps


class TestSpline:
    def test_three_nodes_by_hand(self):
        # with m = 3/2 (y_0 - 2 y_1 + y_2), g'' at the middle node: (y_0 + y_1) / 2 - m / 16 and 2 y_0 - y_1 + m / 6
        matrix = SmoothingSpline(0.0).operator([-1, 0, 1], [-0.5, 0.5, -2, 2])
        expected = [[13, 22, -3], [-3, 22, 13], [72, -48, 8], [8, -48, 72]]
        np.testing.assert_allclose(matrix, np.array(expected) / 32, rtol=1e-15)

    @pytest.mark.parametrize("smoothing", [0.0, 1e-3, 1e5, math.inf])
    def test_one_node_is_a_constant_and_two_are_a_line(self, smoothing):
        spline, targets = SmoothingSpline(smoothing), [-3, 0.5, 4]
        np.testing.assert_array_equal(spline.operator([0.3], targets), np.ones((3, 1)))
        np.testing.assert_allclose(spline.operator([1, -1], targets), [[-1, 2], [0.75, 0.25], [2.5, -1.5]], rtol=1e-14)

    @pytest.mark.parametrize("smoothing", [0.0, 1e-4, math.inf])
    def test_linear_outside_the_outermost_nodes(self, smoothing):
        nodes = np.array([-0.7, -0.2, 0.1, 0.4, 0.8])
        for end, step in ((-0.7, -1), (0.8, 1)):
            first, second, third = SmoothingSpline(smoothing).operator(nodes, end + step * np.array([0.0, 0.5, 1.0]))
            np.testing.assert_allclose(first - 2 * second + third, 0, atol=1e-14)
            assert np.abs(second - first).max() > 0.1

    def test_conversion_to_the_sum_form_of_scipy_and_the_form_of_csaps(self):
        csaps = pytest.importorskip("csaps").csaps
        rng = np.random.default_rng(0)
        nodes, targets = np.sort(rng.uniform(-1, 1, 20)), np.linspace(-0.6, 0.6, 9)
        values, smoothing = rng.standard_normal(20), 1e-3
        fitted = SmoothingSpline(smoothing).operator(nodes, targets) @ values
        scipys = make_smoothing_spline(nodes, values, lam=20 * smoothing)(targets)
        np.testing.assert_allclose(fitted, scipys, rtol=1e-9)
        csapss = csaps(nodes, values, targets, smooth=1 / (1 + 20 * smoothing))
        np.testing.assert_allclose(fitted, csapss, rtol=1e-9)
        assert np.abs(SmoothingSpline(2 * smoothing).operator(nodes, targets) @ values - scipys).max() > 1e-3

    @pytest.mark.parametrize("smoothing", [-1.0, math.nan, "much", None, 1j, [1.0, 2.0]])
    def test_bad_smoothing_is_named(self, smoothing):
        with pytest.raises(InvalidInput, match=re.escape(str(smoothing))):
            SmoothingSpline(smoothing)

    @pytest.mark.parametrize("gap", [1e-310, 1e-320])
    def test_a_gap_beyond_double_precision_is_an_error_or_finite_never_nan(self, gap):
        nodes = [-1.0, 0.0, gap, 1.0]
        try:
            matrix = SmoothingSpline(0.0).operator(nodes, [0.5])
        except InvalidInput as error:
            assert f"{gap:.1e}" in str(error)  # noqa: PT017  either outcome is right, depending on the gap
        else:
            assert np.isfinite(matrix).all()
        np.testing.assert_allclose(SmoothingSpline(1e-3).operator(nodes, [0.5]).sum(), 1, rtol=1e-14)

    def test_equal_parameters_make_equal_smoothers(self):
        assert SmoothingSpline(1) == SmoothingSpline(np.float32(1.0)) != SmoothingSpline(2.0)
        assert len({SmoothingSpline(1), SmoothingSpline(np.float64(1.0)), SmoothingSpline(0)}) == 2


class TestSobolevRidge:
    @pytest.mark.parametrize("case", cases("sobolev_ridge"))
    def test_reference(self, case):
        nodes, values, targets = (np.array(case[key]) for key in ("nodes", "values", "targets"))
        for fit in case["fits"]:
            fitted = SobolevRidge(fit["length_scale"], fit["smoothing"]).operator(nodes, targets) @ values
            size = max(np.abs(values).max(), np.abs(fit["expected"]).max())
            np.testing.assert_allclose(fitted, fit["expected"], rtol=0, atol=1e-12 * size, err_msg=str(fit))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0.0, 1.0), "length_scale is 0.0"),
            ((-1, 1.0), "length_scale is -1.0"),
            ((math.inf, 1.0), "length_scale is inf"),
            ((math.nan, 1.0), "length_scale is nan"),
            (("long", 1.0), "length_scale must be a number or one of gcv, loo, likelihood, not 'long'"),
            ((1.0, -2), "smoothing is -2.0"),
        ],
    )
    def test_bad_parameters_are_named(self, arguments, message):
        with pytest.raises(InvalidInput, match=message):
            SobolevRidge(*arguments)


class TestBerrut:
    @pytest.mark.parametrize("case", cases("berrut"))
    def test_reference(self, case):
        assert_within_ulps(BerrutRational().operator(case["nodes"], case["targets"]), case["rows"], 8)

    @pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 64, 101])
    @pytest.mark.parametrize("family", [chebyshev_second_kind, equispaced])
    def test_a_few_ulps_at_beside_and_between_nodes(self, family, n):
        nodes = family(n)
        some = nodes[:: max(1, n // 7)]
        beside = [np.nextafter(some, -2), np.nextafter(some, 2), some + 1e-310, some - 1e-310]
        targets = np.concatenate([some, *beside, [1e-310, -1e-310, 5e-324, 0.123, -0.987]])
        assert_within_ulps(BerrutRational().operator(nodes, targets), berrut_rows(nodes, targets), 8)

    def test_three_nodes_by_hand(self):
        # D(x) = 1/(x + 1) - 1/x + 1/(x - 1) at x = 1/2 is 2/3 - 2 - 2 = -10/3
        matrix = BerrutRational().operator([0, 1, -1], [0.5])
        np.testing.assert_allclose(matrix, [[0.6, 0.6, -0.2]], rtol=1e-15)


class TestFloaterHormann:
    @pytest.mark.parametrize("case", cases("floater_hormann"))
    def test_reference(self, case):
        matrix = FloaterHormann(case["degree"]).operator(case["nodes"], case["targets"])
        assert_within_ulps(matrix, case["rows"], 8 + case["degree"] / 2)

    @pytest.mark.parametrize("n", [1, 2, 9, 64])
    def test_of_degree_zero_it_is_berruts(self, n):
        nodes = chebyshev_second_kind(n)
        targets = np.concatenate([[-1.5, 0.3, 2.0], nodes, nodes + 1e-310, np.nextafter(nodes, 2)])
        berrut = BerrutRational().operator(nodes, targets)
        assert_within_ulps(FloaterHormann(0).operator(nodes, targets), berrut, 12)

    @pytest.mark.parametrize("n", [1, 4, 60])
    def test_of_the_highest_degree_it_is_the_polynomial(self, n):
        nodes, targets = chebyshev_second_kind(n), [-1.0, -0.4, 0.7, 0.99]
        polynomial = LagrangePolynomial().operator(nodes, targets)
        assert_within_ulps(FloaterHormann(n - 1).operator(nodes, targets), polynomial, 8 + 2 * n)

    @pytest.mark.parametrize("degree", [0, 1, 3, 6])
    def test_scipys_is_the_same_function(self, degree):
        nodes, targets = equispaced(15), np.linspace(-0.98, 0.98, 14)
        scipys = FloaterHormannInterpolator(nodes, np.eye(15), d=degree)(targets)
        np.testing.assert_allclose(FloaterHormann(degree).operator(nodes, targets), scipys, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("n", [8, 9])
    @pytest.mark.parametrize("degree", [1, 2, 5])
    def test_polynomials_up_to_the_degree_from_any_number_of_nodes(self, degree, n):
        nodes, targets = np.delete(chebyshev_second_kind(n + 2), [1, 5]), np.array([-1.1, -0.35, 0.2, 0.9])
        matrix = FloaterHormann(degree).operator(nodes, targets)
        for power in range(degree + 1):
            np.testing.assert_allclose(matrix @ nodes**power, targets**power, rtol=0, atol=1e-12)
        beyond = matrix @ nodes ** (degree + 2) - targets ** (degree + 2)
        assert np.abs(beyond).max() > 1e-4
        if n == 9:
            assert np.abs(BerrutRational().operator(nodes, targets) @ nodes - targets).max() > 1e-3

    @pytest.mark.parametrize("degree", [0, 1, 3, 1500, 1999])
    def test_two_thousand_nodes(self, degree):
        # of 1500 and more the products of distances leave the range of a double
        nodes, targets = chebyshev_second_kind(2000), np.array([-0.3, 0.12345])
        if degree == 1500:
            with pytest.warns(IllConditionedWarning, match=r"FloaterHormann\(degree=1500\).*Lebesgue constant"):
                FloaterHormann(degree).operator(nodes, targets)
            return
        matrix = FloaterHormann(degree).operator(nodes, targets)
        amplification = np.abs(matrix).sum(axis=1)
        assert (np.abs(matrix.sum(axis=1) - 1) <= 1e-13 * amplification).all()

    def test_beyond_the_range_of_a_double_is_an_error(self):
        with pytest.raises(InvalidInput, match="2000 nodes has a Lebesgue constant beyond the range of a double"):
            FloaterHormann(1990).operator(equispaced(2000), [0.999])

    @pytest.mark.parametrize("degree", [-1, 1.5, 2.0, "two", None])
    def test_bad_degree_is_named(self, degree):
        with pytest.raises(InvalidInput, match=re.escape(str(degree))):
            FloaterHormann(degree)

    def test_fewer_nodes_than_a_degree_needs(self):
        assert FloaterHormann(3).min_nodes == 4
        with pytest.raises(TooFewReceived, match="at least 4 nodes, not 3"):
            FloaterHormann(3).operator([0, 0.5, 1], [0.2])

    def test_equal_degrees_make_equal_smoothers(self):
        assert FloaterHormann(3) == FloaterHormann(np.int8(3)) != FloaterHormann(2)
        assert len({FloaterHormann(3), FloaterHormann(np.int64(3))}) == 1


class TestCubicBSpline:
    @pytest.mark.parametrize("case", cases("not_a_knot_spline"))
    def test_reference(self, case):
        matrix = CubicBSpline().operator(case["nodes"], case["targets"])
        sizes = np.abs(case["rows"]).sum(axis=1, keepdims=True)
        # where two nodes are 1e-7 apart, as many digits are lost as by SciPy
        tolerance = 1e-8 if case["family"] == "random_with_near_pair" else 2e-15
        assert np.max(np.abs(matrix - case["rows"]) / sizes) <= tolerance

    @pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 30])
    def test_scipys_is_the_same_function(self, n):
        nodes = np.sort(np.random.default_rng(n).permutation(equispaced(50))[:n])
        targets = np.concatenate([np.linspace(-1.2, 1.2, 14), nodes])
        matrix = CubicBSpline().operator(nodes, targets)
        sizes = np.abs(matrix).sum(axis=1, keepdims=True)
        bspline = make_interp_spline(nodes, np.eye(n), k=min(3, n - 1))(targets)
        np.testing.assert_allclose(matrix / sizes, bspline / sizes, rtol=0, atol=1e-14)
        if n > 2:
            np.testing.assert_allclose(matrix / sizes, CubicSpline(nodes, np.eye(n))(targets) / sizes, atol=1e-12)

    def test_one_to_four_nodes_give_their_polynomial(self):
        targets = [-3, 0.5, 0.3, 4]
        for nodes in ([0.3], [1, -1], [0.3, -1, 1], [0.3, -1, 1, 0]):
            polynomial = LagrangePolynomial().operator(nodes, targets)
            np.testing.assert_allclose(CubicBSpline().operator(nodes, targets), polynomial, rtol=1e-13, atol=1e-13)

    @pytest.mark.parametrize("n", [4, 9, 30])
    def test_cubic_polynomials_are_reproduced_inside_and_outside(self, n):
        nodes, targets = chebyshev_first_kind(n), np.array([-1.1, -1.0, -0.3, 0.99, 1.1])
        matrix = CubicBSpline().operator(nodes, targets)
        sizes = np.abs(matrix).sum(axis=1)
        for power in range(4):
            assert (np.abs(matrix @ nodes**power - targets**power) <= 1e-14 * sizes).all()
        assert np.abs(matrix @ nodes**4 - targets**4).max() > 1e-6

    def test_nodes_are_hit_exactly(self):
        nodes = chebyshev_second_kind(50)
        np.testing.assert_array_equal(CubicBSpline().operator(nodes, nodes), np.eye(50))

    @pytest.mark.parametrize("gap", [1e-310, 5e-324])
    def test_gaps_beyond_double_precision_are_an_error(self, gap):
        for nodes in ([-1.0, 0.0, gap, 1.0], [0, gap, 2 * gap, 3 * gap, 4 * gap, 5 * gap]):
            with pytest.raises(InvalidInput, match=f"double precision.*{gap:.1e} apart"):
                CubicBSpline().operator(nodes, [0.5])

    def test_a_hundred_thousand_nodes_take_no_square_matrix(self):
        nodes, targets = equispaced(100_000), np.array([-1.0, 1 / 3, 0.99])
        matrix = CubicBSpline().operator(nodes, targets)
        np.testing.assert_allclose(matrix @ nodes**3, targets**3, rtol=0, atol=1e-11)


class TestLagrange:
    @pytest.mark.parametrize("case", cases("lagrange"))
    def test_reference(self, case):
        # a product of n factors is right to about n ulps, entry by entry
        matrix = LagrangePolynomial().operator(case["nodes"], case["targets"])
        assert_within_ulps(matrix, case["rows"], 2 + len(case["nodes"]))

    @pytest.mark.parametrize("case", cases("least_squares_polynomial"))
    def test_least_squares_reference(self, case):
        matrix = LagrangePolynomial(case["degree"]).operator(case["nodes"], case["targets"])
        largest = np.abs(case["rows"]).max(axis=1, keepdims=True)
        np.testing.assert_allclose(matrix / largest, case["rows"] / largest, rtol=0, atol=1e-14)

    def test_least_squares_of_a_degree_is_far_better_conditioned_than_interpolation(self):
        nodes = np.sort(np.random.default_rng(0).choice(chebyshev_second_kind(100), 40, replace=False))
        through, fitted = (
            np.abs(LagrangePolynomial(degree).operator(nodes, chebyshev_first_kind(20))).sum(1).max()
            for degree in (None, 19)
        )
        assert through > 1e3
        assert fitted < 10

    def test_two_thousand_chebyshev_points(self):
        nodes, targets = chebyshev_second_kind(2000), np.array([-0.999, -0.3, 0.12345, 0.9])
        matrix = LagrangePolynomial().operator(nodes, targets)
        for degree in (0, 1, 100):
            exact, fitted = np.cos(degree * np.arccos(targets)), matrix @ np.cos(degree * np.arccos(nodes))
            np.testing.assert_allclose(fitted, exact, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("degree", [None, 99])
    def test_hopeless_nodes_are_reported_with_their_condition(self, degree):
        nodes, targets = equispaced(100), chebyshev_second_kind(50)
        with pytest.warns(IllConditionedWarning, match=r"Lebesgue constant \d\.\de\+\d\d,"):
            matrix = LagrangePolynomial(degree).operator(nodes, targets)
        assert np.isfinite(matrix).all()

    def test_beyond_the_range_of_a_double_is_an_error(self):
        with pytest.raises(InvalidInput, match="2000 nodes has a Lebesgue constant beyond the range of a double"):
            LagrangePolynomial().operator(equispaced(2000), [0.999])

    @pytest.mark.parametrize("degree", [-1, 1.5, 2.0, "two"])
    def test_bad_degree_is_named(self, degree):
        with pytest.raises(InvalidInput, match=re.escape(str(degree))):
            LagrangePolynomial(degree)

    def test_fewer_nodes_than_a_degree_needs(self):
        assert LagrangePolynomial(3).min_nodes == 4
        with pytest.raises(TooFewReceived, match="at least 4 nodes, not 3"):
            LagrangePolynomial(3).operator([0, 0.5, 1], [0.2])


@every_smoother
class TestBadPoints:
    @pytest.mark.parametrize(
        ("nodes", "error", "message"),
        [
            ([], InvalidInput, "no nodes: no worker answered"),
            ([0.0, 0.5, np.nan], InvalidInput, r"nodes\[2\] is nan"),
            ([0.0, -np.inf, 0.5], InvalidInput, r"nodes\[1\] is -inf"),
            ([[0.0, 0.5]], InvalidInput, r"nodes must have one axis, not the shape \(1, 2\)"),
            (0.5, InvalidInput, r"nodes must have one axis, not the shape \(\)"),
            (["a", "b"], InvalidInput, "nodes must be real numbers, not <U1"),
            ([0.0, 1j], InvalidInput, "nodes must be real numbers, not complex128"),
            ([None, 1.0], InvalidInput, "nodes must be real numbers, not object"),
            ([True, False], InvalidInput, "nodes must be real numbers, not bool"),
            ([[0.0], [0.5, 1.0]], InvalidInput, "nodes must be a flat sequence of real numbers"),
            ([0.5, -1.0, 0.25, -1.0], DuplicateNodes, r"nodes\[1\] and nodes\[3\] are both -1.0"),
            ([0.0, 1.0, -0.0], DuplicateNodes, r"nodes\[0\] and nodes\[2\] are both"),
        ],
    )
    def test_nodes(self, smoother, nodes, error, message):
        with pytest.raises(error, match=message):
            smoother.operator(nodes, [0.1])

    @pytest.mark.parametrize(
        ("targets", "message"),
        [([0.1, np.nan], r"targets\[1\] is nan"), ([[0.1]], "targets must have one axis"), ("x", "targets must be")],
    )
    def test_targets(self, smoother, targets, message):
        with pytest.raises(InvalidInput, match=message):
            smoother.operator([-1.0, 0.0, 0.5, 1.0], targets)

    @pytest.mark.parametrize("step", [5e-324, -1e-310, 1e-300, -1e-200])
    def test_a_step_far_below_rounding_from_a_node_at_zero(self, smoother, step):
        for nodes in (chebyshev_second_kind(9), [-1.0, 0.0], [0.0, 0.5, 1.0]):
            on, beside = smoother.operator(nodes, [0.0, step])
            np.testing.assert_allclose(beside, on, rtol=0, atol=1e-15)
        if smoother.min_nodes == 1:
            np.testing.assert_array_equal(smoother.operator([0.0], [step]), [[1.0]])

    def test_no_targets_are_no_rows(self, smoother):
        assert smoother.operator([-1.0, 0.0, 0.5, 1.0], []).shape == (0, 4)

    def test_integer_points(self, smoother):
        as_integers = smoother.operator([3, -1, 0, 1], np.array([2, 0], dtype=np.uint8))
        np.testing.assert_array_equal(as_integers, smoother.operator([3.0, -1.0, 0.0, 1.0], [2.0, 0.0]))

    def test_arguments_are_left_as_they_were(self, smoother):
        nodes, targets = np.array([0.5, -1.0, 1.0, 0.0]), np.array([0.0, 0.3])
        smoother.operator(nodes, targets)
        np.testing.assert_array_equal(nodes, [0.5, -1.0, 1.0, 0.0])
        np.testing.assert_array_equal(targets, [0.0, 0.3])
