import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from letcc.stragglers import ConsecutiveBlock
from theory.certification import examine
from theory.claims import BY_ID
from theory.evidence import CURVES, Cell, Scope, WorstBlocks, blocks
from theory.evidence.blocks import worst_block

RATES = ["letcc-noiseless", "letcc-noisy", "letcc-noisy-optimal", "bacc-rate"]


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def worst(scheme, stragglers, ball="seminorm", noise_std=0.0):
    return max(
        certify(scheme, received, ball=ball, noise_std=noise_std).worst_pointwise_mse
        for received in ConsecutiveBlock(stragglers).all(scheme.num_workers)
    )


class TestCertifiedRates:
    # one fit over the whole grid, no point left out; all of these meet their bars so
    @pytest.mark.parametrize(
        ("claim", "start", "exponent", "tolerance"),
        [
            ("letcc-noiseless", 32, -3, 0.05),
            ("bacc-rate", 32, -2, 0.08),
            ("letcc-noisy-optimal", 32, -0.75, 0.03),
            ("letcc-noisy", 64, -0.61, 0.03),
        ],
    )
    def test_in_the_number_of_workers(self, rows, errors, claim, start, exponent, tolerance):
        sweep = errors(claim, "N")
        assert (sweep.num_workers.min(), sweep.num_workers.max()) == (start, 4096)
        assert set(sweep.num_data) == {8}
        assert set(sweep.stragglers) == {0}
        assert slope(sweep.num_workers, sweep.error) == pytest.approx(exponent, abs=tolerance)
        for name in ("N", "N, equispaced"):
            assert rows[claim]["certified"][name]["value"] == pytest.approx(exponent, abs=tolerance)
            assert rows[claim]["certified"][name]["judged"]

    @pytest.mark.parametrize(("sweep", "workers"), [("S", 512), ("S, N = 4096", 4096)])
    def test_of_letcc_in_the_number_of_stragglers(self, rows, errors, sweep, workers):
        lost = errors("letcc-noiseless", sweep).query("stragglers in (3, 7, 15)")
        assert set(lost.num_workers) == {workers}
        assert set(lost.num_data) == {32}
        assert slope(lost.stragglers + 1, lost.error) == pytest.approx(3, abs=0.3)
        assert rows["letcc-noiseless"]["certified"][sweep]["value"] == pytest.approx(3, abs=0.3)

    @pytest.mark.parametrize("claim", ["letcc-noiseless", "bacc-rate"])
    def test_slopes_in_s_at_the_largest_n_are_those_at_512(self, errors, claim):
        first, last = (errors(claim, sweep).error.to_numpy() for sweep in ("S", "S, N = 4096"))
        np.testing.assert_allclose(np.diff(np.log2(first)), np.diff(np.log2(last)), atol=0.02)

    @pytest.mark.parametrize(
        ("claim", "digits", "errors_at"),
        [
            ("letcc-noiseless", 1e-4, [1.0332e-5, 1.2343e-6, 1.5077e-7, 1.8629e-8]),
            ("bacc-rate", 1e-4, [1.8356e-4, 4.1596e-5, 9.8956e-6, 2.4129e-6]),
            ("letcc-noisy-optimal", 5e-4, [0.001958, 0.0011534, 0.00068347, 0.00040587]),
        ],
    )
    def test_the_errors_themselves(self, errors, claim, digits, errors_at):
        sweep = errors(claim, "N").query("num_workers <= 256")
        assert list(sweep.num_workers) == [32, 64, 128, 256]
        np.testing.assert_allclose(sweep.error, errors_at, rtol=digits)

    def test_local_slopes_of_the_paper_s_noisy_rule(self, rows):
        found = rows["letcc-noisy"]["certified"]["N"]["local_slopes"]
        np.testing.assert_allclose(found[:5], [-0.613, -0.621, -0.621, -0.616, -0.613], atol=6e-4)

    @pytest.mark.parametrize(("method", "slopes"), [("letcc", [3.28, 2.96, 2.91, 2.92]), ("bacc", [2.81, 2.41, 2.21])])
    def test_local_slopes_in_s(self, method, slopes):
        """N = 256, K = 32, S = 1, 3, 7, 15, 31."""
        scheme = getattr(CodedScheme, method)(32, 256)
        ball = "full" if method == "bacc" else "seminorm"
        found = [worst(scheme, s, ball) for s in (1, 3, 7, 15, 31)[: len(slopes) + 1]]
        np.testing.assert_allclose(np.diff(np.log2(found)), slopes, atol=6e-3)

    def test_bacc_is_not_monotone_in_stragglers(self):
        found = [worst(CodedScheme.bacc(8, 64), s, "full") for s in range(9)]
        expected = [4.2e-5, 1.39e-3, 5.8e-4, 9.9e-3, 1.8e-3, 2.7e-2, 4.4e-3, 5.3e-2, 7.2e-3]
        np.testing.assert_allclose(found, expected, rtol=0.02)

    def test_letcc_is_monotone_in_stragglers(self):
        found = [worst(CodedScheme.letcc(8, 64), s) for s in range(9)]
        assert (np.diff(found) > 0).all()

    def test_where_s_grows_with_n_letcc_s_bound_is_tight(self, rows):
        """Error / (S^3 N^-3) neither grows nor falls along both curves; with S^4, of the first version, it falls."""
        for curve in CURVES:
            assert rows["letcc-noiseless"]["certified"][f"growth, {curve}"]["value"] == pytest.approx(0, abs=0.05)
        assert rows["letcc-noiseless-v1"]["certified"]["growth, S=N/4"]["value"] == pytest.approx(-1, abs=0.03)
        assert rows["letcc-noiseless-v1"]["certified"]["growth, S=sqrt(N)"]["value"] == pytest.approx(-0.5, abs=0.05)
        growth = {curve: rows["letcc-noisy"]["certified"][f"growth, {curve}"] for curve in CURVES}
        assert growth["S=3"]["value"] == pytest.approx(0, abs=0.06)
        assert max(growth["S=sqrt(N)"]["high"], growth["S=N/4"]["high"]) < -0.5


class TestAtMostS:
    @pytest.mark.parametrize("claim", RATES)
    @pytest.mark.parametrize(
        ("num_workers", "num_data", "stragglers"), [(12, 4, 0), (12, 4, 3), (12, 4, 4), (13, 4, 4), (40, 8, 9)]
    )
    def test_is_the_worst_over_fewer_too(self, claim, num_workers, num_data, stragglers):
        found = examine(Cell(claim, "N", num_workers, num_data, stragglers))
        scheme, ball, noise_std = BY_ID[claim].scheme(num_data, num_workers), BY_ID[claim].ball, BY_ID[claim].noise_std
        overall = max(worst(scheme, lost, ball, noise_std) for lost in range(stragglers + 1))
        assert found["error"] == pytest.approx(overall, rel=1e-12)  # in batches, to rounding

    @pytest.mark.parametrize("claim", RATES)
    @pytest.mark.parametrize(("num_workers", "num_data"), [(24, 6), (25, 6), (48, 8)])
    def test_grows_within_each_parity(self, claim, num_workers, num_data):
        """On which it rests that S and S - 1 are enough to look at."""
        scheme = BY_ID[claim].scheme(num_data, num_workers)
        found = np.array([worst_block(BY_ID[claim], scheme, s, every=True) for s in range(3 * num_workers // 4)])
        assert (found[2:] > found[:-2]).all()
        assert (np.diff(found) > 0).all() == (claim != "bacc-rate")

    def test_parity_decides_for_bacc(self):
        """Of 12 workers losing three is worse than losing four, because nine points do not reproduce lines."""
        scheme = CodedScheme.bacc(4, 12)
        three, four = (worst(scheme, s, "full") for s in (3, 4))
        assert three > 2 * four
        assert examine(Cell("bacc-rate", "S", 12, 4, 4))["error"] == pytest.approx(three, rel=1e-12)

    @given(data=st.data(), points=st.sampled_from(["chebyshev", "equispaced"]))
    def test_an_interpolating_spline_never_gains_by_losing_any_worker(self, data, points):
        scheme = CodedScheme.letcc(5, 14, points=points)
        more = data.draw(st.lists(st.integers(0, 13), min_size=3, max_size=14, unique=True))
        fewer = more[: data.draw(st.integers(2, len(more) - 1))]
        few, many = (certify(scheme, sorted(received)).squared_bias for received in (fewer, more))
        assert (few >= many * (1 - 1e-9)).all()


class TestRule:
    """Above ALL_BLOCKS only blocks about the data points and at the ends are examined."""

    @pytest.mark.parametrize("stragglers", [1, 3, 16, 31, 256])
    @pytest.mark.parametrize("claim", ["letcc-noiseless", "letcc-noisy", "bacc-rate"])
    def test_finds_the_worst_of_all_blocks(self, claim, stragglers):
        claim = BY_ID[claim]
        scheme = claim.scheme(8, 1024)
        every, some = (worst_block(claim, scheme, stragglers, every=each) for each in (True, False))
        assert some == pytest.approx(every, rel=1e-9)

    @pytest.mark.parametrize("claim", ["letcc-noiseless", "bacc-rate"])
    @pytest.mark.parametrize("points", ["chebyshev", "equispaced"])
    def test_also_for_few_workers_and_many_data_points(self, claim, points):
        claim = BY_ID[claim]
        for num_workers, num_data in ((60, 7), (61, 30), (90, 45)):
            scheme = claim.scheme(num_data, num_workers, points)
            for stragglers in (1, 2, 9, 20, num_workers - 3):
                every, some = (worst_block(claim, scheme, stragglers, every=each) for each in (True, False))
                assert some == pytest.approx(every, rel=1e-9)

    @pytest.mark.parametrize(
        ("num_workers", "full", "every"), [(1024, False, True), (1026, False, False), (1026, True, True)]
    )
    def test_is_used_where_it_is_needed_and_full_was_not_asked_for(self, monkeypatch, num_workers, full, every):
        asked = []
        monkeypatch.setattr(blocks, "worst_block", lambda *_, every: asked.append(every) or 1.0)
        examine(Cell("bacc-rate", "S=N/4", num_workers, 8, num_workers // 4, full=full))
        assert asked == [every, every]


class TestEverySet:
    @pytest.mark.parametrize("points", ["chebyshev", "equispaced"])
    @pytest.mark.parametrize("claim", ["letcc-noiseless", "bacc-rate"])
    @pytest.mark.parametrize(("num_workers", "stragglers"), [(8, 1), (9, 4), (10, 3)])
    def test_by_brute_force(self, claim, points, num_workers, stragglers):
        sweep = "every set" if points == "chebyshev" else "every set, equispaced"
        found = examine(Cell(claim, sweep, num_workers, 4, stragglers, points=points))
        scheme, ball = BY_ID[claim].scheme(4, num_workers, points), BY_ID[claim].ball
        sets = itertools.combinations(range(num_workers), num_workers - stragglers)
        errors = np.max([certify(scheme, f, ball=ball).squared_bias for f in sets], axis=0)
        neighbours = [
            np.delete(np.arange(num_workers), slice(i, i + stragglers)) for i in range(num_workers - stragglers + 1)
        ]
        of_blocks = np.max([certify(scheme, f, ball=ball).squared_bias for f in neighbours], axis=0)
        assert found["error"] == pytest.approx(errors.max(), rel=1e-12)
        assert found["worst_block"] == pytest.approx(of_blocks.max(), rel=1e-12)
        assert found["pointwise_ratio"] == pytest.approx((errors / of_blocks).max(), rel=1e-9)

    @pytest.mark.parametrize("name", ["", ", equispaced"])
    def test_of_fourteen_workers_a_block_is_the_worst_to_lose(self, rows, errors, name):
        for claim in ("letcc-noiseless", "bacc-rate"):
            assert rows[claim]["certified"][f"worst set / worst block{name}"] == pytest.approx(1, abs=1e-9)
            sweep = errors(claim, f"every set{name}")
            assert set(sweep.num_workers) == {14}
            assert list(sweep.stragglers) == [1, 2, 3, 4, 5, 6]
        assert rows["letcc-noiseless"]["certified"][f"at a single data point{name}"] == "1"

    def test_at_a_single_data_point_another_set_can_be_worse_for_bacc(self, errors):
        assert errors("bacc-rate", "every set").pointwise_ratio.max() > 1.02


def tabulate(claim, exponent_n, exponent_s):
    """A claim's table as if its error were an exact power of N and S + 1."""
    source = BY_ID[BY_ID[claim].examined_as]
    table = []
    for cell in source.evidence.cells(source, Scope()):
        error = 1e-3 * float(cell.num_workers) ** exponent_n * (cell.stragglers + 1.0) ** exponent_s
        table.append(dataclasses.asdict(cell) | {"error": error, "worst_block": error, "pointwise_ratio": 1.0})
    return table


class TestJudge:
    @pytest.mark.parametrize(
        ("claim", "exponent_n", "exponent_s", "verdict"),
        [
            ("letcc-noiseless", -3, 3, Verdict.ATTAINED),
            ("letcc-noiseless", -2.96, 3, Verdict.ATTAINED),  # exact powers: the interval is +- 0.05
            ("letcc-noiseless", -3, 3.04, Verdict.ATTAINED),
            ("letcc-noiseless", -2.96, 3.04, Verdict.REFUTED),  # by both together, along S = N/4
            ("letcc-noiseless", -3.06, 3, Verdict.HOLDS),
            ("letcc-noiseless", -3, 2.5, Verdict.HOLDS),
            ("letcc-noiseless", -2.94, 3, Verdict.REFUTED),
            ("letcc-noiseless", -4, 3.06, Verdict.REFUTED),  # faster in N does not make up for S
            ("letcc-noiseless-v1", -3, 3, Verdict.HOLDS),
            ("letcc-noiseless-v1", -3, 4, Verdict.ATTAINED),
            ("letcc-noisy", -0.6, 1.6, Verdict.ATTAINED),
            ("letcc-noisy", -0.6, 0, Verdict.HOLDS),
            ("letcc-noisy", -0.5, 0, Verdict.REFUTED),  # by N alone
            ("letcc-noisy", -0.6, 2, Verdict.REFUTED),  # by S along the curves
            ("letcc-n3.5", -3, 3, Verdict.REFUTED),
            ("letcc-n3.5", -3.5, 3, Verdict.ATTAINED),
            ("letcc-s2", -3, 3, Verdict.REFUTED),
            ("letcc-s2", 0, 2, Verdict.ATTAINED),  # N is not its matter
        ],
    )
    def test_powers(self, claim, exponent_n, exponent_s, verdict):
        found, _ = BY_ID[claim].evidence.judge(BY_ID[claim], tabulate(claim, exponent_n, exponent_s))
        assert found == verdict

    @pytest.mark.parametrize("family", ["N", "N, equispaced"])
    def test_both_families_of_points_count(self, family):
        """A rate that one family does not have is refuted whatever the other says."""
        claim = BY_ID["letcc-noiseless"]
        table = tabulate(claim.id, -3, 3)
        for row in table:
            if row["sweep"] == family:
                row["error"] *= row["num_workers"] ** 0.2
        assert claim.evidence.judge(claim, table)[0] == Verdict.REFUTED

    @pytest.mark.parametrize(
        ("exponent_s", "verdict"), [(3, Verdict.INCONCLUSIVE), (2, Verdict.INCONCLUSIVE), (4, Verdict.REFUTED)]
    )
    def test_rounding_is_no_evidence(self, exponent_s, verdict):
        claim = BY_ID["letcc-noiseless"]
        table = [row | {"error": 1e-26} if row["sweep"] == "N" else row for row in tabulate(claim.id, -3, exponent_s)]
        found, evidence = claim.evidence.judge(claim, table)
        assert found == verdict
        nothing = {"value": None, "low": None, "high": None, "window": (), "local_slopes": ()}
        assert evidence["N"] == nothing | {"judged": True}

    def test_slope_in_s_is_shown_but_curves_are_judged_instead(self):
        claim = BY_ID["letcc-noisy"]
        table = tabulate(claim.id, -0.6, 0.6)
        for row in table:
            if row["sweep"] == "S":
                row["error"] = 1e6 ** row["stragglers"]
        found, evidence = claim.evidence.judge(claim, table)
        assert found == Verdict.HOLDS
        judged = {name: part["judged"] for name, part in evidence.items() if isinstance(part, dict)}
        assert judged == {
            "N": True,
            "N, equispaced": True,
            "S": False,
            "growth, S=3": True,
            "growth, S=sqrt(N)": True,
            "growth, S=N/4": True,
        }
        assert evidence["N"]["value"] == pytest.approx(-0.6)
        assert evidence["growth, S=N/4"]["value"] == pytest.approx(-1, abs=0.03)
        assert evidence["growth, S=sqrt(N)"]["value"] == pytest.approx(-0.5, abs=0.05)

    def test_the_worst_set_is_reported_over_all_its_cells(self):
        claim = BY_ID["letcc-noiseless"]
        table = tabulate(claim.id, -3, 3)
        cells = [row for row in table if row["sweep"] == "every set"]
        cells[1]["worst_block"] /= 2
        cells[2]["pointwise_ratio"] = 8.77
        _, evidence = claim.evidence.judge(claim, table)
        assert evidence["worst set / worst block"] == pytest.approx(2)
        assert evidence["worst set / worst block, equispaced"] == 1
        assert evidence["at a single data point"] == "8.77"


class TestGrids:
    @pytest.mark.parametrize("max_n", [4096, 8192])
    def test_reach_the_largest_n(self, max_n):
        claim = BY_ID["letcc-noiseless"]
        cells = claim.evidence.cells(claim, Scope(max_n=max_n))
        doubled = [2**i for i in range(5, 13 + (max_n == 8192))]
        for sweep in ("N", "N, equispaced", *CURVES):
            assert [cell.num_workers for cell in cells if cell.sweep == sweep] == doubled
        assert [cell.stragglers for cell in cells if cell.sweep == f"S, N = {max_n}"] == [1, 3, 7, 15, 31]

    def test_full_reaches_every_cell(self):
        claim = BY_ID["bacc-rate"]
        assert {cell.full for cell in claim.evidence.cells(claim, Scope(full=True))} == {True}
        assert {cell.full for cell in claim.evidence.cells(claim, Scope())} == {False}

    def test_curves(self):
        assert {name: [curve(n) for n in (64, 512, 1024)] for name, curve in CURVES.items()} == {
            "S=3": [3, 3, 3],
            "S=sqrt(N)": [8, 22, 32],
            "S=N/4": [16, 128, 256],
        }

    @pytest.mark.parametrize("claim", [claim for claim in BY_ID.values() if isinstance(claim.evidence, WorstBlocks)])
    def test_no_data_point_is_a_worker_point(self, claim):
        """There the error vanishes; it happens at N = 2^m + 1, so that grids hold even N only."""
        for cell in claim.evidence.cells(claim, Scope()):
            scheme = claim.scheme(cell.num_data, cell.num_workers, cell.points)
            assert cell.num_workers % 2 == 0
            assert np.abs(np.subtract.outer(scheme.data_points, scheme.worker_points)).min() > 1e-7

    @pytest.mark.parametrize("claim", ["letcc-noiseless", "letcc-noisy", "bacc-rate"])
    def test_slopes_in_s_stay_within_one_parity(self, claim):
        lost = [cell.stragglers for cell in BY_ID[claim].evidence.cells(BY_ID[claim], Scope()) if cell.sweep == "S"]
        assert len(lost) >= 3
        assert {s % 2 for s in lost} == {1}
