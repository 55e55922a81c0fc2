import numpy as np
import pytest
from mpmath import matrix as mp_matrix
from mpmath import mpf, workdps
from scipy.interpolate import CubicSpline

from letcc import CodedScheme, certify, optimal_squared_bias
from letcc.exceptions import DuplicateNodes, InvalidInput
from letcc.nodes import chebyshev_second_kind

BALLS = ["seminorm", "full"]
SETS = {
    "two nodes": ([-0.5, 0.25], [-1, -0.7, 0, 0.1, 0.9, 1]),
    "both ends": ([-1, 0.1, 1], [-0.99, 0.3]),
    "a target on -1": ([-0.25, 0.5, 0.75], [-1, -0.5, 0.6, 1]),
    "neighbours": ([-0.5, 0.3, 0.3 + 2**-30, 0.5], [0.3 + 2**-31, 0.4, -0.5 + 2**-40]),
    "many": (chebyshev_second_kind(17), np.linspace(-0.97, 0.93, 7)),
    "lost ends": (chebyshev_second_kind(17)[5:11], np.linspace(-0.97, 0.93, 7)),
}


def kriging_variance(nodes, targets, ball):
    """By the reproducing kernel in 60 digits; universal kriging with lines where the ball leaves them free."""

    def kernel(x, y):
        low, high = min(x, y) + 1, max(x, y) + 1
        return low**2 * (3 * high - low) / 6 + (1 + low * high if ball == "full" else 0)

    with workdps(60):
        nodes, n = [mpf(float(x)) for x in nodes], len(nodes)
        free = [] if ball == "full" else [lambda _: mpf(1), lambda x: x]
        system = mp_matrix(n + len(free), n + len(free))
        for i, x in enumerate(nodes):
            for j, y in enumerate(nodes):
                system[i, j] = kernel(x, y)
            for j, f in enumerate(free):
                system[i, n + j] = system[n + j, i] = f(x)
        inverse = system**-1
        for a in (mpf(float(x)) for x in targets):
            right = mp_matrix([kernel(a, x) for x in nodes] + [f(a) for f in free])
            yield float(kernel(a, a) - (right.T * inverse * right)[0])


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("name", list(SETS))
def test_is_the_kriging_variance(name, ball):
    nodes, targets = SETS[name]
    expected = list(kriging_variance(nodes, targets, ball))
    np.testing.assert_allclose(optimal_squared_bias(nodes, targets, ball=ball), expected, rtol=1e-12)


@pytest.mark.parametrize("points", ["chebyshev", "equispaced"])
def test_is_what_the_interpolating_spline_attains(points):
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(50):
        scheme = CodedScheme.letcc(int(rng.integers(1, 30)), int(rng.integers(2, 300)), points=points)
        received = rng.choice(scheme.num_workers, int(rng.integers(2, scheme.num_workers + 1)), replace=False)
        best = optimal_squared_bias(scheme.worker_points[received], scheme.data_points)
        certified = certify(scheme, received).squared_bias
        apart = best > 1e-24  # a data point may be a worker point up to rounding
        np.testing.assert_allclose(certified[apart] / best[apart], 1, rtol=0, atol=1e-6)
        np.testing.assert_allclose(certified[~apart], 0, atol=1e-20)
        compared += apart.sum()
    assert compared > 500


def test_of_many_nodes():
    scheme = CodedScheme.letcc(8, 4096)
    best = optimal_squared_bias(scheme.worker_points, scheme.data_points)
    np.testing.assert_allclose(certify(scheme).squared_bias, best, rtol=1e-8)
    for a, expected in zip(scheme.data_points, best, strict=True):
        x = np.sort(np.append(scheme.worker_points, a))
        second = CubicSpline(x, x == a, bc_type="natural")(x, 2)
        energy = np.diff(x) @ (second[1:] ** 2 + second[1:] * second[:-1] + second[:-1] ** 2) / 3
        assert 1 / energy == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("method", ["letcc", "bacc"])
def test_no_scheme_is_below_it(method, ball):
    scheme = getattr(CodedScheme, method)(5, 24)
    received = np.delete(np.arange(24), [0, 1, 7, 9])
    best = optimal_squared_bias(scheme.worker_points[received], scheme.data_points, ball=ball)
    ratio = certify(scheme, received, ball=ball).squared_bias / best
    assert (ratio >= 1 - 1e-9).all()
    assert method == "letcc" or ratio.max() > 2


@pytest.mark.parametrize("ball", BALLS)
def test_the_order_of_the_nodes_does_not_matter(ball):
    nodes, targets = SETS["many"]
    shuffled = np.random.default_rng(0).permutation(nodes)
    expected = optimal_squared_bias(nodes, targets, ball=ball)
    np.testing.assert_array_equal(optimal_squared_bias(shuffled, targets, ball=ball), expected)


@pytest.mark.parametrize("ball", BALLS)
def test_nothing_is_lost_at_a_node(ball):
    third = 1 / 3
    found = optimal_squared_bias([-1, third, 1], [-1, np.nextafter(third, 1), 0, 1], ball=ball)
    assert (found == 0).tolist() == [True, True, False, True]


def test_one_node_says_nothing_of_lines():
    assert optimal_squared_bias([0.5], [0.5, -0.5, 0.7]).tolist() == [0, np.inf, np.inf]
    full = optimal_squared_bias([0.5], [0.5, -0.5, 0.7], ball="full")
    np.testing.assert_allclose(full, [0, *kriging_variance([0.5], [-0.5, 0.7], "full")], rtol=1e-12)


@pytest.mark.parametrize(
    ("nodes", "targets", "ball", "message"),
    [
        ([], [0.5], "full", "nodes is empty"),
        ([0.5, 2], [0.5], "full", r"nodes must lie in \[-1, 1\]"),
        ([0.5, 1], [-1.5], "full", r"targets must lie in \[-1, 1\]"),
        ([0.5, np.nan], [0.5], "full", r"nodes\[1\]"),
        ([0.5, 1], [0.5], "other", "ball must be"),
    ],
)
def test_bad_input(nodes, targets, ball, message):
    with pytest.raises(InvalidInput, match=message):
        optimal_squared_bias(nodes, targets, ball=ball)


def test_repeated_nodes():
    with pytest.raises(DuplicateNodes):
        optimal_squared_bias([0.5, 0, 0.5], [0.1])
