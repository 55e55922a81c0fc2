"""coded_map beside the bare executor, and simulated rounds beside a loop over them."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from letcc import CodedScheme, coded_map
from letcc.latency import ShiftedExponential
from letcc.simulation import simulate


def sleeps(u):
    time.sleep(0.02)
    return np.sin(u)


def test_overhead_over_the_bare_executor(side_by_side):
    """Its share is 1 / ratio - 1."""
    scheme = CodedScheme.letcc(20, 100)
    x = np.random.default_rng(0).standard_normal((20, 10))
    with ThreadPoolExecutor(16) as threads:
        coded = scheme.encode(x)
        side_by_side(
            "bare executor.map, 100 tasks of 20 ms on 16 threads",
            lambda: coded_map(sleeps, x, scheme, threads),
            lambda: list(threads.map(sleeps, coded)),
            rounds=15,
            inner=1,
        )


def test_simulated_rounds(side_by_side):
    model, some = ShiftedExponential(0.1, 0.05), 1000

    def loop():
        generator = np.random.default_rng(0)
        for _ in range(some):
            times = [model.shift + generator.exponential(model.scale) for _ in range(100)]
            stopped = sorted(times)[79]
            [n for n, seconds in enumerate(times) if seconds <= stopped]

    name = f"plain loop over {some} rounds of 100 workers"
    side_by_side(name, lambda: simulate(model, some, 100, 0, wait_for=80), loop, rounds=10, inner=2)
