import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from convergence.__main__ import app
from letcc.rates import Verdict
from theory.claims import BY_ID, CLAIMS
from theory.evidence import Scope
from theory.store import read_table

CHECKOUT = Path(__file__).parents[1]
MNIST = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
KEYS = {
    *("claim", "statement", "source", "provenance_of_claim", "superseded_by", "assumptions"),
    *("quantity", "stragglers", "smoothing"),
    *("verdict", "expected", "control", "predicted", "certified", "measured", "provenance"),
}
RESULTS = {"certified.json", "certified.parquet", "extremal.parquet"}
GUARD = 120  # seconds after which a program hangs
SHORT = """
import theory.certification
theory.certification.CLAIMS = tuple(c for c in theory.certification.CLAIMS if c.id in ("decode-cost", "bacc-sup"))
from convergence.__main__ import app
app()
"""  # python -m convergence with little to certify


def environment():
    return {name: value for name, value in os.environ.items() if name != "LETCC_DATA"} | {"OMP_NUM_THREADS": "1"}


def run(*words):
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(command, cwd=CHECKOUT, env=environment(), capture_output=True, text=True)


@contextmanager
def started(*words, until):
    """A program and its children in a group of their own, at the moment when it prints a line on stderr."""
    command = [sys.executable, *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=CHECKOUT, env=environment(), start_new_session=True, **pipes) as process:
        try:
            printed = next((line for line in process.stderr if line.startswith(until)), None)
            assert printed, f"never printed {until}"
            yield process
        finally:
            with suppress(ProcessLookupError):  # nothing of it is left, as it should be
                os.killpg(process.pid, signal.SIGKILL)


def assert_complete(folder):
    """Every result can be read; gives the names of the files and of the folders."""
    files = [path for path in folder.iterdir() if path.is_file()]
    for path in files:
        if path.suffix == ".json":
            assert json.loads(path.read_text())
        else:
            assert path.suffix == ".parquet"
            assert len(read_table(path))
    return {path.name for path in files}, {path.name for path in folder.iterdir() if path.is_dir()}


class TestTheory:
    def test_progress_is_on_stderr(self, certified):
        finished, _ = certified
        assert finished.returncode == 0
        progress = finished.stderr.splitlines()
        assert len(progress) == 10
        assert len({line.partition("/")[2] for line in progress}) == 1
        assert progress[-1].startswith("certifying: ")

    def test_writes_complete_files(self, certified):
        _, out = certified
        assert assert_complete(out) == (RESULTS, {".partial-killed"})

    def test_schema(self, certified):
        rows = json.loads((certified[1] / "certified.json").read_text())
        assert [row["claim"] for row in rows] == [claim.id for claim in CLAIMS]
        for row in rows:
            assert set(row) == KEYS
            assert {row["verdict"], row["expected"]} <= set(Verdict)
            assert isinstance(row["control"], bool)
            assert row["measured"] is None
            assert set(row["provenance"]) == {"schema", "seed", "versions", "revision", "spec"}
            assert row["predicted"] == {name: float(e) for name, e in BY_ID[row["claim"]].exponents.items()}
            if row["claim"] == "table-1":  # which has nothing to certify
                assert row["certified"] is None
                continue
            exponents = [part for part in row["certified"].values() if isinstance(part, dict)]
            assert any(exponent["judged"] for exponent in exponents) == bool(row["predicted"])
            for exponent in exponents:
                assert set(exponent) == {"value", "low", "high", "window", "local_slopes", "judged"}
                assert exponent["low"] <= exponent["value"] - 0.05
                assert exponent["value"] + 0.05 <= exponent["high"]
                first, last = exponent["window"]
                assert 0 < first < last

    def test_the_readme_says_what_was_certified(self, certified):
        rows = {row["claim"]: row for row in json.loads((certified[1] / "certified.json").read_text())}
        printed = {}
        for line in (CHECKOUT / "README.md").read_text().splitlines():
            found = re.match(r"\| `([\w.-]+)`:", line)
            if found and rows[found[1]]["certified"]:
                printed[found[1]] = line.split("|")[4].strip()
        exponents = {
            "letcc-bernoulli": ("N, after log^3", r"N\^"),
            "bacc-bernoulli-log2": ("N, after log^2", r"N\^"),
            "letcc-adversarial": ("q/N, q=1", r"\(q/N\)\^"),
        }
        compared = 0
        for claim, text in printed.items():
            evidence = rows[claim]["certified"]
            for name, pattern in (exponents[claim],) if claim in exponents else (("N", r"N\^"), ("S", r"S\^\(?")):
                for exponent in re.findall(pattern + r"(-?\d+\.\d+)", text):
                    assert f"{evidence[name]['value']:.2f}" == exponent
                    compared += 1
        assert compared == 9
        assert float(printed["bacc-sup"]) == round(rows["bacc-sup"]["certified"]["largest exact/bound"], 3)
        assert printed["optimal-recovery"] == "1 within 1e-14"
        assert rows["optimal-recovery"]["certified"]["LeTCC's distance from 1"] < 1e-14
        assert float(printed["lagrange-threshold"]) < 1e-8
        assert rows["lagrange-threshold"]["certified"]["largest error at the threshold, K = 4"] < 1e-12

    def test_table_and_rows_have_one_origin(self, certified):
        _, out = certified
        table, curves = (read_table(out / f"{name}.parquet") for name in ("certified", "extremal"))
        rows = json.loads((out / "certified.json").read_text())
        assert all(row["provenance"] == table.attrs["provenance"] for row in rows)
        assert curves.attrs == table.attrs
        assert rows[0]["provenance"]["spec"] == {
            "program": "theory",
            "max_n": 4096,
            "full": False,
            "seed": 0,
            "quick": False,
        }
        assert rows[0]["provenance"]["seed"] == 0

    def test_cells_of_the_table_are_those_of_the_claims(self, certified):
        table = read_table(certified[1] / "certified.parquet")
        claims = [claim for claim in CLAIMS if claim.evidence and not claim.shares]
        assert list(dict.fromkeys(table.claim)) == [claim.id for claim in claims]
        assert len(table) == sum(len(claim.evidence.cells(claim, Scope())) for claim in claims)


class TestBadUsage:
    def test_no_jobs(self, tmp_path):
        finished = run("theory", "--jobs", 0, "--out", tmp_path / "out")
        assert finished.returncode == 2
        assert "--jobs" in finished.stderr
        assert "Traceback" not in finished.stderr
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("command", [[], ["verify"]], ids=["measure", "verify"])
    @pytest.mark.parametrize("option", ["--jobs=0", "--seed=-1", "--jobs=two"])
    def test_options_out_of_range(self, tmp_path, command, option):
        out = tmp_path / "out"
        finished = CliRunner().invoke(app, [*command, option, "--out", str(out)])
        assert finished.exit_code == 2
        assert option.partition("=")[0] in finished.stderr
        assert not out.exists()

    def test_data_root_without_the_files(self, tmp_path):
        root = tmp_path / "empty"
        root.mkdir()
        finished = run("convergence", "verify", "--data-root", root, "--out", tmp_path / "out")
        assert finished.returncode == 2
        assert finished.stdout == ""
        assert "Traceback" not in finished.stderr
        assert all(name in finished.stderr for name in MNIST)
        assert str(root / "MNIST" / "raw") in finished.stderr
        assert os.listdir(tmp_path) == ["empty"]
        assert os.listdir(root) == []

    @pytest.mark.parametrize("command", [[], ["verify"]], ids=["measure", "verify"])
    def test_data_root_from_the_environment(self, tmp_path, command):
        out = tmp_path / "out"
        arguments = [*command, "--out", str(out)]
        finished = CliRunner().invoke(app, arguments, env={"LETCC_DATA": str(tmp_path / "nowhere")})
        assert finished.exit_code == 2
        assert str(tmp_path / "nowhere" / "MNIST" / "raw") in finished.stderr
        assert not out.exists()


class TestInterruption:
    def test_by_the_keyboard(self, certified, tmp_path):
        """Early, over the results of an earlier run; a terminal sends SIGINT to the whole group.

        What remains of it are the cells that are finished, for the next run.
        """
        before = {name: (certified[1] / name).read_bytes() for name in RESULTS}
        for name, content in before.items():
            (tmp_path / name).write_bytes(content)
        with started("-m", "convergence", "verify", "--jobs", 2, "--out", tmp_path, until="certifying") as process:
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=GUARD)
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "Interrupted"
        assert "Traceback" not in errors
        assert assert_complete(tmp_path) == (RESULTS, {".partial-cells"})
        assert {name: (tmp_path / name).read_bytes() for name in RESULTS} == before

    def test_by_kill(self, tmp_path):
        """Between the two halves: what was certified is there, what was being measured is not."""
        with started("-c", SHORT, "verify", "--jobs", 2, "--out", tmp_path, until="measuring") as process:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=GUARD)
        assert process.returncode == -signal.SIGKILL
        files, folders = assert_complete(tmp_path)
        assert files == RESULTS
        assert all(name.startswith(".partial-") for name in folders)

    def test_no_worker_outlives_the_program(self, tmp_path):
        """The workers hold stderr open for as long as they live."""
        with started("-m", "theory", "--jobs", 2, "--out", tmp_path, until="certifying") as process:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=10)
