"""One thread for all contenders, set before numpy is imported; the ratio of two of them, and what it was before."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from timeit import Timer

import pytest

BASELINE = Path(__file__).with_name("baseline.json")
SLOWER = 1.5  # times the baseline; less than that is the machine
COSTS = pytest.StashKey[dict[str, float]]()


def pytest_addoption(parser):
    parser.addoption("--update-baseline", action="store_true", help="keep these ratios as those to compare with")


def pytest_configure(config):
    config.stash[COSTS] = {}


def splines():
    from letcc.smoothers import spline

    return "plain" if spline._compiled() is None else "compiled by numba"


def pytest_report_header():
    return f"splines: {splines()} (NUMBA_DISABLE_JIT=1: plain)"


@pytest.fixture
def cost(request):
    """Keep what letcc costs in units of what it is measured against: more is worse."""
    name = request.node.nodeid.rpartition("/")[2]
    return lambda value: request.config.stash[COSTS].update({name: float(f"{value:.3g}")})


@pytest.fixture
def side_by_side(benchmark, capsys, cost):
    """Time a contender and print how many times as long as letcc it takes, by turns in one process.

    Absolute times differ by a quarter between machines of one kind; the ratio is the figure to quote. It is also kept
    as ``extra_info`` of the benchmark's record.
    """

    def compare(name, ours, theirs, *, rounds=40, inner=5):
        timers = [Timer(theirs), Timer(ours)]
        times = [[timer.timeit(inner) for timer in timers] for _ in range(rounds)]
        ratio = median(their_time / our_time for their_time, our_time in times)
        benchmark.extra_info["ratio"] = ratio
        cost(1 / ratio)
        with capsys.disabled():
            print(f"\n{name}: {ratio:.3g} times as long as letcc")
        benchmark.pedantic(ours, rounds=max(3, rounds // 4), iterations=inner)

    return compare


def pytest_terminal_summary(terminalreporter, config):
    costs = config.stash[COSTS]
    if not costs:
        return
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"made with": {}, "costs": {}}
    made_with = {name: version(name) for name in ("numpy", "scipy", "numba", "csaps")}
    made_with |= {"python": python_version(), "splines": splines()}
    report = terminalreporter
    report.section("cost of letcc in units of what it is measured against, beside the baseline")
    for name, then in baseline["made with"].items():
        if made_with.get(name) != then:
            report.line(f"{name}: baseline {then}, now {made_with.get(name)}")
    slower = []
    for name, now in costs.items():
        then = baseline["costs"].get(name)
        change = f"baseline {then:<8g} now {now / then:.2f} of it" if then else "not in the baseline"
        report.line(f"{name:<75} {now:<8g} {change}")
        if then and now > SLOWER * then:
            slower.append(f"{name} ({now / then:.2f})")
    report.line(f"slower than {SLOWER} times the baseline: {', '.join(slower) or 'nothing'}")
    if config.getoption("update_baseline"):
        kept = {"made with": made_with, "costs": baseline["costs"] | costs}
        BASELINE.write_text(json.dumps(kept, indent=2) + "\n")
        report.line(f"the baseline is updated: {BASELINE}")
