import json
import os
import re
import tracemalloc

import pytest
from typer.testing import CliRunner

from letcc.exceptions import InvalidInput
from theory.__main__ import app
from theory.claims import BY_ID
from theory.evidence import Cell, Scope
from theory.explain import find_claim
from theory.memory import check_memory


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


class TestFindClaim:
    @pytest.mark.parametrize("claim", BY_ID)
    def test_by_its_id(self, claim):
        assert find_claim(claim).id == claim

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            ("letcc-noisless", "letcc-noiseless"),
            ("BACC-sup", "bacc-sup"),
            ("lagrange", "lagrange-threshold"),
            ("decoding-cost", "decode-cost"),
        ],
    )
    def test_suggests_the_nearest(self, name, nearest):
        with pytest.raises(InvalidInput, match=rf"there is no claim '{name}': did you mean .*{nearest}"):
            find_claim(name)

    def test_lists_them_all_where_none_is_near(self):
        with pytest.raises(InvalidInput) as caught:
            find_claim("zzz")
        assert all(claim in str(caught.value) for claim in BY_ID)


class TestExplanation:
    @pytest.fixture(scope="class")
    @staticmethod
    def explained():
        return run("--claim", "letcc-noiseless", "--max-n", 256, "--jobs", 1)

    def test_of_a_claim_in_full(self, explained):
        claim = BY_ID["letcc-noiseless"]
        assert explained.exit_code == 0
        text = explained.stdout
        assert claim.statement in text
        assert claim.citation in text
        for assumption in claim.assumptions:
            assert assumption.statement in text
        assert text.count("NOT met") == 1
        assert re.search(
            r"bounded\n  NOT met: the largest gap .* 40.1 times the smallest at N = 64 and 651 times .* The claim.s "
            r"proof",
            text,
        )
        assert "Predicted  N: -3, S: 3" in text
        assert re.search(r"Verdict  attained \(recorded: attained\)", text)
        cells = claim.evidence.cells(claim, Scope(max_n=256))
        assert len(re.findall(r"^  (?:N|S|every)\S* .* \d+ +\d+ .*$", text, re.MULTILINE)) == len(cells)
        assert "(growth: exponent in N of the error over the claimed rate" in text
        assert "1.033e-05" in text  # the worst error at N = 32

    def test_ends_with_the_command_that_gives_it_again(self):
        explained = run("--claim", "letcc-noisy-optimal", "--max-n", 512, "--full", "--seed", 5, "--jobs", 1)
        *_, last = explained.stdout.splitlines()
        assert last == "Again: python -m theory --claim letcc-noisy-optimal --max-n 512 --seed 5 --full"
        again = run(*last.removeprefix("Again: python -m theory ").split())
        assert again.stdout == explained.stdout

    def test_writes_nothing(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        finished = run("--claim", "decode-cost", "--out", "results", "--jobs", 1)
        assert finished.exit_code == 0
        assert os.listdir(tmp_path) == []

    def test_of_a_control_that_shares_cells(self):
        finished = run("--claim", "not-a-knot-optimality", "--seed", 3, "--jobs", 1)
        assert finished.exit_code == 0
        assert "negative control" in finished.stdout
        assert finished.stdout.endswith("Again: python -m theory --claim not-a-knot-optimality --seed 3\n")

    def test_of_what_is_only_measured(self):
        finished = run("--claim", "table-1", "--jobs", 1, "--seed", 3, "--quick")
        assert finished.exit_code == 0
        assert "only measured: python -m convergence --seed 3 --quick\n" in finished.stdout
        assert "met: so they are drawn" in finished.stdout

    def test_as_json(self, rows):
        finished = run("--claim", "decode-cost", "--json", "--jobs", 1)
        (row,) = json.loads(finished.stdout)
        assert set(row) == set(rows["decode-cost"])
        assert row["certified"] == rows["decode-cost"]["certified"]
        assert row["provenance"]["spec"]["max_n"] == 4096


class TestProgram:
    def test_json_is_all_of_stdout(self, certified):
        finished, out = certified
        assert finished.returncode == 0
        assert finished.stdout == (out / "certified.json").read_text()
        assert [row["claim"] for row in json.loads(finished.stdout)] == list(BY_ID)

    def test_unknown_claim(self, tmp_path):
        finished = run("--claim", "leetcc-noisy", "--out", tmp_path / "out")
        assert finished.exit_code == 2
        assert finished.stdout == ""
        assert finished.stderr.startswith("Error: there is no claim 'leetcc-noisy': did you mean letcc-noisy")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("claim", [[], ["--claim", "letcc-noiseless"], ["--claim", "bacc-sup"]])
    def test_too_small_a_grid(self, tmp_path, claim):
        finished = run("--max-n", 16, *claim, "--out", tmp_path / "out")
        assert finished.exit_code == 2
        assert finished.stdout == ""
        assert re.match(r"Error: max_n is 16: .*\d", finished.stderr)
        assert os.listdir(tmp_path) == []

    def test_beyond_memory(self, tmp_path):
        finished = run("--max-n", 2**26, "--jobs", 2, "--out", tmp_path / "out")
        assert finished.exit_code == 2
        assert finished.stdout == ""
        needed = 2 * 8 * 16 * 2**26 * 32 / 2**30
        assert f"need about {needed:.3g} GiB with 2 jobs" in finished.stderr
        assert "lower --max-n or --jobs" in finished.stderr
        assert os.listdir(tmp_path) == []


class TestMemory:
    def test_what_fits_passes(self):
        check_memory(2**20, 2)

    def test_jobs_count(self, monkeypatch):
        monkeypatch.setattr(os, "sysconf", {"SC_AVPHYS_PAGES": 2**20, "SC_PAGE_SIZE": 2**12}.__getitem__)  # 4 GiB
        check_memory(2**31, 2)
        with pytest.raises(InvalidInput, match=r"about 6 GiB with 3 jobs, but 4 GiB are free"):
            check_memory(2**31, 3)

    @pytest.mark.parametrize("claim", ["letcc-noiseless", "letcc-noisy", "bacc-rate"])
    def test_what_is_said_is_what_is_used(self, claim):
        """Within a factor of four, and not less."""
        claim = BY_ID[claim]
        cell = Cell(claim.id, "N", 2**18, 8)
        tracemalloc.start()
        try:
            claim.evidence.examine(claim, cell)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        largest = max(c.num_workers * c.num_data for c in claim.evidence.cells(claim, Scope(max_n=2**18)))
        said = claim.evidence.memory(claim, Scope(max_n=2**18)) * cell.num_workers * cell.num_data / largest
        assert peak < said < 4 * peak
