import dataclasses
import itertools
import math

import numpy as np
import pytest

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from theory.claims import BY_ID
from theory.evidence import Scope
from theory.evidence.adversarial import worst_corruption

CLAIM = BY_ID["letcc-adversarial"]


class TestCertified:
    @pytest.mark.parametrize("sweep", ["q=1", "q=N^(1/4)"])
    def test_slopes_against_the_share_of_corrupted_workers(self, rows, sweep):
        found = rows[CLAIM.id]["certified"][f"q/N, {sweep}"]
        assert found["value"] == pytest.approx(6 / 5, abs=0.05)
        assert found["judged"]
        np.testing.assert_allclose(found["local_slopes"], 1.2, atol=0.015)

    def test_more_of_them_are_shown_and_not_judged(self, rows):
        evidence = rows[CLAIM.id]["certified"]
        assert not evidence["q/N, q=N^(1/2)"]["judged"]
        assert 1.05 < evidence["q/N, q=N^(1/2)"]["value"] < 1.25
        assert evidence["q/N, q=N^(3/4)"].startswith("inconclusive")

    @pytest.mark.parametrize(
        ("sweep", "corrupted", "constant"),
        [
            ("q=1", [1, 1, 1, 1, 1, 1], 0.1),
            ("q=N^(1/4)", [3, 4, 5, 6, 7, 8], 0.1),
            ("q=N^(1/2)", [11, 16, 22, 32, 45, 64], 0.01),
            ("q=N^(3/4)", [38, 64, 108, 181, 304, 512], 0.01),
        ],
    )
    def test_how_many_and_the_smoothing(self, errors, sweep, corrupted, constant):
        rows = errors(CLAIM.id, sweep)
        assert list(rows.num_workers) == [128, 256, 512, 1024, 2048, 4096]
        assert list(rows.parameter) == corrupted
        np.testing.assert_allclose(rows.smoothing, constant * (rows.parameter / rows.num_workers) ** 1.6, rtol=1e-12)


class TestWorstCorruption:
    @pytest.mark.parametrize("corrupted", [1, 2, 3])
    @pytest.mark.parametrize(("num_workers", "num_data"), [(7, 3), (10, 4)])
    @pytest.mark.parametrize("smoothing", [0.0, 1e-4, 1e-2])
    def test_by_every_place_and_sign(self, num_workers, num_data, smoothing, corrupted):
        """Decoded from corrupted outputs of the function on which each data point errs most."""
        scheme = CodedScheme.letcc(num_data, num_workers, decoder_smoothing=smoothing)
        worst = 0.0
        for k, place in enumerate(scheme.data_points):
            alone = CodedScheme(scheme.encoder, scheme.decoder, place[None], scheme.worker_points)
            extremal = certify(alone).extremal
            outputs, truth = extremal(scheme.worker_points), extremal(place)
            for workers in itertools.combinations(range(num_workers), corrupted):
                for signs in itertools.product([-0.7, 0.7], repeat=corrupted):
                    received = outputs.copy()
                    received[list(workers)] += signs
                    worst = max(worst, (scheme.decode(received)[k] - truth) ** 2)
        assert worst_corruption(scheme, corrupted, 0.7) == pytest.approx(worst, rel=1e-9)

    def test_without_magnitude_it_is_the_certificate(self):
        scheme = CodedScheme.letcc(4, 12, decoder_smoothing=1e-3)
        assert worst_corruption(scheme, 2, 0.0) == pytest.approx(certify(scheme).worst_pointwise_mse, rel=1e-12)


class TestJudge:
    @pytest.mark.parametrize(
        ("exponents", "verdict"),
        [
            ((1.2, 1.2), Verdict.ATTAINED),
            ((1.3, 1.2), Verdict.HOLDS),
            ((1.3, 1.3), Verdict.HOLDS),
            ((1.2, 1.1), Verdict.REFUTED),
            ((1.1, 1.2), Verdict.REFUTED),
        ],
    )
    def test_rests_on_the_slowest_growths_only(self, exponents, verdict):
        by_sweep = dict(zip(("q=1", "q=N^(1/4)"), exponents, strict=True))
        table = [
            dataclasses.asdict(cell)
            | {"error": (cell.parameter / cell.num_workers) ** by_sweep.get(cell.sweep, 0.1 * math.pi)}
            for cell in CLAIM.evidence.cells(CLAIM, Scope())
        ]
        # as q/N goes to 0 the steeper power is the smaller error
        assert CLAIM.evidence.judge(CLAIM, table)[0] == verdict
