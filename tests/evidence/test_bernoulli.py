import dataclasses
import itertools

import numpy as np
import pytest

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from letcc.stragglers import Bernoulli
from theory.claims import BY_ID
from theory.evidence import Cell, Scope
from theory.evidence.bernoulli import longest_run_moment, supremum

CLAIMS = {"letcc": "letcc-bernoulli", "bacc": "bacc-bernoulli-log2"}


class TestCertified:
    def test_many_sets_up_to_the_largest_n(self, errors):
        for claim in CLAIMS.values():
            sweep = errors(claim, "N")
            assert list(sweep.num_workers) == [64, 128, 256, 512, 1024, 2048, 4096]
            assert BY_ID[claim].evidence.sets >= 200
            assert (sweep.uncertainty < 0.08).all()
            assert ((sweep.low < sweep.error) & (sweep.error < sweep.high)).all()
            assert (sweep["quantile_0.5"] < sweep["quantile_0.9"]).all()
            assert (sweep["quantile_0.9"] < sweep["quantile_0.99"]).all()

    @pytest.mark.parametrize(
        ("claim", "name", "exponent", "tolerance"),
        [
            ("letcc-bernoulli", "N, raw", -2.64, 0.06),
            ("letcc-bernoulli", "N, after log^3", -3, 0.15),
            ("letcc-bernoulli", "N, after the longest run", -3, 0.05),
            ("bacc-bernoulli-log2", "N, raw", -1.65, 0.06),
            ("bacc-bernoulli-log2", "N, after log^2", -2.05, 0.25),
            ("bacc-bernoulli", "N, after log^4", -2.31, 0.1),
        ],
    )
    def test_exponents(self, rows, claim, name, exponent, tolerance):
        found = rows[claim]["certified"][name]
        assert found["value"] == pytest.approx(exponent, abs=tolerance)
        assert found["judged"] == ("log" in name)

    @pytest.mark.parametrize("claim", ["letcc-bernoulli", "bacc-bernoulli", "bacc-bernoulli-log2"])
    def test_claims_are_not_refuted(self, rows, claim):
        assert rows[claim]["verdict"] in ("attained", "holds")

    @pytest.mark.parametrize(
        ("claim", "name"), [("bacc-bernoulli-swapped", "N, after log^3"), ("letcc-bernoulli-no-log", "N")]
    )
    def test_controls_are_refuted(self, rows, claim, name):
        """What an abstract prints the wrong way round, and the rate without its logarithm."""
        assert rows[claim]["verdict"] == "refuted"
        assert rows[claim]["certified"][name]["low"] > -3 + 0.15

    def test_the_mean_over_other_sets_is_within_its_uncertainty(self, errors):
        claim = BY_ID["letcc-bernoulli"]
        row = errors(claim.id, "N").query("num_workers == 64").iloc[0]
        other = claim.evidence.examine(claim, Cell(claim.id, "N", 64, 8, parameter=0.2, seed=1))
        assert other["error"] != row.error
        spread = np.hypot(row.uncertainty * row.error, other["uncertainty"] * other["error"])
        assert abs(other["error"] - row.error) < 4 * spread
        assert other["high"] - other["low"] == pytest.approx(2 * 1.96 * other["uncertainty"] * other["error"])


class TestSupremum:
    @pytest.mark.parametrize("method", ["letcc", "bacc"])
    @pytest.mark.parametrize("num_workers", [64, 128])
    def test_against_every_gap_densely(self, method, num_workers):
        scheme, ball = getattr(CodedScheme, method)(8, num_workers), BY_ID[CLAIMS[method]].ball
        for seed in range(6):
            nodes = scheme.worker_points[Bernoulli(0.2).sample(num_workers, seed)]
            found = supremum(scheme, nodes, ball)
            everywhere = np.concatenate([[-1], nodes, [1]])
            targets = np.unique(np.concatenate([np.linspace(a, b, 21) for a, b in itertools.pairwise(everywhere)]))
            there = CodedScheme(scheme.encoder, scheme.decoder, targets, nodes)
            densely = certify(there, ball=ball).squared_bias.max()
            assert 0.98 * densely <= found <= densely * (1 + 1e-9)

    def test_lost_ends_count(self):
        """Where the first eight of 64 are lost the supremum is at the end, which no gap between workers holds."""
        scheme = CodedScheme.letcc(8, 64, points="equispaced")
        nodes = scheme.worker_points[8:]
        at_end = CodedScheme(scheme.encoder, scheme.decoder, np.array([-1.0, 1.0]), nodes)
        found = supremum(scheme, nodes, "seminorm")
        assert found == pytest.approx(certify(at_end).squared_bias[0], rel=1e-12)
        assert found > 50 * supremum(scheme, scheme.worker_points, "seminorm")


class TestLongestRun:
    @pytest.mark.parametrize("power", [0, 2, 3])
    @pytest.mark.parametrize("probability", [0.05, 0.2, 0.5, 0.9])
    @pytest.mark.parametrize("num_workers", [1, 2, 3, 7, 10])
    def test_by_all_patterns(self, num_workers, probability, power):
        moment = 0.0
        for lost in itertools.product([False, True], repeat=num_workers):
            longest = max((len(list(run)) for is_lost, run in itertools.groupby(lost) if is_lost), default=0)
            weight = probability ** sum(lost) * (1 - probability) ** (num_workers - sum(lost))
            moment += weight * (longest + 1) ** power
        assert longest_run_moment(num_workers, probability, power) == pytest.approx(moment, rel=1e-12)

    def test_grows_like_the_logarithm_to_the_base_one_over_p(self):
        """The mean of the longest run is log_{1/p}(N (1-p)) + gamma / ln(1/p) - 1/2 but for a small oscillation."""
        for n in (512, 4096):
            expected = (np.log(n * 0.8) + np.euler_gamma) / np.log(5) + 0.5
            assert longest_run_moment(n, 0.2, 1) == pytest.approx(expected, abs=0.01)

    def test_in_the_table(self, errors):
        for claim, power in (("letcc-bernoulli", 3), ("bacc-bernoulli-log2", 2)):
            row = errors(claim, "N").query("num_workers == 1024").iloc[0]
            assert row.longest_run == pytest.approx(longest_run_moment(1024, 0.2, power))


def table(exponent_n, power, uncertainty=0.01):
    """A claim's table as if the error were an exact power of N times one of its logarithm."""
    cells = BY_ID["letcc-bernoulli"].evidence.cells(BY_ID["letcc-bernoulli"], Scope())
    return [
        dataclasses.asdict(cell)
        | {
            "error": cell.num_workers**exponent_n * np.log(cell.num_workers) ** power,
            "uncertainty": uncertainty,
            "longest_run": np.log(cell.num_workers) ** 3,
        }
        for cell in cells
    ]


class TestJudge:
    @pytest.mark.parametrize(
        ("claim", "exponent_n", "power", "verdict"),
        [
            ("letcc-bernoulli", -3, 3, Verdict.ATTAINED),
            ("letcc-bernoulli", -3, 4, Verdict.REFUTED),
            ("letcc-bernoulli", -3.1, 3, Verdict.HOLDS),
            ("letcc-bernoulli-no-log", -3, 3, Verdict.REFUTED),
            ("letcc-bernoulli-no-log", -3, 0, Verdict.ATTAINED),
            ("bacc-bernoulli", -2, 2, Verdict.HOLDS),
            ("bacc-bernoulli-log2", -2, 2, Verdict.ATTAINED),
            ("bacc-bernoulli-swapped", -2, 2, Verdict.REFUTED),
        ],
    )
    def test_powers(self, claim, exponent_n, power, verdict):
        assert BY_ID[claim].evidence.judge(BY_ID[claim], table(exponent_n, power))[0] == verdict

    def test_uncertainty_widens_the_interval(self):
        claim = BY_ID["letcc-bernoulli"]
        certain, uncertain = (claim.evidence.judge(claim, table(-3, 3, u))[1]["N, after log^3"] for u in (1e-3, 0.3))
        assert certain["high"] - certain["low"] < 0.12
        assert uncertain["high"] - uncertain["low"] > 0.3
