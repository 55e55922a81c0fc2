import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

import letcc
from convergence.__main__ import app
from convergence.networks import campaign
from convergence.networks.campaign import Subject, run_campaign
from convergence.networks.images import load_images
from convergence.networks.trials import Case
from convergence.studies import STUDIES, run_studies, slopes
from convergence.table1 import PAPER, SETTINGS, find_subjects, judge, measure_table, schemes
from letcc.exceptions import InvalidInput, LetccError
from theory.cells import sweeping
from theory.store import read_rows, read_table

CHECKOUT = Path(__file__).parents[1]
SUBJECT = Subject("repvgg", "digits", None, 0)  # whose weights are committed
CASES = [
    Case("BACC", letcc.CodedScheme.bacc(5, 16), 4),
    Case("recommended", letcc.CodedScheme.recommended(5, 16), 4),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One run of the table with ten trials."""
    out = tmp_path_factory.mktemp("table")
    measure_table([SUBJECT], 10, 2, out, Console(quiet=True))
    return out


def lines(folder):
    (path,) = folder.glob("*.jsonl")
    return path.read_text().splitlines()


class TestCampaign:
    def test_the_same_whatever_computes_it(self, tmp_path):
        found = []
        for executor, jobs in (("processes", 1), ("processes", 2), ("threads", 3)):
            with sweeping(executor, None):
                found.append(run_campaign(SUBJECT, CASES, 4, jobs, tmp_path / f"{executor}-{jobs}"))
        for other in found[1:]:
            pd.testing.assert_frame_equal(found[0], other, check_exact=True)
        assert found[0]["trial"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]

    def test_finished_trials_are_not_repeated(self, tmp_path):
        first = run_campaign(SUBJECT, CASES, 2, 1, tmp_path)
        kept = lines(tmp_path)
        more = run_campaign(SUBJECT, CASES, 3, 1, tmp_path)
        assert lines(tmp_path)[:2] == kept
        assert len(lines(tmp_path)) == 3
        pd.testing.assert_frame_equal(more[:4], first)

    def test_a_line_cut_short_is_run_again(self, tmp_path):
        whole = run_campaign(SUBJECT, CASES, 3, 1, tmp_path)
        (path,) = tmp_path.glob("*.jsonl")
        path.write_text(path.read_text()[:-40])
        pd.testing.assert_frame_equal(run_campaign(SUBJECT, CASES, 3, 1, tmp_path), whole)
        assert run_campaign(SUBJECT, CASES, 3, 1, tmp_path).equals(whole)

    def test_a_network_trained_elsewhere_is_tuned_on_every_other_image(self, monkeypatch):
        every = load_images("digits", train=False)
        network = SimpleNamespace(recipe=None, check=lambda images: None)
        monkeypatch.setattr(campaign, "find", lambda name, dataset: network)
        monkeypatch.setattr(campaign, "trained", lambda *_: (None, {}))
        tuning, test = (
            campaign.loaded(Subject("other", "digits", None, seed=-1, train=train))[1] for train in (True, False)
        )
        assert torch.equal(torch.stack([tuning.pixels[0], test.pixels[0], tuning.pixels[1]]), every.pixels[:3])
        assert len(tuning) + len(test) == len(every)

    def test_other_cases_seeds_or_code_are_kept_apart(self, tmp_path, monkeypatch):
        run_campaign(SUBJECT, CASES, 1, 1, tmp_path)
        run_campaign(SUBJECT, CASES[:1], 1, 1, tmp_path)
        run_campaign(Subject("repvgg", "digits", None, 1), CASES, 1, 1, tmp_path)
        assert len(list(tmp_path.glob("*.jsonl"))) == 3
        monkeypatch.setattr(campaign, "code", lambda: "changed")
        run_campaign(SUBJECT, CASES, 1, 1, tmp_path)
        assert len(list(tmp_path.glob("*.jsonl"))) == 4

    def test_a_killed_run_goes_on(self, tmp_path):
        """Killed when some trials are kept, and started again: the same table as without."""
        command = [
            sys.executable,
            "-m",
            "convergence",
            "table1",
            "--network",
            "repvgg",
            "--trials",
            "12",
            "--jobs",
            "1",
        ]
        environment = {k: v for k, v in os.environ.items() if k != "LETCC_DATA"} | {"OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            [*command, "--out", str(tmp_path / "killed")],
            cwd=CHECKOUT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert next(line for line in process.stderr if line.startswith("repvgg on digits: "))
            process.send_signal(signal.SIGKILL)
        kept = sum(len(p.read_text().splitlines()) for p in (tmp_path / "killed" / "trials").glob("*.jsonl"))
        assert kept >= 1
        for folder in ("killed", "whole"):
            done = subprocess.run(
                [*command, "--out", str(tmp_path / folder)],
                cwd=CHECKOUT,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
        a, b = (read_table(tmp_path / folder / "networks.parquet") for folder in ("killed", "whole"))
        pd.testing.assert_frame_equal(a, b, check_exact=True)


class TestTable:
    def test_rows(self, out):
        rows = read_rows(out / "table1.json")
        assert [row["scheme"] for row in rows] == list(schemes(20, 60, (0.0, 0.0)))
        for row in rows:
            assert (row["network"], row["dataset"], row["trials"]) == ("repvgg", "digits", 10)
            assert (row["num_workers"], row["num_data"], row["num_stragglers"]) == (60, 20, 20)
            assert row["paper_rmse"] is None  # it is about other images
            assert row["provenance"]["spec"]["networks"][0]["test_accuracy"] > 0.9

    def test_means_are_those_of_the_trials(self, out):
        trials = read_table(out / "networks.parquet")
        for row in read_rows(out / "table1.json"):
            of = trials[trials["scheme"] == row["scheme"]]
            assert row["rmse_mean"] == pytest.approx(of["rmse"].mean())
            assert row["rmse_std"] == pytest.approx(of["rmse"].std(ddof=1))
            assert row["relacc_mean"] == pytest.approx(of["relative_accuracy"].mean())

    def test_ours_is_far_ahead(self, out):
        rmse = {row["scheme"]: row["rmse_mean"] for row in read_rows(out / "table1.json")}
        assert rmse["recommended"] < 0.7 * rmse["BACC"]
        assert rmse["LeTCC, short path"] < rmse["LeTCC, lambda = 0"]

    @pytest.mark.parametrize(
        ("low", "high", "verdict"), [(-0.7, -0.5, "holds"), (0.5, 0.7, "refuted"), (-0.1, 0.3, "inconclusive")]
    )
    def test_verdict_is_on_the_paired_difference(self, low, high, verdict):
        row = {"network": "lenet5", "dataset": "mnist", "scheme": "LeTCC", "rmse_difference": (low + high) / 2}
        row |= {"rmse_difference_low": low, "rmse_difference_high": high}
        found = judge([row, row | {"scheme": "BACC", "rmse_difference_low": np.nan}])
        assert (found["claim"], found["verdict"], found["expected"]) == ("table-1", verdict, "holds")
        (evidence,) = found["measured"].values()
        assert (evidence["low"], evidence["high"]) == (low, high)

    def test_paper(self):
        assert PAPER["lenet5", "mnist", "LeTCC"] == (2.18, 0.51, 0.94, 0.04)
        assert (SETTINGS["vit"].num_workers, SETTINGS["vit"].num_data, SETTINGS["vit"].num_stragglers) == (20, 8, 3)


class TestStudies:
    def test_every_study_runs(self, tmp_path):
        table = run_studies([SUBJECT], list(STUDIES), 3, 2, tmp_path)
        assert set(table["study"]) == set(STUDIES)
        rmse = table.query("metric == 'rmse'").set_index(["study", "scheme", "num_stragglers"])["mean"]
        for scheme in ("BACC", "LeTCC", "recommended"):
            assert rmse["stragglers", scheme, 40].item() > rmse["stragglers", scheme, 0].item()
        slope = slopes(table).set_index("scheme")["exponent"]
        assert (slope < -1.5).all()
        assert slope["LeTCC"] < slope["BACC"]
        coded = read_table(tmp_path / "coded_inputs.parquet")
        assert {len(pixels) for pixels in coded["pixels"]} == {28 * 28}
        assert set(coded["scheme"]) == {"BACC", "LeTCC", "recommended"}


class TestCommand:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--network", "resnet"], "there is no network 'resnet'"),
            (["--study", "nothing"], "there is no study 'nothing'"),
            (["--executor", "ray"], "--executor is 'ray': it must be processes, threads, or dask://ADDRESS"),
            (["--network", "vit", "--dataset", "imagenet"], "there is no such network"),
            (["--network", "lenet5", "--dataset", "mnist"], "mnist needs the folder"),
        ],
    )
    def test_bad_usage(self, tmp_path, monkeypatch, words, message):
        monkeypatch.delenv("LETCC_DATA", raising=False)
        result = CliRunner().invoke(app, ["table1", *words, "--out", str(tmp_path)])
        assert result.exit_code == 2
        assert message in result.output
        assert not list(tmp_path.iterdir())

    def test_what_lacks_its_images_is_left_out(self, tmp_path):
        said = []
        with pytest.raises(LetccError):
            find_subjects(None, None, tmp_path, 0, said.append)
        assert any("left out, lenet5 on mnist" in line for line in said)

    def test_no_network_of_the_digits_is_left_out(self):
        with pytest.raises(InvalidInput, match="no such network"):
            find_subjects(["vit-b16"], None, None, 0, print)
