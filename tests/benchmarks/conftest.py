"""One thread for all contenders, set before numpy is first imported; and the ratio of two of them."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from statistics import median
from timeit import Timer

import pytest


def pytest_report_header():
    from letcc.smoothers import spline

    return f"splines: {'plain' if spline._compiled() is None else 'compiled by numba'} (NUMBA_DISABLE_JIT=1: plain)"


@pytest.fixture
def side_by_side(benchmark, capsys):
    """Time a contender and print how many times as long as letcc it takes, by turns in one process.

    Absolute times differ by a quarter between machines of one kind; the ratio is the figure to quote. It is also kept
    as ``extra_info`` of the benchmark's record.
    """

    def compare(name, ours, theirs, *, rounds=40, inner=5):
        timers = [Timer(theirs), Timer(ours)]
        times = [[timer.timeit(inner) for timer in timers] for _ in range(rounds)]
        ratio = median(their_time / our_time for their_time, our_time in times)
        benchmark.extra_info["ratio"] = ratio
        with capsys.disabled():
            print(f"\n{name}: {ratio:.3g} times as long as letcc")
        benchmark.pedantic(ours, rounds=max(3, rounds // 4), iterations=inner)

    return compare
