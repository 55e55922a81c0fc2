"""Sweeps: the same rows whatever computes them, and however often they are killed."""

import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from letcc.exceptions import IllConditionedWarning, InvalidInput, LetccError
from theory.cells import run_cells, sweeping
from theory.journal import Journal

CHECKOUT = Path(__file__).parents[1]
GUARD = 120
CELLS = list(range(20))
ROUNDS = int(os.environ.get("LETCC_ROUNDS", "4"))
KILLS = 10 if ROUNDS >= 50 else 3


def square(cell):
    return {"cell": cell, "square": float(np.sqrt(cell)) ** 2}


def counted(cell):
    with open(os.environ["LETCC_COUNT"], "a") as file:
        file.write(f"{cell}\n")
    return square(cell)


def interrupted(cell):
    if cell == 7 and not Path(os.environ["LETCC_COUNT"]).with_suffix(".mended").exists():
        raise KeyboardInterrupt
    return counted(cell)


@pytest.fixture
def count(tmp_path, monkeypatch):
    path = tmp_path / "count"
    path.touch()
    monkeypatch.setenv("LETCC_COUNT", str(path))
    return lambda: sorted(map(int, path.read_text().split()))


def threads(cell):
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] != "none"]


def warns(cell):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
    warnings.warn("as expected", IllConditionedWarning, stacklevel=1)


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install letcc[dask]")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


def test_cells_have_one_thread_each_whatever_computes_them(dask, monkeypatch):
    """Sums are split over threads, and round differently with their number."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with threadpool_limits(2):
        before = threads(None)
        for executor, jobs in (("processes", 1), ("processes", 2), ("threads", 3), (f"dask:{dask}", 1)):
            with sweeping(executor, None):
                assert set(threads(None)) == {1}
                assert {count for row in run_cells(threads, CELLS, jobs, "testing") for count in row} == {1}
            run_cells(threads, CELLS, 1, "testing")
        assert threads(None) == before
        assert set(before) == {2}


def test_cells_in_threads_do_not_switch_each_other_s_warnings_on():
    filters = list(warnings.filters)
    with sweeping("threads", None):
        run_cells(warns, range(500), 8, "testing")
    assert warnings.filters == filters


@pytest.mark.parametrize(("executor", "jobs"), [("processes", 1), ("processes", 2), ("threads", 1), ("threads", 3)])
def test_the_same_rows_whatever_computes_them(executor, jobs, tmp_path):
    finished = []
    with sweeping(executor, tmp_path):
        rows = run_cells(square, CELLS, jobs, "testing", lambda cell, row: finished.append((cell, row)))
    assert rows == [square(cell) for cell in CELLS]
    assert sorted(finished, key=lambda pair: pair[0]) == list(zip(CELLS, rows, strict=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spelling", ["dask://{}", "dask:tcp://{}", "dask://tcp://{}", "dask:{}"])
def test_dask(dask, spelling, tmp_path):
    with sweeping(spelling.format(dask.removeprefix("tcp://")), tmp_path):
        assert run_cells(square, CELLS, 1, "testing") == [square(cell) for cell in CELLS]


def test_no_scheduler(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def unreachable(address, timeout):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", unreachable)
    refused = pytest.raises(InvalidInput, match=r"no Dask scheduler at 10\.0\.0\.1:8786: timed out")
    with refused, sweeping("dask://10.0.0.1:8786", None):
        run_cells(square, CELLS, 1, "testing")


def test_dask_workers_without_the_checkout(dask, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def lacking(*_):
        raise ModuleNotFoundError("No module named 'theory'")

    monkeypatch.setattr(distributed.Client, "run", lacking)
    refused = pytest.raises(InvalidInput, match=r"need this checkout on their PYTHONPATH .*'theory'")
    with refused, sweeping(f"dask:{dask}", None):
        run_cells(square, CELLS, 1, "testing")


def kills_itself(cell):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_of_a_sweep_is_told():
    with pytest.raises(LetccError, match="was killed, perhaps for want of memory: run the same command again"):
        run_cells(kills_itself, CELLS, 2, "testing")


@pytest.mark.parametrize("executor", ["thread", "dask", "dask:", "dask://", "ray:1"])
def test_executors_that_there_are_not(executor):
    with pytest.raises(InvalidInput, match="--executor is"), sweeping(executor, None):
        pass


class TestJournal:
    def test_an_interrupted_sweep_goes_on(self, tmp_path, count):
        out = tmp_path / "out"
        with pytest.raises(KeyboardInterrupt), sweeping("processes", out):
            run_cells(interrupted, CELLS, 1, "testing")
        assert count() == list(range(7))
        (tmp_path / "count.mended").touch()
        with sweeping("processes", out):
            rows = run_cells(interrupted, CELLS, 1, "testing")
        assert rows == [square(cell) for cell in CELLS]
        assert count() == CELLS  # every cell once
        assert list(out.iterdir()) == []

    def test_a_caller_who_keeps_rows_is_left_to_it(self, tmp_path, count):
        kept = []
        with pytest.raises(KeyboardInterrupt), sweeping("processes", tmp_path / "out"):
            run_cells(interrupted, CELLS, 1, "testing", lambda cell, row: kept.append(cell))
        assert kept == list(range(7))
        assert not (tmp_path / "out").exists()

    def test_a_program_that_ends_leaves_the_cells_of_others(self, tmp_path, count, monkeypatch):
        with pytest.raises(KeyboardInterrupt), sweeping("processes", tmp_path):
            run_cells(interrupted, CELLS, 1, "testing")
        with sweeping("processes", tmp_path):
            run_cells(square, CELLS, 1, "testing")
        assert len(list((tmp_path / ".partial-cells").iterdir())) == 1
        monkeypatch.setattr("theory.journal.code", lambda: "changed")
        with sweeping("processes", tmp_path):
            run_cells(square, CELLS, 1, "testing")
        assert not (tmp_path / ".partial-cells").exists()

    def test_nothing_is_kept_unless_asked_for(self, tmp_path, count):
        with pytest.raises(KeyboardInterrupt):
            run_cells(interrupted, CELLS, 1, "testing")
        (tmp_path / "count.mended").touch()
        run_cells(interrupted, CELLS, 1, "testing")
        assert len(count()) == 7 + 20

    @pytest.mark.parametrize("cut", [1, 5, 30, 60])
    def test_a_record_cut_short_is_computed_again(self, tmp_path, cut):
        with Journal.of(tmp_path, square, CELLS) as journal:
            for cell in CELLS[:5]:
                journal.keep(cell, square(cell))
        (path,) = tmp_path.iterdir()
        path.write_bytes(path.read_bytes()[:-cut])
        with Journal.of(tmp_path, square, CELLS) as journal:
            assert journal.rows == {cell: square(cell) for cell in CELLS[:4]}
            journal.keep(9, square(9))
        with Journal.of(tmp_path, square, CELLS) as journal:
            assert sorted(journal.rows) == [0, 1, 2, 3, 9]

    def test_damage_is_not_believed(self, tmp_path):
        with Journal.of(tmp_path, square, CELLS) as journal:
            for cell in CELLS[:5]:
                journal.keep(cell, square(cell))
        (path,) = tmp_path.iterdir()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with Journal.of(tmp_path, square, CELLS) as journal:
            assert journal.rows == {cell: square(cell) for cell in sorted(journal.rows)}
            assert len(journal.rows) < 5

    def test_other_sweeps_and_other_code_have_other_journals(self, tmp_path, monkeypatch):
        def rows(function, cells):
            with Journal.of(tmp_path, function, cells) as journal:
                return journal.rows

        with Journal.of(tmp_path, square, CELLS) as journal:
            journal.keep(0, square(0))
        assert rows(square, CELLS)
        assert not rows(counted, CELLS)
        assert not rows(square, CELLS[1:])
        monkeypatch.setattr("theory.journal.code", lambda: "changed")
        assert not rows(square, CELLS)


PROGRAMS = {
    "sweep": ["tests/sweep.py"],
    "theory": ["-m", "theory", "--max-n", "1024", "--jobs", "2"],  # some minutes
}


def started(program, out, executor="processes"):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, *PROGRAMS[program], "--executor", executor, "--out", str(out)]
    return subprocess.Popen(command, cwd=CHECKOUT, env=environment, start_new_session=True, **pipes)


def tables(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def kept(out):
    with suppress(OSError):
        return sum(path.stat().st_size for path in (out / ".partial-cells").iterdir())
    return 0


@pytest.mark.parametrize("program", PROGRAMS if ROUNDS >= 50 else ["sweep"])
def test_killed_at_random_moments_ends_with_the_same_bytes(program, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with started(program, whole) as process:
        assert process.wait(GUARD) in (0, 1)  # theory's grid is too small for one of its verdicts
    generator = np.random.default_rng()  # really at random
    kills, since = 0, time.monotonic()
    while kills < KILLS:
        # one that ends before it is killed does not count
        assert time.monotonic() - since < KILLS * GUARD
        moment = kept(killed) + generator.integers(1, 8000)
        with started(program, killed, ("processes", "threads")[kills % 2]) as process:
            while kept(killed) < moment and process.poll() is None and time.monotonic() - since < KILLS * GUARD:
                time.sleep(0.001)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
    with started(program, killed) as process:
        assert process.wait(GUARD) in (0, 1)
    assert tables(whole)
    assert tables(killed) == tables(whole)
    assert not (killed / ".partial-cells").exists()
