import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import letcc
from convergence.networks.images import Images, load_images
from convergence.networks.lenet5 import LeNet5
from convergence.networks.trials import COLUMNS, TRANSMISSIONS, Case, run_trial, summarise
from letcc.exceptions import InvalidInput, LetccError
from letcc.stragglers import AtMost

BACC, LETCC = letcc.CodedScheme.bacc(5, 16), letcc.CodedScheme.letcc(5, 16)


class FirstPixels(nn.Module):
    """A network whose ten logits are the first ten pixels, and which remembers what it was given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, pixels):
        self.seen.append(pixels.clone())
        return pixels.flatten(1)[:, :10]


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LeNet5()


@pytest.fixture(scope="module")
def images():
    return load_images("digits", train=False)


def run_trials(network, images, cases, trials, seed=1):
    return pd.DataFrame([row for trial in range(trials) for row in run_trial(network, images, cases, seed, trial)])


class TestTrial:
    def test_schemes_share_images_and_received_workers(self, images):
        """Two names of one scheme see the same, and a trial's images do not depend on the scheme."""
        for trial in range(4):
            one, other = FirstPixels(), FirstPixels()
            a = run_trial(one, images, [Case("a", LETCC, 6), Case("b", LETCC, 6), Case("c", BACC, 6)], 1, trial)
            run_trial(other, images, [Case("c", BACC, 6)], 1, trial)
            assert a[0]["rmse"] == a[1]["rmse"]
            assert torch.equal(one.seen[0], other.seen[0])  # the images themselves
            assert torch.equal(one.seen[2], other.seen[1])  # what BACC makes of them
            assert len(one.seen) == 3  # coded inputs that two cases share are computed once

    def test_a_trial_does_not_depend_on_the_others(self, network, images):
        few = run_trials(network, images, [Case("LeTCC", LETCC, 6)], 2)
        many = run_trials(network, images, [Case("BACC", BACC, 6), Case("LeTCC", LETCC, 6)], 4)
        expected = many[(many["scheme"] == "LeTCC") & (many["trial"] < 2)].reset_index(drop=True)
        pd.testing.assert_frame_equal(few, expected)
        assert not run_trials(network, images, [Case("LeTCC", LETCC, 6)], 2, seed=2)["rmse"].equals(few["rmse"])

    def test_received_sets_differ_from_trial_to_trial(self, network, images):
        rows = run_trials(network, images, [Case("LeTCC", LETCC, 6)], 6)
        assert rows["rmse"].nunique() == 6

    def test_metrics_are_against_the_network_and_the_labels(self):
        # The network takes all images for a 4, the labels half of them; what arrives is off by 3.
        pixels = torch.zeros(6, 1, 28, 28)
        pixels[:, 0, 0, 4] = 1
        images = Images("fours", pixels, torch.tensor([4, 4, 4, 5, 5, 5]))

        class Off(FirstPixels):
            def forward(self, pixels):
                logits = super().forward(pixels)
                return logits if len(self.seen) == 1 else logits + 3 * (-1) ** torch.arange(10)

        (row,) = run_trial(Off(), images, [Case("LeTCC", letcc.CodedScheme.letcc(6, 24), 0)], 0, 0)
        assert row["rmse"] == pytest.approx(3, rel=1e-5)
        assert (row["relative_accuracy"], row["label_accuracy"]) == (1, 0.5)
        assert row["failure"] is None
        assert (row["num_workers"], row["num_data"], row["num_stragglers"]) == (24, 6, 0)

    def test_adaptive_schemes_are_fitted_to_the_images(self, network, images):
        rows = run_trials(network, images, [Case("recommended", letcc.CodedScheme.recommended(5, 64), 0)], 3)
        assert (rows["rmse"] < 0.05).all()

    def test_smaller_schemes_take_the_first_images(self, images):
        probe = FirstPixels()
        run_trial(probe, images, [Case("a", letcc.CodedScheme.letcc(8, 16), 0), Case("b", LETCC, 0)], 1, 0)
        alone = FirstPixels()
        run_trial(alone, images, [Case("b", LETCC, 0)], 1, 0)
        assert torch.equal(probe.seen[0][:5], alone.seen[0])
        assert torch.equal(probe.seen[2], alone.seen[1])

    def test_runs_in_evaluation_mode_and_restores_each_submodules_own(self, images):
        class Probe(nn.Module):
            def forward(self, logits):
                assert not self.training
                return logits

        network = nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.BatchNorm1d(10), Probe()).train()
        network[2].eval()
        modes = [module.training for module in network.modules()]
        statistics = network[2].running_mean.clone()
        run_trial(network, images, [Case("LeTCC", LETCC, 6)], 0, 0)
        assert [module.training for module in network.modules()] == modes == [True, True, True, False, True]
        assert torch.equal(network[2].running_mean, statistics)

        network.append(nn.Linear(3, 3))  # which does not fit
        modes.append(True)
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            run_trial(network, images, [Case("LeTCC", LETCC, 6)], 0, 0)
        assert [module.training for module in network.modules()] == modes

    def test_a_network_that_returns_nan_is_reported(self, images):
        class Sick(FirstPixels):
            def forward(self, pixels):
                logits = super().forward(pixels)
                if len(self.seen) > 1:
                    logits[[3, 11]] = torch.nan
                return logits

        bad = run_trial(Sick(), images, [Case("LeTCC", LETCC, 0)], 1, 2)[0]
        assert np.isnan(bad["rmse"])
        assert "workers 3, 11" in bad["failure"]
        assert bad["trial"] == 2
        unharmed = 0
        for trial in range(10):  # a worker that is lost does no harm
            received = AtMost(13).sample(16, np.random.default_rng([1, trial, 16, 13]))
            (row,) = run_trial(Sick(), images, [Case("LeTCC", LETCC, 13)], 1, trial)
            assert (row["failure"] is not None) == np.isnan(row["rmse"]) == bool({3, 11} & set(received.tolist()))
            unharmed += row["failure"] is None
        assert 0 < unharmed < 10

    @pytest.mark.parametrize(
        ("num_data", "num_workers", "stragglers", "message"),
        [
            (5, 16, 16, "16 of 16 workers lost leave 0"),
            (16, 5, 0, "5 workers are fewer than the 16 data points"),
        ],
    )
    def test_impossible_cases(self, num_data, num_workers, stragglers, message):
        with pytest.raises(InvalidInput, match=message):
            Case("LeTCC", letcc.CodedScheme.letcc(num_data, num_workers), stragglers)

    def test_too_few_images(self, network, images):
        with pytest.raises(InvalidInput, match="digits has 297 images, fewer than the 298 data points"):
            run_trial(network, images, [Case("LeTCC", letcc.CodedScheme.letcc(298, 400), 0)], 0, 0)


class TestTransmissions:
    OUTPUTS = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 10)).astype(np.float32)) * 8

    @pytest.mark.parametrize(
        ("name", "low", "high"),
        [("exact", 0, 0), ("noise of 10 %", 0.09, 0.11), ("float16", 1e-5, 5e-4), ("int8", 1e-3, 8e-3)],
    )
    def test_relative_error(self, name, low, high):
        sent = TRANSMISSIONS[name](self.OUTPUTS, np.random.default_rng(1))
        error = ((sent - self.OUTPUTS).std() / self.OUTPUTS.std()).item()
        assert low <= error <= high

    def test_int8_has_255_levels_for_each_worker(self):
        sent = TRANSMISSIONS["int8"](self.OUTPUTS, np.random.default_rng(1))
        levels = sent / self.OUTPUTS.abs().amax(dim=1, keepdim=True) * 127
        torch.testing.assert_close(levels, levels.round(), rtol=0, atol=1e-4)

    def test_int8_of_zeros(self):
        assert not TRANSMISSIONS["int8"](torch.zeros(3, 4), np.random.default_rng(1)).isnan().any()


class TestSummarise:
    @staticmethod
    def trials(bacc, spline):
        values = [(trial, "BACC", value) for trial, value in enumerate(bacc)]
        values += [(trial, "LeTCC", value) for trial, value in enumerate(spline)]
        frame = pd.DataFrame(values, columns=["trial", "scheme", "rmse"])
        sizes = dict(zip(COLUMNS[1:], (16, 5, 6, "exact"), strict=True))
        return frame.assign(relative_accuracy=1.0, label_accuracy=1.0, **sizes)

    def test_means_and_paired_differences_by_hand(self):
        # Unpaired, the difference would have an interval of half-width 2.48 sqrt(5), not 2.48.
        summary = summarise(self.trials([1, 2, 3], [1, 3, 5]), "BACC").set_index(["scheme", "metric"])
        half = 4.302652729911275 / np.sqrt(3)
        columns = ["trials", "failed", "mean", "std", "mean_low", "mean_high"]
        np.testing.assert_allclose(
            summary.loc[("LeTCC", "rmse"), columns].astype(float),
            [3, 0, 3, 2, 3 - 2 * half, 3 + 2 * half],
        )
        columns = ["difference", "difference_low", "difference_high"]
        np.testing.assert_allclose(summary.loc[("LeTCC", "rmse"), columns].astype(float), [1, 1 - half, 1 + half])
        np.testing.assert_array_equal(summary.loc[("BACC", "rmse"), columns].astype(float), [0, 0, 0])
        columns = ["mean", "mean_low", "mean_high"]
        np.testing.assert_array_equal(summary.loc[("LeTCC", "relative_accuracy"), columns].astype(float), [1, 1, 1])

    def test_a_failed_trial_is_counted_and_its_pair_left_out(self):
        summary = summarise(self.trials([1, 2, 3], [1, np.nan, 5]), "BACC").set_index(["scheme", "metric"])
        found = summary.loc[("LeTCC", "rmse"), ["trials", "failed", "mean", "difference"]].astype(float)
        np.testing.assert_allclose(found, [2, 1, 3, 1])

    def test_without_a_baseline_there_is_no_difference(self):
        summary = summarise(self.trials([1, 2, 3], [1, 3, 5]), "Lagrange")
        assert summary["difference"].isna().all()

    def test_too_few_trials(self):
        with pytest.raises(LetccError, match="BACC has numbers from 1 trials"):
            summarise(self.trials([1], [1]), "BACC")
