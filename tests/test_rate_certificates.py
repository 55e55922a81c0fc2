import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.interpolate import FloaterHormannInterpolator

from letcc import CodedScheme, certify, certify_rates, optimal_squared_bias
from letcc.exceptions import DuplicateNodes, InvalidInput, Unresolved
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind, equispaced
from letcc.rates import Verdict
from letcc.stragglers import ConsecutiveBlock
from tests.exact import berrut_rows

SMALL = {
    "workers": (16, 32, 64),
    "num_data": 4,
    "stragglers": (1, 3, 5),
    "straggler_workers": 24,
    "straggler_num_data": 4,
}


class Foreign:
    """LeTCC behind a class of its own, whose workers may be numbered in another order."""

    def __init__(self, num_data, num_workers, *, order=None):
        self.data_points = chebyshev_first_kind(num_data)
        self.worker_points = chebyshev_second_kind(num_workers)
        if order:
            self.worker_points = order(self.worker_points)
        self.calls = []

    def decode(self, outputs, received):
        self.calls.append((outputs.shape, received.tolist()))
        scheme = CodedScheme.letcc(self.data_points.size, self.worker_points.size)
        own = dataclasses.replace(scheme, worker_points=self.worker_points)
        return own.decode(outputs, received)

    def __repr__(self):
        return "Mine()"


class FloaterHormann(Foreign):
    def decode(self, outputs, received):
        return FloaterHormannInterpolator(self.worker_points[received], outputs, d=3)(self.data_points)


def changed(change):
    """LeTCC with something done to what it decodes to, from the outputs, the received workers and the estimates."""

    class Changed(Foreign):
        def decode(self, outputs, received):
            return change(outputs, received, super().decode(outputs, received))

    return Changed


def numbers(report):
    return [[value for value in row.values() if not isinstance(value, str)] for row in report.rows]


class TestOfTheLiterature:
    def test_letcc(self):
        report = certify_rates(CodedScheme.letcc)
        assert report.ball == "seminorm"
        assert report.exponent_n.value == pytest.approx(-3, abs=0.05)
        assert report.exponent_s.value == pytest.approx(3, abs=0.1)
        assert report.exponent_n.judge(-3) is report.exponent_s.judge(3) is Verdict.ATTAINED
        assert report.exponent_n.judge(-3.5) is report.exponent_s.judge(2.5) is Verdict.REFUTED
        assert report.ratio == pytest.approx(1, abs=1e-9)
        assert [row["num_workers"] for row in report.rows] == [32, 64, 128, 256, 512] + 5 * [256]
        worst = [row["error"] for row in report.rows[:4]]
        np.testing.assert_allclose(worst, [1.0332e-5, 1.2343e-6, 1.5077e-7, 1.8629e-8], rtol=1e-4)
        assert report.lebesgue == max(row["lebesgue"] for row in report.rows) > 100

    def test_bacc(self):
        report = certify_rates(CodedScheme.bacc, stragglers=(1, 3, 5, 7), straggler_workers=64, straggler_num_data=8)
        assert report.ball == "full"  # which some sets of an odd size decide
        assert report.exponent_n.value == pytest.approx(-2, abs=0.05)
        assert report.exponent_n.judge(-2) is Verdict.ATTAINED
        assert report.exponent_n.judge(-3) is Verdict.REFUTED
        assert report.ratio > 1000
        worst = [row["error"] for row in report.rows]
        np.testing.assert_allclose(worst[:4], [1.8356e-4, 4.1596e-5, 9.8956e-6, 2.4129e-6], rtol=1e-4)
        np.testing.assert_allclose(worst[5:], [1.39e-3, 9.9e-3, 2.7e-2, 5.3e-2], rtol=0.02)  # the odd S of 0..8

    def test_bacc_alone_on_even_sets_is_on_the_seminorm(self):
        assert certify_rates(CodedScheme.bacc, **SMALL | {"stragglers": ()}).ball == "seminorm"


class TestRows:
    @pytest.mark.parametrize(("make", "ball"), [(CodedScheme.letcc, "seminorm"), (CodedScheme.bacc, "full")])
    def test_are_the_worst_over_blocks(self, make, ball):
        report = certify_rates(make, **SMALL)
        assert report.ball == ball
        ratios = []
        for row in report.rows:
            scheme = make(row["num_data"], row["num_workers"])
            sets = [
                received
                for lost in range(max(0, row["stragglers"] - 1), row["stragglers"] + 1)
                for received in ConsecutiveBlock(lost).all(row["num_workers"])
            ]
            errors = [certify(scheme, received, ball=ball).worst_pointwise_mse for received in sets]
            optima = [optimal_squared_bias(scheme.worker_points[f], scheme.data_points, ball=ball).max() for f in sets]
            ratios += [error / optimum for error, optimum in zip(errors, optima, strict=True)]
            assert row["error"] == pytest.approx(max(errors), rel=1e-9)
            assert row["optimum"] == pytest.approx(max(optima), rel=1e-9)
            matrices = [scheme.decoding_matrix(received) for received in sets]
            assert row["lebesgue"] == pytest.approx(max(np.abs(m).sum(axis=1).max() for m in matrices), rel=1e-9)
        assert report.ratio == pytest.approx(max(ratios), rel=1e-9)

    def test_are_plain_data(self):
        rows = certify_rates(CodedScheme.letcc, **SMALL).rows
        assert json.loads(json.dumps(rows)) == rows
        assert [row["sweep"] for row in rows] == ["N"] * 3 + ["S"] * 3

    def test_where_data_points_are_worker_points_take_no_part_in_the_fit(self):
        workers = (16, 24, 32, 33, 48, 64)  # cos of odd multiples of pi / 8 are among those of multiples of pi / 32
        report = certify_rates(CodedScheme.letcc, **SMALL | {"workers": workers})
        assert report.rows[3]["optimum"] < 1e-25
        assert len(report.exponent_n.local_slopes) == 4
        assert report.exponent_n.value == pytest.approx(-3, abs=0.3)
        assert report.ratio == pytest.approx(1, abs=1e-9)


class TestForeign:
    @pytest.mark.parametrize("order", [None, lambda points: points[::-1], np.random.default_rng(0).permutation])
    def test_is_certified_as_a_scheme_of_this_package(self, order):
        """Blocks are of neighbouring points, whatever the workers' numbers."""
        expected = certify_rates(CodedScheme.letcc, **SMALL)
        found = certify_rates(lambda k, n: Foreign(k, n, order=order), **SMALL)
        assert found.ball == expected.ball
        assert found.ratio == pytest.approx(1, abs=1e-9)
        np.testing.assert_allclose(*map(numbers, (found, expected)), rtol=1e-9)

    def test_decode_is_given_ascending_indices(self):
        made = []
        certify_rates(lambda k, n: made.append(Foreign(k, n, order=np.flip)) or made[-1], **SMALL)
        for scheme in made:
            for (n, _), received in scheme.calls:
                assert len(received) == n
                assert received == sorted(received)

    def test_linearity_is_tried_once_for_each_n_and_s(self):
        made = []
        certify_rates(lambda k, n: made.append(Foreign(k, n)) or made[-1], **SMALL)
        probes = [sum(shape[1] == 3 for shape, _ in scheme.calls) for scheme in made]
        assert probes == [3, 3, 3, 6, 6, 6]  # those of S try S - 1 as well
        assert len(made[-1].calls) == 6 + 2 + 21 + 20  # and take a matrix from each block

    def test_floater_hormann(self):
        """It reproduces lines, but where Chebyshev points have gaps of many sizes its weights grow with N."""
        report = certify_rates(FloaterHormann, stragglers=(1, 3, 5), straggler_workers=32, straggler_num_data=4)
        assert report.ball == "seminorm"
        assert report.exponent_n.judge(-2) is Verdict.ATTAINED
        assert report.exponent_n.judge(-3) is Verdict.REFUTED
        assert report.ratio > 10
        assert report.lebesgue > 1e4

    def test_berrut_s_in_exact_arithmetic_is_that_of_this_package(self):
        class Exact(Foreign):
            def decode(self, outputs, received):
                return np.array(berrut_rows(self.worker_points[received], self.data_points)) @ outputs

        small = {"workers": (8, 12, 16), "num_data": 3, "stragglers": (1, 3, 5), "straggler_workers": 12}
        small["straggler_num_data"] = 3
        found, expected = (certify_rates(make, **small) for make in (Exact, CodedScheme.bacc))
        assert found.ball == expected.ball == "full"
        np.testing.assert_allclose(*map(numbers, (found, expected)), rtol=1e-9)


class TestAccepted:
    @pytest.mark.parametrize(
        "change",
        [
            lambda outputs, f, decoded: decoded.tolist(),
            lambda outputs, f, decoded: [outputs.fill(7), decoded][1],  # works in place
        ],
    )
    def test_whatever_numbers_come_in(self, change):
        found, expected = (numbers(certify_rates(make, **SMALL)) for make in (changed(change), Foreign))
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_tensors_come_in(self, torch):
        make = changed(lambda outputs, f, decoded: torch.from_numpy(decoded).requires_grad_())
        found, expected = (numbers(certify_rates(made, **SMALL)) for made in (make, Foreign))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


class TestRefused:
    @pytest.mark.parametrize(
        "make", [3, CodedScheme.bacc(4, 16), lambda: None, math.sin], ids=["number", "scheme", "no arguments", "one"]
    )
    def test_what_makes_no_schemes(self, make):
        with pytest.raises(InvalidInput, match="must be a function of the number of data points"):
            certify_rates(make)

    @pytest.mark.parametrize(
        "grid",
        [{"workers": 32}, {"workers": (64, 32)}, {"stragglers": (-1, 3)}, {"stragglers": (1, 1)}, {"workers": "ab"}],
    )
    def test_grids(self, grid):
        with pytest.raises(InvalidInput, match=f"{next(iter(grid))} must be ascending integers"):
            certify_rates(CodedScheme.bacc, **grid)

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda outputs, f, decoded: np.clip(decoded, -2, 2), "combinations|-1000 times"),
            (lambda outputs, f, decoded: decoded + 1e-3, "zeros"),
            (lambda outputs, f, decoded: decoded * np.sign(outputs.sum()), "combinations|-1000 times"),
            (lambda outputs, f, decoded: np.median(outputs, axis=0) + 0 * decoded, "combinations"),
            (lambda outputs, f, decoded: decoded + 1e-3 * np.abs(decoded), "combinations|-1000 times"),
            (lambda outputs, f, decoded: decoded * (1 if np.abs(outputs).max() < 100 else 0.5), "-1000 times"),
        ],
    )
    def test_what_is_not_linear(self, change, what):
        with pytest.raises(InvalidInput, match=rf"Mine\(\) is not linear: ({what}).*N = 16, S = 0"):
            certify_rates(changed(change), **SMALL)

    def test_what_is_not_linear_with_stragglers_only(self):
        def change(outputs, received, decoded):
            return decoded if len(received) in (16, 32, 64, 24, 23) else decoded + decoded**2

        with pytest.raises(InvalidInput, match=r"not linear.*N = 24, S = 2, received: all workers but \[0, 1\]"):
            certify_rates(changed(change), **SMALL)

    def test_what_is_not_finite(self):
        def change(outputs, received, decoded):
            return decoded * (np.nan if 7 not in received else 1)

        expected = r"Mine\(\).* not finite at N = 24, S = 1, received: all workers but \[7\]"
        with pytest.raises(InvalidInput, match=expected):
            certify_rates(changed(change), **SMALL)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda outputs, f, decoded: decoded.T, r"\(16, 16\) to the shape \(16, 4\).*\(4, 16\)"),
            (lambda outputs, f, decoded: decoded[0], r"the shape \(16,\)"),
            (lambda outputs, f, decoded: None, "shape|real numbers"),
            (lambda outputs, f, decoded: [[1, 2], [3]], "not an array of real numbers"),
            (lambda outputs, f, decoded: decoded * (1 + 1j), "decodes real outputs to complex ones"),
            (lambda outputs, f, decoded: decoded.astype(np.float32), "not linear.*in double precision"),
            (lambda outputs, f, decoded: decoded * 1e200, "leave the range of double precision"),
        ],
    )
    def test_other_shapes(self, change, message):
        with pytest.raises(InvalidInput, match=message):
            certify_rates(changed(change), **SMALL)

    @pytest.mark.parametrize("make", [CodedScheme.letcc, Foreign])
    def test_other_sizes(self, make):
        with pytest.raises(InvalidInput, match=r"make_scheme\(4, 16\) gave 16 data points and 4 worker points"):
            certify_rates(lambda k, n: make(n, k), **SMALL)

    def test_what_is_no_scheme(self):
        with pytest.raises(InvalidInput, match="3 has no data_points and no worker_points and no decode"):
            certify_rates(lambda k, n: 3, **SMALL)

    def test_points_outside(self):
        with pytest.raises(InvalidInput, match=r"worker_points of Mine\(\) must lie in \[-1, 1\]"):
            certify_rates(lambda k, n: Foreign(k, n, order=lambda points: 2 * points), **SMALL)

    def test_repeated_points(self):
        with pytest.raises(DuplicateNodes):
            certify_rates(lambda k, n: Foreign(k, n, order=np.abs), **SMALL)

    def test_a_rule(self):
        with pytest.raises(Unresolved, match=r"gcv.*resolve\("):
            certify_rates(lambda k, n: CodedScheme.letcc(k, n, decoder_smoothing="gcv"), **SMALL)

    def test_too_many_stragglers(self):
        with pytest.raises(InvalidInput, match="leave none"):
            certify_rates(CodedScheme.letcc, **SMALL | {"stragglers": (1, 24)})


def test_points_of_the_equispaced_family():
    """All of K = 8 data points are worker points at N = 64."""
    report = certify_rates(lambda k, n: CodedScheme.letcc(k, n, points="equispaced"), **SMALL | {"num_data": 8})
    assert report.ratio == pytest.approx(1, abs=1e-9)
    assert equispaced(8, interior=True)[0] in equispaced(64)
    assert report.rows[2]["optimum"] < 1e-25
