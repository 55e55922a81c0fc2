import numpy as np
import pytest

from letcc.rates import Exponent, Verdict
from theory.evidence.fits import describe, fit_sweep, mirrored, weakest

WORKERS = [32, 64, 128, 256, 512, 1024]


def table(sweep, error, **columns):
    rows = [
        {"sweep": sweep, "num_workers": n, "stragglers": 0, "error": e} for n, e in zip(WORKERS, error, strict=True)
    ]
    return [row | {name: values[i] for name, values in columns.items()} for i, row in enumerate(rows)]


class TestFitSweep:
    def test_takes_its_own_rows_in_the_order_of_x(self):
        rows = table("N", [n**-3.0 for n in WORKERS]) + table("N, equispaced", [n**-2.0 for n in WORKERS])
        assert fit_sweep(rows[::-1], "N").value == pytest.approx(-3)
        assert fit_sweep(rows[::-1], "N, equispaced").value == pytest.approx(-2)

    @pytest.mark.parametrize("sweep", ["S", "S, N = 4096"])
    def test_s_is_held_against_s_plus_one(self, sweep):
        rows = [{"sweep": sweep, "stragglers": s, "error": (s + 1.0) ** 3} for s in (1, 3, 7, 15, 31)]
        exponent = fit_sweep(rows, sweep)
        assert exponent.value == pytest.approx(3)
        assert exponent.window == (2, 32)
        assert describe(exponent)["low"] == pytest.approx(2.95)

    def test_the_curves_named_after_s_are_held_against_n(self):
        assert fit_sweep(table("S=sqrt(N)", [n**-1.5 for n in WORKERS]), "S=sqrt(N)").value == pytest.approx(-1.5)

    def test_squared_errors_of_rounding_are_left_out(self):
        error = [10.0 ** -(6 + 2 * i) for i in range(4)] + [1e-27, 1e-26]
        assert fit_sweep(table("N", error), "N").window == (32, 256)

    def test_sampled_points_weigh_by_their_uncertainty(self):
        noisy = np.array([1, 1, 1, 1, 1, 3.0])
        error = np.array(WORKERS) ** -2.0 * noisy
        plain = fit_sweep(table("N", error), "N")
        weighed = fit_sweep(table("N", error, uncertainty=[0.01, 0.01, 0.01, 0.01, 0.01, 1.0]), "N")
        assert weighed.value == pytest.approx(-2, abs=0.01)
        assert plain.value > -1.9


def test_mirrored_is_the_fit_against_the_inverse():
    rows = table("N", [n**-1.2 for n in WORKERS])
    found = mirrored(fit_sweep(rows, "N"))
    assert found.value == pytest.approx(1.2)
    assert (found.low, found.high) == pytest.approx((1.15, 1.25))
    assert found.window == (1 / 1024, 1 / 32)
    assert mirrored(Exponent(1.0, 0.5, 2.0, (2.0, 8.0), (1.0, 3.0))) == Exponent(
        -1.0, -2.0, -0.5, (1 / 8, 1 / 2), (-3.0, -1.0)
    )


def test_nothing_to_fit_is_none_in_json():
    nothing = describe(fit_sweep(table("N", [0.0] * 6), "N"), judged=False)
    assert nothing == {"value": None, "low": None, "high": None, "window": (), "local_slopes": (), "judged": False}


def test_a_claim_is_as_good_as_its_weakest_part():
    by_strength = [Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.ATTAINED]
    for i, verdict in enumerate(by_strength):
        assert weakest(by_strength[i:][::-1]) == verdict
