"""Profiles of hypothesis: no deadline anywhere, the same examples on every run of continuous integration.

And both ways to build a spline: compiled by numba, and plainly, as for those who have no numba. And the one
certification of the whole registry that every test of its numbers reads.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# drawing nodes and targets from st.data() costs more than hypothesis expects of one example
settings.register_profile("local", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# a shell that starts the tests in the background has Ctrl-C ignored, and all that they start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

SUITE = re.compile("^(?:from|import) (?:theory|convergence|figures|typer)\\b", flags=re.MULTILINE)
LETCC_ALONE = find_spec("pandas") is None


def pytest_report_header():
    return "only the tests of letcc: pandas, which the suite needs, is not installed" if LETCC_ALONE else None


def pytest_ignore_collect(collection_path):
    if LETCC_ALONE and collection_path.name.startswith("test_"):
        return bool(SUITE.search(collection_path.read_text())) or None
    return None


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@contextmanager
def building(way):
    from letcc.smoothers import spline  # not above: the benchmarks choose a number of threads before numpy is imported

    with pytest.MonkeyPatch.context() as patch:
        if way == "plain":
            patch.setattr(spline, "_compiled", lambda: None)
        else:
            pytest.importorskip("numba")
            assert spline._compiled() is not None
        yield


@pytest.fixture(scope="module", params=["compiled", "plain"])
def both_ways(request):
    with building(request.param):
        yield


@pytest.fixture(scope="session")
def certified(tmp_path_factory):
    """One run of python -m theory, into a folder where a killed run left half a file; and that folder."""
    out = tmp_path_factory.mktemp("results")
    (out / ".partial-killed").mkdir()
    (out / ".partial-killed" / "certified.json").write_text('[{"claim": "let')
    command = [sys.executable, "-m", "theory", "--json", "--jobs", "2", "--out", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    checkout = Path(__file__).parents[1]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True), out


@pytest.fixture(scope="session")
def rows(certified):
    """The verdicts, by claim."""
    from theory.store import read_rows

    finished, out = certified
    assert finished.returncode == 0, finished.stderr
    return {row["claim"]: row for row in read_rows(out / "certified.json")}


@pytest.fixture(scope="session")
def errors(rows, certified):
    """From a claim and a sweep to its part of the table."""
    from theory.store import read_table

    table = read_table(certified[1] / "certified.parquet")
    return lambda claim, sweep: table.query("claim == @claim and sweep == @sweep")
