import dataclasses

import numpy as np
import pytest

from letcc.nodes import chebyshev_second_kind
from letcc.rates import Verdict
from letcc.smoothers import SmoothingSpline, _markov
from theory.claims import BY_ID
from theory.evidence import Scope

CLAIM = BY_ID["decode-cost"]


class TestStored:
    @pytest.mark.parametrize("n", [3, 10, 257])
    def test_is_what_lapack_keeps(self, monkeypatch, n):
        kept = []
        factor = _markov.dgbtrf

        def spy(*arguments, **options):
            factors, pivots, info = factor(*arguments, **options)
            kept.append(factors.nbytes // np.dtype(float).itemsize + pivots.nbytes // pivots.itemsize)
            assert factors.dtype == float
            return factors, pivots, info

        monkeypatch.setattr(_markov, "dgbtrf", spy)
        assert [SmoothingSpline(1e-4).stored(chebyshev_second_kind(n))] == kept

    def test_is_proportional_to_n(self):
        sizes = np.array([16, 64, 65, 1000])
        stored = np.array([SmoothingSpline(1e-4).stored(chebyshev_second_kind(int(n))) for n in sizes])
        assert len(set(stored / sizes)) == 1


class TestCertified:
    def test_counts(self, rows, errors):
        applying, building = errors(CLAIM.id, "applying"), errors(CLAIM.id, "building")
        assert list(applying.num_workers) == list(building.num_workers) == [64, 128, 256, 512, 1024, 2048, 4096]
        matrix = CLAIM.scheme(8, 128).decoding_matrix()
        assert applying.error.iloc[1] == matrix.nbytes / 8 == 8 * 128
        assert building.error.iloc[1] == SmoothingSpline(1e-4).stored(chebyshev_second_kind(128))
        for sweep in ("building", "applying"):
            assert rows[CLAIM.id]["certified"][f"|F|, {sweep}"]["value"] == pytest.approx(1, abs=1e-9)

    @pytest.mark.parametrize(
        ("exponents", "verdict"),
        [
            ((1, 1), Verdict.ATTAINED),
            ((2, 1), Verdict.REFUTED),
            ((1, 1.1), Verdict.REFUTED),
            ((0.5, 0.5), Verdict.HOLDS),
        ],
    )
    def test_judge(self, exponents, verdict):
        by_sweep = dict(zip(("building", "applying"), exponents, strict=True))
        table = [
            dataclasses.asdict(cell) | {"error": cell.num_workers ** by_sweep[cell.sweep]}
            for cell in CLAIM.evidence.cells(CLAIM, Scope())
        ]
        assert CLAIM.evidence.judge(CLAIM, table)[0] == verdict
