"""Laws of every smoother: a new one joins by one line in `SMOOTHERS`."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from letcc import CodedScheme
from letcc.smoothers import (
    AbstractLinearSmoother,
    BerrutRational,
    CubicBSpline,
    FloaterHormann,
    LagrangePolynomial,
    SmoothingSpline,
    SobolevRidge,
)
from tests.conftest import building
from tests.exact import berrut_rows, floater_hormann_rows, shows_pole
from tests.strategies import point_sets, received_sets, targets_near, values

LAMBDAS = [0.0, 1e-320, 1e-100, 1e-14, 1e-7, 1e-3, 1.0, 1e5, 1e14, 1e300, math.inf]

ANYWHERE = point_sets()


@dataclass(frozen=True)
class Subject:
    """A smoother and what is claimed of it.

    lines : from a number of nodes, whether straight lines are reproduced
    stretched : by a factor of the points, the smoother that is the same in the new unit
    interpolates : whether values at nodes are kept
    points : the nodes it is tried on
    way : how its splines are built
    """

    smoother: AbstractLinearSmoother
    lines: Callable[[int], bool] = lambda n: n >= 2
    stretched: Callable[[float], AbstractLinearSmoother] | None = None
    interpolates: bool = False
    points: st.SearchStrategy = ANYWHERE
    way: str = "plain"

    def __str__(self):
        return f"{self.smoother}-{self.way}"


def spline(smoothing, way):
    return Subject(
        SmoothingSpline(smoothing),
        stretched=lambda factor: SmoothingSpline(smoothing * factor**3),
        interpolates=smoothing == 0,
        way=way,
    )


def sobolev(length, smoothing):
    return Subject(
        SobolevRidge(length, smoothing),
        lines=lambda n: False,
        stretched=lambda factor: SobolevRidge(length * factor, smoothing * factor**3),
        interpolates=smoothing == 0,
        points=point_sets(max_size=10, steps=100),
    )


def polynomial(degree=None):
    # far apart, or rounding is amplified beyond all digits
    fewest = 1 if degree is None else degree + 1
    return Subject(
        LagrangePolynomial(degree),
        lines=lambda n: n >= 2 and degree != 0,
        interpolates=degree is None,
        points=point_sets(min_size=fewest, max_size=8, steps=10),
    )


def floater_hormann(degree):
    return Subject(
        FloaterHormann(degree),
        lines=lambda n: n >= 2 and (degree > 0 or n % 2 == 0),
        interpolates=True,
        points=point_sets(min_size=degree + 1, steps=100),
    )


SMOOTHERS = [
    *(spline(smoothing, way) for smoothing in LAMBDAS for way in ("compiled", "plain")),
    *(sobolev(length, smoothing) for length in (0.2, 3.0) for smoothing in (0.0, 1e-6, 1e-1)),
    Subject(BerrutRational(), lines=lambda n: n % 2 == 0, interpolates=True),
    *map(polynomial, (None, 0, 1, 3)),
    *map(floater_hormann, (0, 1, 3)),
    # gaps of one size to 1:40, or digits are lost
    Subject(CubicBSpline(), interpolates=True, points=point_sets(max_size=10, steps=20)),
]

every_smoother = pytest.mark.parametrize("subject", SMOOTHERS, ids=str)
line_reproducing = pytest.mark.parametrize("subject", [s for s in SMOOTHERS if s.lines(8)], ids=str)
interpolating = pytest.mark.parametrize("subject", [s for s in SMOOTHERS if s.interpolates], ids=str)


def lebesgue(matrix):
    return np.maximum(np.abs(matrix).sum(axis=1), 1)


def assert_rows_close(matrix, expected, digits=1e-13):
    """Within rounding, which a row multiplies by its Lebesgue constant."""
    excess = np.abs(matrix - expected).max(axis=1) / np.maximum(lebesgue(matrix), lebesgue(expected))
    assert excess.max(initial=0) <= digits


class TestEverySmoother:
    @pytest.fixture(autouse=True)
    def way(self, request):
        with building(request.node.callspec.params["subject"].way):
            yield

    @every_smoother
    @given(data=st.data())
    def test_rows_sum_to_one(self, subject, data):
        nodes = data.draw(subject.points)
        targets = data.draw(targets_near(nodes))
        matrix = subject.smoother.operator(nodes, targets)
        assert matrix.shape == (targets.size, nodes.size)
        assert (np.abs(matrix.sum(axis=1) - 1) <= 1e-13 * lebesgue(matrix)).all()

    @line_reproducing
    @given(data=st.data())
    def test_straight_lines_are_reproduced(self, subject, data):
        nodes = data.draw(subject.points)
        assume(subject.lines(nodes.size))
        targets = data.draw(targets_near(nodes))
        matrix = subject.smoother.operator(nodes, targets)
        assert (np.abs(matrix @ nodes - targets) <= 1e-13 * lebesgue(matrix)).all()

    @every_smoother
    @given(data=st.data())
    def test_the_order_of_the_nodes_permutes_the_columns(self, subject, data):
        nodes = data.draw(subject.points)
        targets = data.draw(targets_near(nodes))
        order = np.array(data.draw(st.permutations(range(nodes.size))))
        matrix = subject.smoother.operator(nodes, targets)
        np.testing.assert_array_equal(subject.smoother.operator(nodes[order], targets), matrix[:, order])

    @every_smoother
    @given(data=st.data())
    def test_every_target_has_its_own_row(self, subject, data):
        nodes = data.draw(subject.points)
        targets = data.draw(targets_near(nodes))
        matrix = subject.smoother.operator(nodes, targets)
        alone = np.vstack([subject.smoother.operator(nodes, [target]) for target in targets[::-1]])
        assert_rows_close(alone[::-1], matrix)

    @every_smoother
    @given(data=st.data())
    def test_mirrored_points_mirror_the_operator(self, subject, data):
        nodes = data.draw(subject.points)
        targets = data.draw(targets_near(nodes))
        matrix = subject.smoother.operator(nodes, targets)
        assert_rows_close(subject.smoother.operator(-nodes, -targets), matrix)

    @every_smoother
    @given(data=st.data())
    def test_shifted_and_stretched_points_keep_the_operator(self, subject, data):
        # every number below is a multiple of 2^-18, so that moving the points does not round them
        nodes = np.round(data.draw(subject.points) * 2**10) / 2**10
        assume(np.unique(nodes).size == nodes.size)
        targets = np.round(data.draw(targets_near(nodes)) * 2**10) / 2**10
        factor, shift = data.draw(st.sampled_from([0.25, 0.5, 1.0, 8.0])), data.draw(st.integers(-8, 8))
        matrix = subject.smoother.operator(nodes, targets)
        moved = subject.stretched(factor) if subject.stretched else subject.smoother
        assert_rows_close(moved.operator(factor * nodes + shift, factor * targets + shift), matrix, 1e-12)

    @every_smoother
    @given(data=st.data())
    def test_the_hat_matrix_is_symmetric_and_never_amplifies(self, subject, data):
        nodes = data.draw(subject.points)
        matrix = subject.smoother.operator(nodes, nodes)
        np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-12)
        eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        assert eigenvalues[0] >= -1e-12
        assert eigenvalues[-1] == pytest.approx(1, abs=1e-12)

    @interpolating
    @given(data=st.data())
    def test_values_at_the_nodes_are_kept(self, subject, data):
        nodes = data.draw(subject.points)
        matrix = subject.smoother.operator(nodes, nodes)
        np.testing.assert_allclose(matrix, np.eye(nodes.size), rtol=0, atol=1e-12)

    @every_smoother
    @given(data=st.data())
    def test_beside_a_node_the_operator_is_that_of_the_node(self, subject, data):
        nodes = data.draw(subject.points)
        on, below, above = (
            subject.smoother.operator(nodes, points)
            for points in (nodes, np.nextafter(nodes, -2), np.nextafter(nodes, 2))
        )
        # a step of 1e-16 against a slope of at most 1 / (smallest gap) times the largest weight
        assert np.abs(below - on).max() < 1e-10
        assert np.abs(above - on).max() < 1e-10

    @pytest.mark.parametrize("subject", [s for s in SMOOTHERS if s.smoother.min_nodes == 1], ids=str)
    @given(data=st.data())
    def test_one_node_is_a_constant(self, subject, data):
        node = data.draw(st.floats(-1, 1, allow_subnormal=False))
        targets = data.draw(targets_near(np.array([node])))
        np.testing.assert_allclose(subject.smoother.operator([node], targets), 1, rtol=1e-14)


def line_rows(nodes, targets):
    """The least-squares straight line through at least two nodes."""
    centred = nodes - nodes.mean()
    return 1 / nodes.size + np.outer(targets - nodes.mean(), centred) / (centred @ centred)


@pytest.mark.usefixtures("both_ways")
class TestSmoothing:
    spread = point_sets(min_size=3, max_size=10, steps=20)

    @given(st.data(), st.floats(1e-16, 1e-12))
    def test_to_zero_is_interpolation(self, data, smoothing):
        nodes = data.draw(self.spread)
        targets = data.draw(targets_near(nodes))
        interpolating, fitted = (SmoothingSpline(s).operator(nodes, targets) for s in (0.0, smoothing))
        # to first order the change is n lambda / gap^3, times a few dozens from the inverse of a second difference
        assert_rows_close(fitted, interpolating, 100 * nodes.size * smoothing * 20**3 + 1e-13)

    @given(st.data(), st.floats(1e6, 1e300) | st.just(math.inf))
    def test_to_infinity_is_the_least_squares_line(self, data, smoothing):
        nodes = data.draw(self.spread)
        targets = data.draw(targets_near(nodes))
        fitted = SmoothingSpline(smoothing).operator(nodes, targets)
        assert_rows_close(fitted, line_rows(nodes, targets), 100 / smoothing + 1e-13)

    @given(st.data(), st.sampled_from(LAMBDAS[4:8]) | st.floats(1e-6, 10))
    def test_the_fit_minimises_the_mean_form(self, data, smoothing):
        """Where its derivative vanishes: (g - y) / n + lambda R g = 0, R the Gram matrix of second derivatives."""
        nodes = np.sort(data.draw(self.spread))
        n, gaps = nodes.size, np.diff(nodes)
        second = CubicSpline(nodes, np.eye(n), bc_type="natural").derivative(2)(nodes)
        a, b = second[:-1], second[1:]
        inner = 2 * np.einsum("i,ij,ik->jk", gaps, a, a) + 2 * np.einsum("i,ij,ik->jk", gaps, b, b)
        mixed = np.einsum("i,ij,ik->jk", gaps, a, b)
        roughness = (inner + mixed + mixed.T) / 6
        hat = SmoothingSpline(smoothing).operator(nodes, nodes)
        residual = hat + n * smoothing * roughness @ hat - np.eye(n)
        assert np.abs(residual).max() <= 1e-12 * (1 + n * smoothing * np.abs(roughness).sum(axis=1).max())

    @given(st.data())
    def test_more_smoothing_leaves_a_larger_residual(self, data):
        nodes = data.draw(self.spread)
        y = data.draw(values(nodes.size))
        residuals = [np.sum((SmoothingSpline(s).operator(nodes, nodes) @ y - y) ** 2) for s in LAMBDAS]
        assert (np.diff(residuals) >= -1e-11).all()

    @given(st.data(), st.sampled_from([1e-8, 1e-4, 1.0]))
    def test_the_spline_is_the_limit_of_long_lengths(self, data, smoothing):
        """At a distance of order one over the length, once it is long against what the spread of the nodes allows."""
        nodes = data.draw(self.spread)
        targets = data.draw(targets_near(nodes, reach=1.0))
        limit = SmoothingSpline(smoothing).operator(nodes, targets)
        near, nearer = (
            np.abs(SobolevRidge(length, smoothing).operator(nodes, targets) - limit).max() for length in (1e7, 1e9)
        )
        assert near <= 1e-3 * lebesgue(limit).max()
        assert nearer <= 0.02 * near + 1e-9 * lebesgue(limit).max()


class TestFloaterHormann:
    @given(st.data())
    def test_every_entry_is_right_to_a_few_ulps(self, data):
        nodes = np.sort(data.draw(point_sets(steps=100)))
        degree = data.draw(st.integers(0, nodes.size - 1))
        targets = data.draw(targets_near(nodes))
        matrix, expected = FloaterHormann(degree).operator(nodes, targets), floater_hormann_rows(nodes, degree, targets)
        assert (np.abs(matrix - expected) <= 12 * np.spacing(np.abs(expected))).all()


class TestBerrut:
    @given(st.data())
    def test_every_entry_is_right_to_a_few_ulps(self, data):
        nodes = np.sort(data.draw(point_sets(max_size=20)))
        targets = data.draw(targets_near(nodes))
        matrix, expected = BerrutRational().operator(nodes, targets), np.array(berrut_rows(nodes, targets))
        assert (np.abs(matrix - expected) <= 8 * np.spacing(np.abs(expected))).all()

    @given(st.data())
    def test_the_defect_of_a_line_is_one_over_the_denominator_for_odd_numbers(self, data):
        """r[x] - x = -(sum of signs) / D(x): nothing for an even number of nodes."""
        nodes = np.sort(data.draw(point_sets(min_size=2)))
        target = data.draw(st.floats(-1.2, 1.2, allow_subnormal=False))
        assume(np.abs(nodes - target).min() > 1e-6)
        signs = (-1.0) ** np.arange(nodes.size)
        (row,) = BerrutRational().operator(nodes, [target])
        expected = -(nodes.size % 2) / np.sum(signs / (target - nodes))
        assert row @ nodes - target == pytest.approx(expected, rel=1e-6, abs=1e-13 * np.abs(row).sum())

    @given(st.integers(2, 24).flatmap(lambda n: st.tuples(st.just(n), received_sets(n, min_size=2))), st.booleans())
    def test_no_received_set_has_a_pole(self, drawn, equispaced):
        num_workers, received = drawn
        scheme = CodedScheme.bacc(3, num_workers, points="equispaced" if equispaced else "chebyshev")
        nodes = scheme.worker_points[np.sort(received)]
        assert not shows_pole(signs_of(nodes), nodes)

    @given(st.integers(6, 32).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 2))))
    def test_signs_by_index_would_have_one(self, drawn):
        """The control: one inner worker lost, and the pole that the test above looks for is there."""
        num_workers, lost = drawn
        received = np.delete(np.arange(num_workers), lost)
        nodes = CodedScheme.bacc(3, num_workers).worker_points[received]
        assert shows_pole([(-1) ** int(index) for index in received], nodes)
        assert not shows_pole(signs_of(nodes), nodes)


def signs_of(nodes):
    """The weights' signs as the matrix shows them: an entry times the distance from its node, to a common factor."""
    target = nodes[-1] + 0.5
    (row,) = BerrutRational().operator(nodes, [target])
    weights = row * (target - nodes)
    np.testing.assert_allclose(np.abs(weights), np.abs(weights[0]), rtol=1e-13)
    return np.sign(weights).astype(int).tolist()
