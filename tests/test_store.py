import json
import os
import shutil
import signal
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import theory.store
from theory.store import provenance, read_rows, read_table, write_atomically, write_rows, write_table

CHECKOUT = Path(__file__).parents[1]
ORIGIN = {"schema": 1, "seed": 3, "versions": {"numpy": "0"}, "revision": None, "spec": {"program": "test"}}

# writes half of a file, says so, and waits to be killed
HALF = """
import sys, time
from pathlib import Path
from theory.store import write_atomically

def write(partial):
    with partial.open("w") as file:
        file.write("half of")
        file.flush()
        print("half", flush=True)
        time.sleep(600)

write_atomically(Path(sys.argv[1]), write)
"""


class TestWriteAtomically:
    def test_folders_are_made(self, tmp_path):
        path = tmp_path / "results" / "figures" / "a.txt"
        write_atomically(path, lambda partial: partial.write_text("whole"))
        assert path.read_text() == "whole"
        assert os.listdir(path.parent) == ["a.txt"]

    @pytest.mark.parametrize("old", ["old", None])
    def test_a_writer_that_raises_changes_nothing(self, tmp_path, old):
        path = tmp_path / "a.txt"
        if old:
            path.write_text(old)

        def write(partial):
            partial.write_text("half of")
            raise OSError("no space left on device")

        with pytest.raises(OSError, match="no space left"):
            write_atomically(path, write)
        assert {file.name: file.read_text() for file in tmp_path.iterdir()} == ({"a.txt": old} if old else {})

    def test_a_writer_that_writes_nothing_is_an_error(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("old")
        with pytest.raises(FileNotFoundError):
            write_atomically(path, lambda partial: None)
        assert path.read_text() == "old"

    @pytest.mark.parametrize("old", ["old", None])
    @pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    def test_a_killed_process_changes_nothing(self, tmp_path, old, killed_by):
        path = tmp_path / "a.txt"
        if old:
            path.write_text(old)
        command = [sys.executable, "-c", HALF, str(path)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=CHECKOUT, **pipes) as process:
            assert process.stdout.readline() == "half\n"
            os.kill(process.pid, killed_by)
            process.communicate(timeout=60)
        assert process.returncode == -killed_by
        assert (path.read_text() if path.exists() else None) == old
        stray = [name for name in os.listdir(tmp_path) if name != "a.txt"]
        assert all(name.startswith(".partial-") for name in stray)
        assert stray == [] or killed_by != signal.SIGINT  # the one that Python can clean up after
        write_atomically(path, lambda partial: partial.write_text("whole"))
        assert path.read_text() == "whole"
        assert sorted(os.listdir(tmp_path)) == sorted([*stray, "a.txt"])


class Colour(StrEnum):
    RED = "red"


class TestRows:
    def test_round_trip(self, tmp_path):
        path = tmp_path / "rows.json"
        written = [
            {"claim": "a", "verdict": Colour.RED, "n": np.int64(512), "yes": np.bool_(True), "path": Path("x/y")},
            {"claim": "b", "error": np.float64(1 / 3), "single": np.float32(0.5), "window": (32.0, 512.0), "no": None},
        ]
        write_rows(path, written, ORIGIN)
        assert read_rows(path) == [
            {"claim": "a", "verdict": "red", "n": 512, "yes": True, "path": "x/y", "provenance": ORIGIN},
            {"claim": "b", "error": 1 / 3, "single": 0.5, "window": [32, 512], "no": None, "provenance": ORIGIN},
        ]
        assert path.read_text().endswith("]\n")
        assert "provenance" not in written[0]

    @pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), np.float32("nan"), np.inf, -np.inf])
    def test_what_json_cannot_say_is_refused(self, tmp_path, value):
        path = tmp_path / "rows.json"
        write_rows(path, [{"claim": "old"}], ORIGIN)
        before = path.read_bytes()
        with pytest.raises(ValueError, match="JSON compliant"):
            write_rows(path, [{"claim": "a", "certified": {"N": {"value": value}}}], ORIGIN)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["rows.json"]


class TestTables:
    def test_round_trip(self, tmp_path):
        table = pd.DataFrame(
            {
                "claim": ["a", "b", "ü"],
                "num_workers": [32, 64, 2**40],
                "error": [1 / 3, 5e-324, np.nan],
                "control": [True, False, True],
            },
            index=[7, 8, 9],
        )
        path = tmp_path / "deep" / "table.parquet"
        write_table(path, table, ORIGIN)
        found = read_table(path)
        pd.testing.assert_frame_equal(found, table.reset_index(drop=True), check_exact=True)
        assert found.attrs["provenance"] == ORIGIN
        assert os.listdir(path.parent) == ["table.parquet"]

    def test_without_rows(self, tmp_path):
        table = pd.DataFrame({"claim": pd.Series(dtype=str), "error": pd.Series(dtype=float)})
        write_table(tmp_path / "table.parquet", table, ORIGIN)
        found = read_table(tmp_path / "table.parquet")
        assert list(found.columns) == ["claim", "error"]
        assert len(found) == 0

    def test_the_same_table_is_the_same_bytes(self, tmp_path):
        table = pd.DataFrame({"claim": ["a", "b"], "error": [0.1, 0.2]})
        for name in ("one", "two"):
            write_table(tmp_path / name, table, ORIGIN)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository of one commit that seems to hold the module; gives a function that runs git in it."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path / "checkout" / "theory"
    folder.mkdir(parents=True)
    (folder / "store.py").write_text("committed\n")
    monkeypatch.setattr(theory.store, "__file__", str(folder / "store.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)

    def git(*words):
        settings = "-c user.name=a -c user.email=a@example.org -c commit.gpgsign=false -c core.hooksPath=/dev/null"
        command = ["git", *settings.split(), *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    return folder, git


class TestProvenance:
    def test_says_what_made_a_result(self):
        found = provenance({"program": "test", "K": 8}, seed=5)
        assert (found["schema"], found["seed"], found["spec"]) == (2, 5, {"program": "test", "K": 8})
        assert found["versions"]["numpy"] == np.__version__
        assert set(found["versions"]) == {"letcc", "numpy", "scipy", "torch"}
        assert json.loads(json.dumps(found)) == found

    def test_revision(self, checkout):
        folder, git = checkout
        assert provenance({})["revision"] is None  # no repository
        git("init", "-q")
        assert provenance({})["revision"] is None  # no commit
        git("add", ".")
        git("commit", "-q", "-m", "one")
        head = git("rev-parse", "HEAD")
        assert provenance({})["revision"] == head
        (folder / "untracked").write_text("")
        assert provenance({})["revision"] == head
        (folder / "store.py").write_text("changed\n")
        assert provenance({})["revision"] == head + "+"

    def test_without_git(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        assert provenance({})["revision"] is None
