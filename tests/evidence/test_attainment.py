import dataclasses

import numpy as np
import pytest

from letcc import CodedScheme, certify
from letcc.rates import Verdict
from theory.certification import examine
from theory.claims import BY_ID
from theory.evidence import Cell, Scope, attainment
from theory.evidence.attainment import decode_extremal, extremal_curves, without_middle

CLAIM = BY_ID["certificate"]


class TestCertified:
    def test_both_parities_and_both_families(self, errors):
        cells = CLAIM.evidence.cells(CLAIM, Scope())
        assert {cell.sweep for cell in cells} == {"LeTCC", "LeTCC, lambda = 1e-4", "BACC"}
        for sweep in ("LeTCC", "LeTCC, lambda = 1e-4", "BACC"):
            found = errors(CLAIM.id, sweep)
            for points in ("chebyshev", "equispaced"):
                rows = found[found.points == points]
                assert {(k % 2, (n - s) % 2) for n, k, s in rows[["num_workers", "num_data", "stragglers"]].values} == {
                    (0, 0),
                    (0, 1),
                    (1, 0),
                    (1, 1),
                }
                assert (rows.error < 1e-10).all()
                assert (rows.certified > 1e-9).all()

    def test_largest_distance(self, rows):
        (distance,) = rows[CLAIM.id]["certified"].values()
        assert distance < 1e-10

    @pytest.mark.parametrize("sweep", ["LeTCC", "BACC"])
    @pytest.mark.parametrize("off", [1e-6, -1e-6])
    def test_a_wrong_certificate_would_be_caught(self, monkeypatch, sweep, off):
        def wrong(*arguments, **options):
            certificate = certify(*arguments, **options)
            return dataclasses.replace(certificate, squared_bias=certificate.squared_bias * (1 + off))

        cell = Cell(CLAIM.id, sweep, 32, 7, 5)
        assert CLAIM.evidence.judge(CLAIM, [examine(cell)])[0] == Verdict.HOLDS
        monkeypatch.setattr(attainment, "certify", wrong)
        assert CLAIM.evidence.judge(CLAIM, [examine(cell)])[0] == Verdict.REFUTED

    def test_a_decoder_that_is_not_the_certified_one_would_be_caught(self):
        scheme, other = CodedScheme.bacc(8, 31), CodedScheme.letcc(8, 31)
        received = without_middle(31, 4)
        certificate = certify(scheme, received, ball="full")
        truth = certificate.extremal(scheme.data_points)
        reached = ((decode_extremal(other, certificate, received) - truth) ** 2).max()
        assert reached < 0.5 * certificate.squared_bias.max()


@pytest.mark.parametrize(("num_workers", "stragglers", "received"), [(6, 2, [0, 1, 4, 5]), (5, 0, [0, 1, 2, 3, 4])])
def test_without_middle(num_workers, stragglers, received):
    assert list(without_middle(num_workers, stragglers)) == received


def test_curves_to_be_drawn():
    """What the decoder misses at the data points is the certificate's square root."""
    curves = extremal_curves()
    for method in ("LeTCC", "BACC"):
        parts = dict(iter(curves[curves.scheme == method].groupby("part")))
        assert {name: len(part) for name, part in parts.items()} == {
            "extremal": 801,
            "decoder": 801,
            "received": 26,
            "data": 8,
        }
        extremal, decoder, data = parts["extremal"], parts["decoder"], parts["data"]
        scheme = getattr(CodedScheme, method.lower())(8, 32)
        certified = np.sqrt(certify(scheme, without_middle(32, 6), ball="full").squared_bias.max())
        missed = np.abs(np.interp(data.t, decoder.t, decoder.value) - data.value).max()
        assert missed == pytest.approx(certified, rel=5e-3)  # between points of the curve
        assert np.interp(data.t, extremal.t, extremal.value) == pytest.approx(data.value.to_numpy(), abs=1e-4)
