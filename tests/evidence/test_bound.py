import dataclasses
import math

import numpy as np
import pytest

from letcc import CodedScheme, certify
from letcc.exceptions import InvalidInput
from letcc.rates import Verdict
from letcc.stragglers import AtMost, ConsecutiveBlock
from theory.bounds import bacc_sup
from theory.certification import examine
from theory.claims import BY_ID
from theory.evidence import Cell, Scope

CLAIM = BY_ID["bacc-sup"]


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


class TestCertified:
    def test_printed_bound_is_loose_by_known_factors(self, errors):
        sweep = errors("bacc-sup", "NS").query("num_workers == 128").set_index("stragglers")
        factors = (sweep.bound / sweep.error)[[0, 2, 4, 8, 16]]
        np.testing.assert_allclose(factors, [52, 193, 410, 1077, 3347], rtol=0.03)

    def test_no_cell_violates_it(self, rows, errors):
        sweep = errors("bacc-sup", "NS")
        assert set(sweep.num_workers) == {32, 64, 128}
        assert {s % 2 for s in sweep.stragglers} == {0, 1}
        assert (sweep.error < 0.05 * sweep.bound).all()
        assert rows["bacc-sup"]["certified"]["largest exact/bound"] == pytest.approx((sweep.error / sweep.bound).max())

    def test_a_row_is_its_cell_and_the_evidence(self):
        cell = Cell("bacc-sup", "NS", 16, 8, 1)
        row = examine(cell)
        assert row.items() >= dataclasses.asdict(cell).items()
        assert row["bound"] == bacc_sup(16, 1)
        certificates = [certify(CodedScheme.bacc(8, 16), f, ball="full") for f in ConsecutiveBlock(1).all(16)]
        assert row["error"] == max(c.bounded_curvature_error(1, 1).max() for c in certificates)

    def test_one_violation_refutes_it(self):
        table = [{"error": 1.0, "bound": 50.0}] * 20
        assert CLAIM.evidence.judge(CLAIM, table)[0] == Verdict.HOLDS
        assert CLAIM.evidence.judge(CLAIM, [*table, {"error": 1.01, "bound": 1.0}])[0] == Verdict.REFUTED

    def test_a_grid_without_any_n(self):
        assert {cell.num_workers for cell in CLAIM.evidence.cells(CLAIM, Scope(max_n=100))} == {32, 64}
        with pytest.raises(InvalidInput, match="max_n is 31"):
            CLAIM.evidence.cells(CLAIM, Scope(max_n=31))
