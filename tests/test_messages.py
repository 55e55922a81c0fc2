"""Refusals in full: the value, the cause and the way out."""

import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from letcc import CodedScheme, certify_rates, coded_map, nodes, simulation
from letcc.exceptions import InvalidInput, WorkerFailed
from letcc.latency import ShiftedExponential, Trace
from letcc.ordering import ShortPath
from letcc.rates import fit_exponent
from letcc.smoothers import FloaterHormann, SmoothingSpline

SCHEME = CodedScheme.letcc(4, 9)
X = [8, 16, 32, 64, 128]
FITTED = fit_exponent(X, [x**-2.0 for x in X])
FAR = SimpleNamespace(data_points=np.array([0.0, 2.0]), worker_points=np.linspace(-1, 1, 9), decode=None)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: nodes.clustered(9, 3, 1.5), "width is 1.5: it must be above 0 and at most 1"),
        (lambda: nodes.as_points([0.0, np.inf], "nodes"), "nodes[1] is inf: points must be finite"),
        (
            lambda: nodes.as_points(np.ma.array([0.0, 1.0], mask=[0, 1]), "nodes"),
            "nodes are a masked array: leave out what is masked, for instance by compressed()",
        ),
        (
            lambda: SCHEME.decode(np.ma.array(np.ones(9), mask=np.arange(9) == 4)),
            "the outputs of workers are a masked array, with entries [4] masked: leave those out",
        ),
        (
            lambda: SCHEME.decoding_matrix([True, 2, 3, 4]),
            "received mixes booleans and integers: [True, 2, 3, 4]; pass indices, or a mask",
        ),
        (lambda: ShortPath(power=2.0), "power is 2.0: it must be a number from 0 to 1"),
        (lambda: ShortPath(metric="taxi"), "metric must be a name that scipy's cdist knows, not 'taxi'"),
        (lambda: FITTED.judge(np.nan), "a claimed exponent must be a finite number, not nan"),
        (
            lambda: fit_exponent(X[:2], [1.0, 0.5], uncertainty=[0.1, 0.0]),
            "every uncertainty must be a positive number, not [0.1, 0.0]",
        ),
        (lambda: CodedScheme.letcc(0, 9), "num_data is 0: it must be at least 1"),
        (
            lambda: CodedScheme.letcc(4, 9, points="random"),
            'points must be "chebyshev" or "equispaced", not \'random\'',
        ),
        (lambda: SmoothingSpline(-1.0), "smoothing is -1.0: it must be at least 0"),
        (lambda: FloaterHormann(2.5), "degree must be an integer, not 2.5"),
        (
            lambda: SmoothingSpline("gcv").resolve([-1.0, 0.0, 1.0], np.ones(3)),
            "values must be real and of shape (3, m), not float64 (3,)",
        ),
        (
            lambda: SmoothingSpline("gcv").resolve([-1.0, 0.0, 1.0], [[1.0], [np.nan], [0.0]]),
            "values must be finite: leave out the nodes of those that are not",
        ),
        (
            lambda: simulation.simulate(ShiftedExponential(1.0, 1.0), 5, 9, 0, wait_for=10),
            "wait_for is 10: it must be from 1 to 9",
        ),
        (
            lambda: certify_rates(lambda k, n: FAR, workers=(8, 12), num_data=2, stragglers=(1, 3)),
            f"data_points of {FAR!r} must lie in [-1, 1]: rescale them",
        ),
    ],
)
def test_what_is_refused(refused, message):
    with pytest.raises(InvalidInput) as caught:
        refused()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the trace {path} is empty: it needs a line of seconds for each round"),
        ("1 2\n3\n", "line 2 of {path} has 1 times, but those before have 2"),
        ("1 0\n", "line 1 of {path} has the time 0.0: times are seconds, more than 0"),
    ],
)
def test_traces(tmp_path, text, message):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"^{re.escape(message.format(path=path))}$"):
        Trace.read(path)


def test_an_executor_that_is_shut_down():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(InvalidInput, match=r"^the executor takes no tasks \(.*after shutdown\): make a new one$"):
        coded_map(np.sin, np.zeros(4), SCHEME, threads)


def test_a_function_that_fails_on_every_worker():
    def fails(u):
        raise OSError("no disk")

    with ThreadPoolExecutor(2) as threads, pytest.raises(WorkerFailed) as caught:
        coded_map(fails, np.zeros(4), SCHEME, threads, on_error="straggler")
    message = r"^f failed on all 9 workers, on worker \d with OSError\('no disk'\)$"
    assert re.match(message, str(caught.value))
    assert isinstance(caught.value.__cause__, OSError)
