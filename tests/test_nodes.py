from fractions import Fraction

import numpy as np
import pytest
from mpmath import cos, mp, mpf, pi, workdps

from letcc.exceptions import InvalidInput
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind, equispaced


def interior(n):
    return equispaced(n, interior=True)


FAMILIES = [chebyshev_first_kind, chebyshev_second_kind, equispaced, interior]
FORMULAS = {
    chebyshev_first_kind: lambda k, n: -cos((2 * k + 1) * pi / (2 * n)),
    chebyshev_second_kind: lambda k, n: -cos(k * pi / (n - 1)),
    equispaced: lambda k, n: -1 + mpf(2 * k) / (n - 1),
    interior: lambda k, n: -1 + mpf(2 * (k + 1)) / (n + 1),
}
every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
class TestFamilies:
    @pytest.mark.parametrize("n", [2, 3, 4, 9, 100, 1001])
    def test_formula(self, family, n):
        with workdps(30):
            exact = np.array([float(mp.chop(FORMULAS[family](k, n), tol=1e-25)) for k in range(n)])
        # near 0 an ulp shrinks with the point, while the rounding of its angle does not
        np.testing.assert_allclose(family(n), exact, rtol=2e-16, atol=2e-16)

    @pytest.mark.parametrize("n", [1, 2, 7, 64, 999, 4096])
    def test_ascending_and_antisymmetric_to_the_last_bit(self, family, n):
        points = family(n)
        assert points.dtype == np.float64
        assert points.shape == (n,)
        assert (np.diff(points) > 0).all()
        np.testing.assert_array_equal(points, -points[::-1])
        if n > 1:
            ends = 1.0 if family in (chebyshev_second_kind, equispaced) else FORMULAS[family](n - 1, n)
            assert points[-1] == pytest.approx(float(ends), rel=3e-16)

    def test_one_point_is_the_middle(self, family):
        np.testing.assert_array_equal(family(1), [0.0])

    @pytest.mark.parametrize("n", [0, -3, 2.5, "3", None])
    def test_a_bad_number_is_named(self, family, n):
        with pytest.raises(InvalidInput, match=f"not {n!r}"):
            family(n)

    def test_any_integer_will_do(self, family):
        np.testing.assert_array_equal(family(np.int32(5)), family(5))


@pytest.mark.parametrize("n", [2, 5, 100])
def test_interior_points_are_those_between_the_ends(n):
    np.testing.assert_allclose(equispaced(n, interior=True), np.linspace(-1, 1, n + 2)[1:-1], rtol=1e-15, atol=1e-16)


def powers_of_two(n):
    return (n & -n).bit_length() - 1


@pytest.mark.parametrize("num_data", [1, 2, 3, 4, 6, 8, 12])
def test_data_and_worker_points_meet_iff_enough_powers_of_two_divide(num_data):
    """The first-kind angle (2k + 1) / 2K is the second-kind angle n / (N - 1) for some k iff v2(N - 1) > v2(K)."""
    for num_workers in range(2, 70):
        alphas, betas = chebyshev_first_kind(num_data), chebyshev_second_kind(num_workers)
        distance = np.abs(alphas[:, None] - betas).min()
        assert (distance < 1e-14) == (powers_of_two(num_workers - 1) > powers_of_two(num_data))
        angles = {Fraction(2 * k + 1, 2 * num_data) for k in range(num_data)}
        assert (distance < 1e-14) == any(Fraction(n, num_workers - 1) in angles for n in range(num_workers))
