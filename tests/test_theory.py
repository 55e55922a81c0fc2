import dataclasses
import io
import math
from fractions import Fraction

import numpy as np
import pytest
import typer
from rich.console import Console

import theory.__main__
import theory.certification
import theory.report
from letcc import CodedScheme, certify
from letcc.rates import Verdict
from letcc.smoothers import BerrutRational, SmoothingSpline
from letcc.stragglers import AtMost, ConsecutiveBlock
from theory.bounds import bacc_sup
from theory.cells import run_cells
from theory.certification import (
    Cell,
    cells_of,
    certify_claims,
    claim_row,
    describe,
    examine,
    fit_sweep,
    judge_rates,
)
from theory.claims import BY_ID, CLAIMS, CURVES, Design, Provenance
from theory.report import exit_status, print_verdicts
from theory.store import read_rows, read_table

CONTROLS = [claim for claim in CLAIMS if claim.control]
IDS = [claim.id for claim in CLAIMS]


@pytest.fixture(scope="module")
def certification(tmp_path_factory):
    """Rows and table of one certification of the whole registry."""
    out = tmp_path_factory.mktemp("results")
    certify_claims(jobs=2, out=out)
    return read_rows(out / "certified.json"), read_table(out / "certified.parquet")


@pytest.fixture(scope="module")
def rows(certification):
    return {row["claim"]: row for row in certification[0]}


@pytest.fixture(scope="module")
def errors(certification):
    """From a claim and a sweep to its part of the table."""
    table = certification[1]
    return lambda claim, sweep: table.query("claim == @claim and sweep == @sweep")


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def worst_block(scheme, stragglers, ball):
    return max(
        certify(scheme, received, ball=ball).worst_pointwise_mse
        for received in ConsecutiveBlock(stragglers).all(scheme.num_workers)
    )


class TestCertifiedRates:
    # one fit over the whole grid, no point left out; all of these meet their bars so
    @pytest.mark.parametrize(
        ("claim", "workers", "exponent", "tolerance"),
        [
            ("letcc-noiseless", (32, 512), -3, 0.05),
            ("bacc-rate", (32, 512), -2, 0.08),
            ("letcc-noisy-optimal", (32, 1024), -0.75, 0.03),
            ("letcc-noisy", (64, 2048), -0.61, 0.03),
        ],
    )
    def test_in_the_number_of_workers(self, rows, errors, claim, workers, exponent, tolerance):
        sweep = errors(claim, "N")
        assert (sweep.num_workers.min(), sweep.num_workers.max()) == workers
        assert set(sweep.num_data) == {8}
        assert set(sweep.stragglers) == {0}
        assert slope(sweep.num_workers, sweep.error) == pytest.approx(exponent, abs=tolerance)
        assert rows[claim]["certified"]["N"]["value"] == pytest.approx(exponent, abs=tolerance)

    def test_of_letcc_in_the_number_of_stragglers(self, rows, errors):
        sweep = errors("letcc-noiseless", "S").query("stragglers in (3, 7, 15)")
        assert set(sweep.num_workers) == {512}
        assert set(sweep.num_data) == {32}
        assert slope(sweep.stragglers + 1, sweep.error) == pytest.approx(3, abs=0.3)
        assert rows["letcc-noiseless"]["certified"]["S"]["value"] == pytest.approx(3, abs=0.3)

    @pytest.mark.parametrize(
        ("claim", "digits", "worst"),
        [
            ("letcc-noiseless", 1e-4, [1.0332e-5, 1.2343e-6, 1.5077e-7, 1.8629e-8]),
            ("bacc-rate", 1e-4, [1.8356e-4, 4.1596e-5, 9.8956e-6, 2.4129e-6]),
            ("letcc-noisy-optimal", 5e-4, [0.001958, 0.0011534, 0.00068347, 0.00040587]),
        ],
    )
    def test_the_errors_themselves(self, errors, claim, digits, worst):
        sweep = errors(claim, "N").query("num_workers <= 256")
        assert list(sweep.num_workers) == [32, 64, 128, 256]
        np.testing.assert_allclose(sweep.error, worst, rtol=digits)

    def test_local_slopes_of_the_paper_s_noisy_rule(self, rows):
        found = rows["letcc-noisy"]["certified"]["N"]["local_slopes"]
        np.testing.assert_allclose(found, [-0.613, -0.621, -0.621, -0.616, -0.613], atol=6e-4)

    def test_printed_bound_is_loose_by_known_factors(self, errors):
        sweep = errors("bacc-sup", "NS").query("num_workers == 128").set_index("stragglers")
        factors = (sweep.bound / sweep.error)[[0, 2, 4, 8, 16]]
        np.testing.assert_allclose(factors, [52, 193, 410, 1077, 3347], rtol=0.03)

    def test_bacc_is_not_monotone_in_stragglers(self):
        found = [worst_block(CodedScheme.bacc(8, 64), s, "full") for s in range(9)]
        expected = [4.2e-5, 1.39e-3, 5.8e-4, 9.9e-3, 1.8e-3, 2.7e-2, 4.4e-3, 5.3e-2, 7.2e-3]
        np.testing.assert_allclose(found, expected, rtol=0.02)

    def test_letcc_is_monotone_in_stragglers(self):
        found = [worst_block(CodedScheme.letcc(8, 64), s, "seminorm") for s in range(9)]
        assert (np.diff(found) > 0).all()


class TestVerdicts:
    def test_every_claim_with_a_grid_is_judged(self, rows):
        assert list(rows) == [claim.id for claim in CLAIMS if claim.id != "table-1"]

    @pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS if claim.id != "table-1"])
    def test_is_the_expected_one(self, rows, claim):
        assert rows[claim]["verdict"] == BY_ID[claim].expected

    @pytest.mark.parametrize("claim", [claim.id for claim in CONTROLS])
    def test_controls_are_refuted_with_room_to_spare(self, rows, claim):
        assert rows[claim]["verdict"] == Verdict.REFUTED
        assert rows[claim]["certified"]["N"]["low"] - rows[claim]["predicted"]["N"] > 0.15

    def test_all_is_well(self, rows):
        assert exit_status(list(rows.values())) == 0


class TestExamine:
    @pytest.mark.parametrize("claim", ["letcc-noiseless", "letcc-noisy", "letcc-noisy-optimal", "bacc-rate"])
    @pytest.mark.parametrize(
        ("num_workers", "num_data", "stragglers"), [(12, 4, 0), (12, 4, 3), (12, 4, 4), (13, 4, 4), (40, 8, 9)]
    )
    def test_at_most_s_is_the_worst_over_fewer_too(self, claim, num_workers, num_data, stragglers):
        found = examine(Cell(claim, "N", num_workers, num_data, stragglers))
        scheme, ball, noise_std = BY_ID[claim].scheme(num_data, num_workers), BY_ID[claim].ball, BY_ID[claim].noise_std
        worst = max(
            certify(scheme, received, ball=ball, noise_std=noise_std).worst_pointwise_mse
            for lost in range(stragglers + 1)
            for received in ConsecutiveBlock(lost).all(num_workers)
        )
        assert found["error"] == pytest.approx(worst, rel=1e-12)  # in batches, to rounding

    def test_parity_decides_for_bacc(self):
        """Of 12 workers losing three is worse than losing four, because nine points do not reproduce lines."""
        scheme = CodedScheme.bacc(4, 12)
        three, four = (worst_block(scheme, s, "full") for s in (3, 4))
        assert three > 2 * four
        assert examine(Cell("bacc-rate", "S", 12, 4, 4))["error"] == pytest.approx(three, rel=1e-12)

    def test_a_row_is_its_cell_and_the_evidence(self):
        cell = Cell("bacc-sup", "NS", 16, 8, 1)
        row = examine(cell)
        assert row.items() >= dataclasses.asdict(cell).items()
        assert row["bound"] == bacc_sup(16, 1)
        certificates = [certify(CodedScheme.bacc(8, 16), f, ball="full") for f in ConsecutiveBlock(1).all(16)]
        assert row["error"] == max(c.bounded_curvature_error(1, 1).max() for c in certificates)


class TestBaccSup:
    @pytest.mark.parametrize(
        ("num_workers", "stragglers", "curvature", "slope", "bound"),
        [
            (4, 0, 1, 100, 2 * (1 + 0.75 * math.pi**2) * 0.5),  # even |F|: the slope does not matter
            (3, 1, 3, 100, 2 * (1 + 2 * math.pi**2) * 3),
            (4, 1, 3, 5, 2 * (1 + 2 * math.pi**2) * math.sqrt(3) / 2 * 8),
            (7, 2, 1, 1, 2 * (1 + 3.75 * math.pi**2) * math.sqrt(0.5) * 2),
            (2, 1, 1, 1, 2 * (1 + 2 * math.pi**2) * 2),  # an angle beyond pi/2, where sin falls again
            (32, 0, 1, 1, 0.851129),
        ],
    )
    def test_by_hand(self, num_workers, stragglers, curvature, slope, bound):
        assert bacc_sup(num_workers, stragglers, curvature, slope) == pytest.approx(bound, rel=1e-6)

    @pytest.mark.parametrize("num_workers", [9, 16, 41, 64])
    def test_is_never_violated(self, num_workers):
        """By the certificate on random received sets, which a function in the ball must not exceed either."""
        rng = np.random.default_rng(num_workers)
        scheme = CodedScheme.bacc(8, num_workers)
        bowl = (scheme.worker_points**2 / 2)[:, None]  # |g'| <= 1 and |g''| = 1 on [-1, 1]
        tightest = 0.0
        for _ in range(50):
            stragglers = int(rng.integers(num_workers - 1))
            received = AtMost(stragglers).sample(num_workers, rng)
            certified = certify(scheme, received, ball="full").bounded_curvature_error(1, 1).max()
            found = np.abs(scheme.decode(bowl[received], received)[:, 0] - scheme.data_points**2 / 2).max()
            assert found <= certified * (1 + 1e-12)
            assert certified <= bacc_sup(num_workers, stragglers)
            tightest = max(tightest, found / certified)
        assert tightest > 0.2  # else the certificate between the two would say little


def tabulate(claim, exponent_n, exponent_s):
    """A claim's table as if its error were an exact power of N and S + 1."""
    return [
        dataclasses.asdict(cell)
        | {"error": 1e-3 * float(cell.num_workers) ** exponent_n * (cell.stragglers + 1.0) ** exponent_s}
        for cell in cells_of(claim)
    ]


class TestJudgeRates:
    @pytest.mark.parametrize(
        ("claim", "exponent_n", "exponent_s", "verdict"),
        [
            ("letcc-noiseless", -3, 3, Verdict.ATTAINED),
            ("letcc-noiseless", -2.96, 3.04, Verdict.ATTAINED),  # exact powers: the interval is +- 0.05
            ("letcc-noiseless", -3.06, 3, Verdict.HOLDS),
            ("letcc-noiseless", -3, 2.5, Verdict.HOLDS),
            ("letcc-noiseless", -2.94, 3, Verdict.REFUTED),
            ("letcc-noiseless", -4, 3.06, Verdict.REFUTED),  # faster in N does not make up for S
            ("letcc-noisy", -0.6, 1.6, Verdict.ATTAINED),
            ("letcc-noisy", -0.6, 0, Verdict.HOLDS),
            ("letcc-noisy", -0.5, 0, Verdict.REFUTED),  # by N alone
            ("letcc-noisy", -0.6, 2, Verdict.REFUTED),  # by S along the curves
            ("letcc-n3.5", -3, 3, Verdict.REFUTED),
            ("letcc-n3.5", -3.5, 3, Verdict.ATTAINED),
        ],
    )
    def test_powers(self, claim, exponent_n, exponent_s, verdict):
        found, _ = judge_rates(BY_ID[claim], tabulate(BY_ID[claim], exponent_n, exponent_s))
        assert found == verdict

    @pytest.mark.parametrize(
        ("exponent_s", "verdict"), [(3, Verdict.INCONCLUSIVE), (2, Verdict.INCONCLUSIVE), (4, Verdict.REFUTED)]
    )
    def test_rounding_is_no_evidence(self, exponent_s, verdict):
        claim = BY_ID["letcc-noiseless"]
        table = [row | {"error": 1e-26} if row["sweep"] == "N" else row for row in tabulate(claim, -3, exponent_s)]
        found, evidence = judge_rates(claim, table)
        assert found == verdict
        nothing = {"value": None, "low": None, "high": None, "window": (), "local_slopes": ()}
        assert evidence["N"] == nothing | {"judged": True}

    def test_slope_in_s_is_shown_but_curves_are_judged_instead(self):
        claim = BY_ID["letcc-noisy"]
        table = tabulate(claim, -0.6, 0.6)
        for row in table:
            if row["sweep"] == "S":
                row["error"] = 1e6 ** row["stragglers"]
        found, evidence = judge_rates(claim, table)
        assert found == Verdict.HOLDS
        assert {name: part["judged"] for name, part in evidence.items()}["S"] is False
        assert list(evidence) == ["N", "S", "growth, S=sqrt(N)", "growth, S=N/4"]
        assert evidence["N"]["value"] == pytest.approx(-0.6)
        assert evidence["growth, S=N/4"]["value"] == pytest.approx(-1, abs=0.03)
        assert evidence["growth, S=sqrt(N)"]["value"] == pytest.approx(-0.5, abs=0.05)

    def test_s_is_fitted_against_s_plus_one(self):
        table = tabulate(BY_ID["letcc-noiseless"], -3, 3)
        exponent = fit_sweep(table, "S")
        assert exponent.value == pytest.approx(3)
        assert exponent.window == (2, 32)
        assert describe(exponent)["low"] == pytest.approx(2.95)


class TestExitStatus:
    ROWS = tuple(claim_row(claim, claim.expected) for claim in CLAIMS)

    def test_all_as_recorded(self):
        assert exit_status(list(self.ROWS)) == 0

    @pytest.mark.parametrize("claim", IDS)
    @pytest.mark.parametrize("verdict", list(Verdict))
    def test_any_other_verdict(self, claim, verdict):
        rows = [row | {"verdict": verdict} if row["claim"] == claim else row for row in self.ROWS]
        assert exit_status(rows) == (verdict != BY_ID[claim].expected)

    @pytest.mark.parametrize("verdict", [Verdict.ATTAINED, Verdict.HOLDS, Verdict.INCONCLUSIVE])
    def test_a_control_may_not_be_recorded_as_true(self, verdict):
        assert exit_status([self.ROWS[0], self.ROWS[-1] | {"verdict": verdict, "expected": verdict}]) == 1

    @pytest.mark.parametrize(("exponent", "status"), [(-3, 0), (-2, 1)])
    def test_of_a_program_with_a_control(self, monkeypatch, tmp_path, exponent, status):
        """A control that happens to be true, BACC being N^-2, must not pass."""
        design = Design(workers=(32, 64, 128, 256))
        control = dataclasses.replace(BY_ID["bacc-n3"], exponent_n=Fraction(exponent), design=design)
        monkeypatch.setattr(theory.certification, "CLAIMS", (control,))
        with pytest.raises(typer.Exit) as caught:
            theory.__main__.main(jobs=1, out=tmp_path)
        assert caught.value.exit_code == status
        (row,) = read_rows(tmp_path / "certified.json")
        assert (row["verdict"] == "refuted") == (status == 0)

    def test_the_table_says_what_was_expected(self):
        output = io.StringIO()
        unfit = {"N": {"value": None, "low": None, "high": None, "window": [], "local_slopes": []}}
        rows = [
            claim_row(BY_ID["letcc-noiseless"], Verdict.REFUTED, certified=unfit),
            claim_row(BY_ID["bacc-n3"], Verdict.REFUTED, measured={"N": {"value": -2.03, "low": -2.13, "high": -1.93}}),
        ]
        print_verdicts(rows, Console(file=output, width=140))
        text = output.getvalue()
        assert text.count("expected: attained") == 1
        assert text.count("expected:") == 1
        assert "N: too few points" in text
        assert "N: -2.03 ± 0.10" in text


class TestRegistry:
    def test_ids(self):
        assert len(set(IDS)) == len(IDS)
        assert {"letcc-noiseless", "letcc-noisy", "bacc-rate", "bacc-sup", "bacc-n3"} <= set(IDS)
        assert all(BY_ID[claim.id] is claim for claim in CLAIMS)

    @pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
    def test_is_complete(self, claim):
        exponents = claim.exponent_n, claim.exponent_s
        assert all(isinstance(exponent, Fraction) for exponent in exponents if exponent is not None)
        assert isinstance(claim.provenance, Provenance)
        assert claim.statement.endswith(".")
        assert claim.citation
        assert claim.control == (claim.expected == Verdict.REFUTED)
        assert (claim.provenance == Provenance.OWN) == ("arXiv" not in claim.citation)
        with pytest.raises(dataclasses.FrozenInstanceError):
            claim.expected = Verdict.HOLDS

    @pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
    def test_no_data_point_is_a_worker_point(self, claim):
        """There the error vanishes; it happens at N = 2^m + 1, so that grids hold even N only."""
        assert all(cell.num_workers % 2 == 0 for cell in cells_of(claim))

    @pytest.mark.parametrize("claim", [c for c in CLAIMS if c.exponent_s is not None], ids=lambda claim: claim.id)
    def test_slopes_in_s_stay_within_one_parity(self, claim):
        lost = [cell.stragglers for cell in cells_of(claim) if cell.sweep == "S"]
        assert len(lost) >= 3
        assert {s % 2 for s in lost} == {1}

    @pytest.mark.parametrize(
        ("claim", "exponent_n", "exponent_s"),
        [
            ("letcc-noiseless", "-3", "3"),
            ("letcc-noisy", "-3/5", "8/5"),
            ("letcc-noisy-optimal", "-3/4", None),
            ("bacc-rate", "-2", "2"),
            ("bacc-n3", "-3", None),
            ("letcc-n3.5", "-7/2", None),
            ("noisy-n1", "-1", None),
        ],
    )
    def test_exponents(self, claim, exponent_n, exponent_s):
        assert BY_ID[claim].exponent_n == Fraction(exponent_n)
        assert BY_ID[claim].exponent_s == (exponent_s and Fraction(exponent_s))

    @pytest.mark.parametrize(
        ("claim", "smoothing"),
        [
            ("letcc-noiseless", 0),
            ("letcc-noisy", 0.01 / 256),  # 1024^(4/5) = 2^8
            ("letcc-noisy-optimal", 0.01 / 1024),
            ("bacc-rate", None),
        ],
    )
    def test_schemes(self, claim, smoothing):
        scheme = BY_ID[claim].scheme(8, 1024)
        assert (scheme.num_data, scheme.num_workers) == (8, 1024)
        if smoothing is None:
            assert scheme.encoder == scheme.decoder == BerrutRational()
        else:
            assert scheme.encoder == SmoothingSpline(0.0)
            assert scheme.decoder.smoothing == pytest.approx(smoothing, rel=1e-14)

    def test_curves(self):
        assert {name: [curve(n) for n in (64, 512, 1024)] for name, curve in CURVES.items()} == {
            "S=sqrt(N)": [8, 22, 32],
            "S=N/4": [16, 128, 256],
        }


class TestRunCells:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_rows_come_in_the_order_of_the_cells(self, jobs):
        cells = [20_000, *range(40)]  # the first takes longest
        assert run_cells(math.factorial, cells, jobs, "counting") == [math.factorial(n) for n in cells]

    def test_certificates_do_not_depend_on_the_number_of_jobs(self):
        cells = [Cell(claim, "S", 48, 16, s) for claim in ("letcc-noisy", "bacc-rate") for s in (7, 3, 0)]
        assert run_cells(examine, cells, 1, "certifying") == run_cells(examine, cells, 2, "certifying")

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_a_cell_that_fails_is_an_error(self, jobs):
        with pytest.raises(ValueError, match=r"math domain|nonnegative"):
            run_cells(math.sqrt, [1.0, -1.0, 4.0], jobs, "rooting")

    @pytest.mark.parametrize(
        ("count", "lines"), [(0, []), (2, ["1/2", "2/2"]), (25, [f"{-(-25 * k // 10)}/25" for k in range(1, 11)])]
    )
    def test_progress_on_a_pipe_is_a_line_every_tenth_of_the_way(self, capsys, count, lines):
        run_cells(abs, list(range(count)), 1, "going")
        assert capsys.readouterr().err.splitlines() == [f"going: {line}" for line in lines]
