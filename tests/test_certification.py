import dataclasses
from fractions import Fraction

import pytest
import typer

import theory.__main__
import theory.certification
from letcc.exceptions import InvalidInput
from letcc.rates import Verdict
from theory.certification import certify_claims, claim_row
from theory.claims import BY_ID, CLAIMS
from theory.evidence import Scope, WorstBlocks
from theory.evidence.recovery import best_linear_mse
from theory.report import exit_status
from theory.store import read_rows

CONTROLS = [claim.id for claim in CLAIMS if claim.control]


class TestVerdicts:
    def test_every_claim_has_one_row(self, rows):
        assert list(rows) == [claim.id for claim in CLAIMS]

    @pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS if claim.evidence])
    def test_is_the_expected_one(self, rows, claim):
        assert rows[claim]["verdict"] == BY_ID[claim].expected

    def test_what_is_only_measured_is_not_judged_here(self, rows):
        assert [claim.id for claim in CLAIMS if not claim.evidence] == ["table-1"]
        assert (rows["table-1"]["verdict"], rows["table-1"]["certified"]) == ("inconclusive", None)

    @pytest.mark.parametrize("claim", CONTROLS)
    def test_controls_are_refuted_with_room_to_spare(self, rows, claim):
        row = rows[claim]
        assert row["verdict"] == Verdict.REFUTED
        exponents = [part for part in row["certified"].values() if isinstance(part, dict) and part["judged"]]
        if not row["predicted"]:
            (name, value), *_ = row["certified"].items()
            assert value > {"loss-split-1": 1.9, "not-a-knot-optimality": 0.05}[claim], name
            return
        claimed = row["predicted"].get("N", row["predicted"].get("S"))
        assert len(exponents) >= 1
        assert all(part["low"] - claimed > 0.15 for part in exponents)

    def test_all_is_well(self, rows):
        assert exit_status(list(rows.values())) == 0


class TestCertifyClaims:
    def test_claims_that_share_a_table_examine_it_once(self):
        claims = BY_ID["bacc-n3"], BY_ID["bacc-rate"]
        few = dataclasses.replace(BY_ID["bacc-rate"].evidence, curves=(), stragglers=(), every_set_of=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(BY_ID, "bacc-rate", dataclasses.replace(claims[1], evidence=few))
            rows, table = certify_claims(claims, Scope(max_n=256), 1)
        assert [row["claim"] for row in rows] == ["bacc-n3", "bacc-rate"]
        assert {row["claim"] for row in table} == {"bacc-rate"}
        assert len(table) == 8
        assert rows[0]["certified"]["N"] == rows[1]["certified"]["N"]

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_what_does_not_fit_is_refused_before_it_starts(self, monkeypatch, capsys, jobs):
        monkeypatch.setattr(theory.certification, "run_cells", None)
        needed = 8 * 16 * 2**40 * 8 * jobs / 2**30
        with pytest.raises(InvalidInput, match=rf"need about {needed:.3g} GiB with {jobs} jobs".replace("+", r"\+")):
            certify_claims((BY_ID["letcc-noisy-optimal"],), Scope(max_n=2**40), jobs)
        assert capsys.readouterr().err == ""


class TestOptimum:
    """Beside every error of the sweep in N, where all answer."""

    @staticmethod
    def examined(claim, **where):
        about = BY_ID[claim]
        cell = next(c for c in about.evidence.cells(about, Scope()) if where.items() <= vars(c).items())
        return about.evidence.examine(about, cell)

    def test_without_noise(self):
        letcc, bacc = (self.examined(claim, sweep="N", num_workers=64) for claim in ("letcc-noiseless", "bacc-rate"))
        assert letcc["error"] / letcc["optimum"] == pytest.approx(1, rel=1e-12)
        assert bacc["error"] / bacc["optimum"] == pytest.approx(4.1596e-5 / 1.2343e-6, rel=1e-4)  # over balls alike

    @pytest.mark.parametrize("claim", ["letcc-noisy", "letcc-noisy-optimal"])
    def test_with_noise_it_is_that_of_kriging(self, claim):
        points = BY_ID[claim].scheme(8, 64)
        expected = best_linear_mse(points.worker_points, points.data_points, BY_ID[claim].noise_std).max()
        assert self.examined(claim, sweep="N", num_workers=64)["optimum"] == pytest.approx(expected, rel=1e-6)

    def test_is_not_said_where_workers_are_lost(self):
        assert "optimum" not in self.examined("letcc-noiseless", sweep="S=3")


class TestExitStatus:
    ROWS = tuple(claim_row(claim, claim.expected, measured=None if claim.evidence else {}) for claim in CLAIMS)

    def test_all_as_recorded(self):
        assert exit_status(list(self.ROWS)) == 0

    @pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS])
    @pytest.mark.parametrize("verdict", list(Verdict))
    def test_any_other_verdict(self, claim, verdict):
        rows = [row | {"verdict": verdict} if row["claim"] == claim else row for row in self.ROWS]
        assert exit_status(rows) == (verdict != BY_ID[claim].expected)

    def test_what_awaits_measurement_is_no_failure(self):
        row = claim_row(BY_ID["table-1"], Verdict.INCONCLUSIVE)
        assert exit_status([row]) == 0
        assert exit_status([row | {"measured": {}}]) == 1

    @pytest.mark.parametrize("verdict", [Verdict.ATTAINED, Verdict.HOLDS, Verdict.INCONCLUSIVE])
    def test_a_control_may_not_be_recorded_as_true(self, verdict):
        assert exit_status([self.ROWS[0], self.ROWS[-1] | {"verdict": verdict, "expected": verdict}]) == 1

    @pytest.mark.parametrize(("exponent", "status"), [(-3, 0), (-2, 1)])
    def test_of_a_program_with_a_control(self, monkeypatch, tmp_path, exponent, status):
        """A control that happens to be true, BACC being N^-2, must not pass."""
        control = dataclasses.replace(
            BY_ID["bacc-n3"], exponents={"N": Fraction(exponent)}, evidence=WorstBlocks(), shares=""
        )
        monkeypatch.setattr(theory.certification, "CLAIMS", (control,))
        monkeypatch.setitem(BY_ID, control.id, control)
        with pytest.raises(typer.Exit) as caught:
            theory.__main__.main(jobs=1, out=tmp_path, max_n=256)
        assert caught.value.exit_code == status
        (row,) = read_rows(tmp_path / "certified.json")
        assert (row["verdict"] == "refuted") == (status == 0)
