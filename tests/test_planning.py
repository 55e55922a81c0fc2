import math

import numpy as np
import pytest

import letcc
from letcc import CodedScheme
from letcc.exceptions import InvalidInput, NoPlan
from letcc.latency import Bimodal, ShiftedExponential
from letcc.metrics import rmse
from letcc.simulation import simulate

MODEL = Bimodal(1.0, 10.0, 0.1, jitter=0.1)
X = np.linspace(-1, 1, 16)


def test_what_is_promised_is_kept_in_rounds_not_seen_before():
    chosen = letcc.plan(np.sin, X, 40, MODEL, deadline=3.0, target=1e-3, confidence=0.9)
    x = X[: chosen.num_data]
    scheme = chosen.scheme.fit(x)
    assert (scheme.num_data, scheme.num_workers) == (chosen.num_data, 40)
    assert chosen.stragglers == 40 - chosen.wait_for
    rounds = simulate(MODEL, 500, 40, seed=1, wait_for=chosen.wait_for, deadline=chosen.deadline)
    outputs = np.sin(scheme.encode(x))
    errors = [rmse(scheme.decode(outputs[mask], mask), np.sin(x)) for mask in rounds.received]
    assert np.mean(np.array(errors) <= 1e-3) > 0.9 - 4 * math.sqrt(0.09 / 200)
    assert np.mean(rounds.elapsed <= chosen.elapsed) > 0.9 - 4 * math.sqrt(0.09 / 200)


def test_a_harder_target_waits_longer_or_takes_fewer_inputs():
    easy, hard = (letcc.plan(np.sin, X, 40, MODEL, deadline=30.0, target=target) for target in (1e-1, 1e-4))
    assert (easy.num_data, -easy.wait_for) >= (hard.num_data, -hard.wait_for)
    assert easy.wait_for < hard.wait_for or easy.num_data > hard.num_data


def test_too_short_a_deadline():
    with pytest.raises(NoPlan, match=r"too few of 40 workers answer in 0.5 seconds to decode"):
        letcc.plan(np.sin, X, 40, MODEL, deadline=0.5, target=0.1)


def test_schemes_of_one_s_own():
    lagrange = {"lagrange": lambda k, n: CodedScheme.lagrange(k, n, degree=2)}
    chosen = letcc.plan(np.square, X, 60, ShiftedExponential(1, 0.5), 10.0, 1e-6, schemes=lagrange)
    assert (chosen.name, chosen.num_data) == ("lagrange", 16)
    assert chosen.wait_for >= 31


def test_modules(torch):
    module = torch.nn.Tanh().eval()
    chosen = letcc.plan(module, torch.linspace(-1, 1, 8)[:, None], 40, MODEL, deadline=3.0, target=1e-2)
    assert chosen.num_data == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deadline": 0}, "deadline is 0: it must be a finite number of more than 0"),
        ({"deadline": math.inf}, "deadline is inf"),
        ({"target": 0.0}, "target is 0.0"),
        ({"target": "small"}, "target is 'small'"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"rounds": 0}, "rounds must be an integer of at least 1, not 0"),
        ({"num_workers": 0}, "num_workers must be an integer of at least 1, not 0"),
        ({"x": []}, "at least one sample input"),
        ({"f": 3}, "f must be a function or a torch module, not 3"),
    ],
)
def test_bad_input(options, message):
    arguments = {"f": np.sin, "x": X, "num_workers": 40, "latency": MODEL, "deadline": 3.0, "target": 0.1}
    with pytest.raises(InvalidInput, match=message):
        letcc.plan(**arguments | options)
