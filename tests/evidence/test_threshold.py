import itertools

import numpy as np
import pytest

from letcc import CodedScheme
from letcc.exceptions import TooFewReceived
from letcc.rates import Verdict
from theory.claims import BY_ID
from theory.evidence.threshold import threshold

CLAIM = BY_ID["lagrange-threshold"]


def polynomial(degree, x):
    """Two outputs of three variables, of exactly this degree."""
    return np.stack([np.prod(x[:, :degree], axis=1) + x[:, 2], (x[:, 0] - 2 * x[:, 1]) ** degree - 1], axis=1)


@pytest.mark.parametrize(("num_data", "degree", "workers"), [(4, 1, 4), (4, 3, 10), (20, 3, 58), (8, 3, 22), (1, 5, 1)])
def test_threshold_by_hand(num_data, degree, workers):
    assert threshold(num_data, degree) == workers


class TestThreshold:
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_every_set_of_that_size_is_enough(self, degree):
        least = threshold(4, degree)
        scheme = CodedScheme.lagrange(4, least + 2, degree=degree)
        x = np.random.default_rng(degree).uniform(-1, 1, (4, 3))
        outputs, truth = polynomial(degree, scheme.encode(x)), polynomial(degree, x)
        for received in itertools.combinations(range(least + 2), least):
            decoded = scheme.decode(outputs[list(received)], received)
            np.testing.assert_allclose(decoded, truth, atol=1e-8)
        with pytest.raises(TooFewReceived):
            scheme.decode(outputs[: least - 1], range(least - 1))

    def test_a_higher_degree_is_not_determined(self):
        """What is refused below the threshold is refused with reason."""
        least = threshold(4, 2)
        scheme = CodedScheme.lagrange(4, least + 3, degree=2)  # of 9 workers four hold a data point itself
        x = np.random.default_rng(0).uniform(-1, 1, (4, 3))
        outputs, truth = polynomial(3, scheme.encode(x)), polynomial(3, x)
        sets = list(itertools.combinations(range(least + 3), least))
        errors = [np.abs(scheme.decode(outputs[list(f)], f) - truth).max() for f in sets]
        assert min(errors) > 1e-3


class TestCertified:
    def test_exact_at_the_threshold_and_refused_below(self, rows, errors):
        every = errors(CLAIM.id, "every set")
        assert list(every.parameter) == [1, 2, 3]
        assert list(every.num_workers) == [6, 9, 12]
        assert list(every.threshold) == [4, 7, 10]
        assert (every.error <= 1e-8).all()
        assert rows[CLAIM.id]["certified"]["largest error at the threshold, K = 4"] == every.error.max()
        for sweep in ("every set", "sampled", "growing"):
            assert errors(CLAIM.id, sweep).refused.all()

    @pytest.mark.parametrize(
        ("num_workers", "least", "condition", "error"), [(40, 22, 3.1e3, 1e-11), (100, 58, 1.8e6, 1e-8)]
    )
    def test_the_condition_of_larger_ones(self, errors, num_workers, least, condition, error):
        row = errors(CLAIM.id, "sampled").query("num_workers == @num_workers").iloc[0]
        assert row.threshold == least
        assert row.condition == pytest.approx(condition, rel=0.05)
        assert 1e-16 < row.typical < error
        assert row.typical <= row.condition * 1e-14

    def test_the_condition_grows_by_a_factor_for_each_worker_needed(self, rows, errors):
        growing = errors(CLAIM.id, "growing")
        assert (growing.num_workers == 2 * growing.threshold).all()
        assert (np.diff(np.log(growing.condition)) > 2).all()
        factor = np.exp(np.polyfit(growing.threshold, np.log(growing.condition), 1)[0])
        assert factor == pytest.approx(1.284, abs=0.01)
        assert rows[CLAIM.id]["certified"]["condition's growth per worker, N = 2 threshold"] == pytest.approx(factor)

    @pytest.mark.parametrize(
        ("change", "verdict"),
        [({}, Verdict.HOLDS), ({"error": 2e-8}, Verdict.REFUTED), ({"refused": False}, Verdict.REFUTED)],
    )
    def test_judge(self, errors, change, verdict):
        table = [
            row for sweep in ("every set", "sampled", "growing") for row in errors(CLAIM.id, sweep).to_dict("records")
        ]
        table[1] |= change
        assert CLAIM.evidence.judge(CLAIM, table)[0] == verdict
