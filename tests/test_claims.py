import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from letcc.rates import Verdict
from letcc.smoothers import BerrutRational, SmoothingSpline
from theory.assumptions import BOUNDED_GAPS
from theory.claims import BY_ID, CLAIMS, Provenance, power
from theory.evidence import Scope

IDS = [claim.id for claim in CLAIMS]
EXAMINED = [claim for claim in CLAIMS if claim.evidence]


class TestRegistry:
    def test_ids(self):
        assert len(set(IDS)) == len(IDS)
        assert set(IDS) == {
            *("letcc-noiseless", "letcc-noiseless-v1", "letcc-noisy", "letcc-noisy-optimal", "letcc-n3.5", "letcc-s2"),
            *("certificate", "optimal-recovery", "best-linear", "bacc-rate", "bacc-sup", "bacc-n3", "noisy-n1"),
            *("letcc-bernoulli", "letcc-bernoulli-no-log", "letcc-bernoulli-swapped"),
            *("bacc-bernoulli", "bacc-bernoulli-log2", "bacc-bernoulli-swapped", "letcc-adversarial"),
            *("loss-split", "loss-split-1", "spline-optimality", "not-a-knot-optimality", "encoder-training-error"),
            *("lagrange-threshold", "decode-cost", "table-1"),
        }
        assert all(BY_ID[claim.id] is claim for claim in CLAIMS)

    @pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
    def test_is_complete(self, claim):
        assert all(isinstance(exponent, Fraction) for exponent in claim.exponents.values())
        assert isinstance(claim.provenance, Provenance)
        assert claim.statement.endswith(".")
        assert claim.citation
        assert claim.control == (claim.expected == Verdict.REFUTED)
        literature = "arXiv" in claim.citation or "Micchelli" in claim.citation
        assert (claim.provenance == Provenance.OWN) != literature
        with pytest.raises(dataclasses.FrozenInstanceError):
            claim.expected = Verdict.HOLDS
        with pytest.raises(TypeError):
            claim.exponents["N"] = Fraction(-9)

    @pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.shares], ids=lambda claim: claim.id)
    def test_judged_on_the_table_of_a_claim_on_the_same_scheme(self, claim):
        source = BY_ID[claim.shares]
        assert claim.examined_as == source.id == source.examined_as
        assert type(claim.evidence) is type(source.evidence)
        assert (claim.method, claim.ball, claim.noise_std) == (source.method, source.ball, source.noise_std)
        assert claim.scheme(8, 64) == source.scheme(8, 64)

    def test_superseded_claims_name_one_of_the_registry(self):
        assert {claim.id: claim.superseded_by for claim in CLAIMS if claim.superseded_by} == {
            "letcc-noiseless-v1": "letcc-noiseless",
            "letcc-bernoulli-swapped": "letcc-bernoulli",
        }

    @pytest.mark.parametrize(
        ("claim", "exponents"),
        [
            ("letcc-noiseless", {"N": "-3", "S": "3"}),
            ("letcc-noiseless-v1", {"N": "-3", "S": "4"}),
            ("letcc-noisy", {"N": "-3/5", "S": "8/5"}),
            ("letcc-noisy-optimal", {"N": "-3/4"}),
            ("bacc-rate", {"N": "-2", "S": "2"}),
            ("letcc-bernoulli", {"N": "-3", "log N": "3"}),
            ("bacc-bernoulli", {"N": "-2", "log N": "4"}),
            ("bacc-bernoulli-log2", {"N": "-2", "log N": "2"}),
            ("letcc-bernoulli-swapped", {"N": "-2", "log N": "4"}),
            ("bacc-bernoulli-swapped", {"N": "-3", "log N": "3"}),
            ("letcc-adversarial", {"q/N": "6/5"}),
            ("encoder-training-error", {"lambda_e": "1"}),
            ("decode-cost", {"|F|": "1"}),
            ("bacc-n3", {"N": "-3"}),
            ("letcc-n3.5", {"N": "-7/2"}),
            ("letcc-s2", {"S": "2"}),
            ("noisy-n1", {"N": "-1"}),
            ("letcc-bernoulli-no-log", {"N": "-3"}),
        ],
    )
    def test_exponents(self, claim, exponents):
        assert BY_ID[claim].exponents == {name: Fraction(value) for name, value in exponents.items()}

    def test_all_others_claim_no_exponent(self):
        assert {claim.id for claim in CLAIMS if not claim.exponents} == {
            *("certificate", "optimal-recovery", "best-linear", "bacc-sup", "loss-split", "loss-split-1"),
            *("spline-optimality", "not-a-knot-optimality", "lagrange-threshold", "table-1"),
        }

    def test_power(self):
        assert power(N="-3/5", log_N="3") == {"N": Fraction(-3, 5), "log N": Fraction(3)}

    @pytest.mark.parametrize(
        ("claim", "smoothing"),
        [
            ("letcc-noiseless", 0),
            ("letcc-noisy", 0.01 / 256),  # 1024^(4/5) = 2^8
            ("letcc-noisy-optimal", 0.01 / 1024),
            ("letcc-adversarial", 0.1 / 65536),  # 1024^(8/5) = 2^16
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


class TestCellsOfClaims:
    @pytest.mark.parametrize("claim", EXAMINED, ids=lambda claim: claim.id)
    def test_are_distinct_and_the_claim_s_own(self, claim):
        cells = claim.evidence.cells(claim, Scope())
        assert len(set(cells)) == len(cells) > 0
        assert {cell.claim for cell in cells} == {claim.id}
        assert all(0 <= cell.stragglers < cell.num_workers for cell in cells)

    def test_doubling_the_largest_n_only_adds(self):
        more = 0
        for claim in EXAMINED:
            before, after = (set(claim.evidence.cells(claim, Scope(max_n=n))) for n in (4096, 8192))
            missing = {cell.sweep for cell in before - after}
            assert missing <= {"S, N = 4096"}  # is at the largest N, whichever that is
            largest = max(cell.num_workers for cell in after)
            assert largest == 8192 or after == before
            more += largest == 8192
        assert more >= 12

    def test_the_seed_reaches_whatever_is_sampled(self):
        sampled = {c.id for c in EXAMINED if {cell.seed for cell in c.evidence.cells(c, Scope(seed=7))} == {7}}
        assert {
            *("letcc-bernoulli", "bacc-bernoulli-log2", "optimal-recovery", "best-linear"),
            *("loss-split", "spline-optimality", "lagrange-threshold"),
        } <= sampled


class TestAssumptions:
    @pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
    def test_say_whether_they_are_met_and_why(self, claim):
        for assumption in claim.assumptions:
            met, why = assumption.check(claim)
            assert isinstance(met, (bool, np.bool_))
            assert isinstance(why, str)
            assert why
            assert assumption.statement
            assert not assumption.statement.endswith(".")

    def test_bounded_gaps_are_the_only_one_not_met(self):
        """Of Chebyshev points the ratio of gaps grows like 0.64 N."""
        for claim in CLAIMS:
            unmet = [assumption for assumption in claim.assumptions if not assumption.check(claim)[0]]
            assert unmet == [assumption for assumption in claim.assumptions if assumption is BOUNDED_GAPS]
        ratios = [np.diff(BY_ID["letcc-noiseless"].scheme(8, n).worker_points) for n in (64, 1024)]
        small, large = (gaps.max() / gaps.min() for gaps in ratios)
        assert BOUNDED_GAPS.check(BY_ID["letcc-noiseless"])[1].endswith(
            f"is {small:.3g} times the smallest at N = 64 and {large:.3g} times at N = 1024: "
            "Chebyshev points crowd at the ends; equispaced ones, which are examined too, do not"
        )
        assert large / 1023 == pytest.approx(2 / np.pi, abs=1e-3)

    def test_bounded_gaps_are_met_by_equispaced_points(self):
        class Equispaced:
            def scheme(self, num_data, num_workers):
                return BY_ID["letcc-noiseless"].scheme(num_data, num_workers, "equispaced")

        met, why = BOUNDED_GAPS.check(Equispaced())
        assert met
        assert "is 1 times the smallest at N = 64 and 1 times at N = 1024" in why
