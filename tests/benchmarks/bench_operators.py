"""Smoothing from outputs to estimates, N = 100 and K = 20: letcc beside what else one would take.

Absolute times differ by a quarter between machines of one kind. The number to look at is the ratio, which is measured
by turns in one process, printed, and kept as ``extra_info`` of the other contender's record.
"""

import os
from functools import partial
from statistics import median
from timeit import Timer

import numpy as np
import pytest
from csaps import csaps
from scipy.interpolate import make_smoothing_spline

from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import SmoothingSpline

NODES, TARGETS, ROUNDS = chebyshev_second_kind(100), chebyshev_first_kind(20), 60


def letcc(smoothing, outputs):
    return SmoothingSpline(smoothing).operator(NODES, TARGETS) @ outputs


def scipys(smoothing, outputs):
    return make_smoothing_spline(NODES, outputs, lam=NODES.size * smoothing)(TARGETS)


def csapss(smoothing, outputs):
    return csaps(NODES, outputs.T, TARGETS, smooth=1 / (1 + NODES.size * smoothing)).T


CONTENDERS = [
    pytest.param(contender, m, smoothing, marks=pytest.mark.benchmark(group=f"m = {m}, smoothing = {smoothing}"))
    for m, contenders in {10: [letcc, scipys], 1000: [letcc, scipys, csapss]}.items()
    for smoothing in (0.0, 1e-6)
    for contender in contenders
]


def interleaved_ratio(contender, smoothing, outputs):
    """How many times as long as letcc: the median over rounds in which they take turns."""
    timers = [Timer(partial(fit, smoothing, outputs)) for fit in (contender, letcc)]
    times = [[timer.timeit(5) for timer in timers] for _ in range(ROUNDS)]
    return median(theirs / ours for theirs, ours in times)


@pytest.mark.parametrize(("contender", "m", "smoothing"), CONTENDERS)
def test_operator_and_product(benchmark, capsys, contender, m, smoothing):
    outputs = np.random.default_rng(0).standard_normal((NODES.size, m))
    estimates = benchmark(contender, smoothing, outputs)
    np.testing.assert_allclose(estimates, letcc(smoothing, outputs), rtol=0, atol=1e-9)
    benchmark.extra_info["threads"] = os.environ["OMP_NUM_THREADS"]
    if contender is not letcc:
        benchmark.extra_info["times_letcc"] = ratio = interleaved_ratio(contender, smoothing, outputs)
        with capsys.disabled():
            print(f"\n{contender.__name__} takes {ratio:.3g} times as long as letcc: m = {m}, smoothing = {smoothing}")
