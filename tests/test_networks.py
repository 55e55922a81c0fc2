from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import letcc
from convergence.networks.images import Images, load_images
from convergence.networks.lenet5 import LeNet5
from convergence.networks.trials import run_trials, summarise
from letcc.exceptions import InvalidInput


class Recording:
    """A scheme that remembers the data and the received workers that it was given."""

    def __init__(self, scheme):
        self.scheme = scheme
        self.num_data, self.num_workers = scheme.num_data, scheme.num_workers
        self.data, self.received = [], []

    def encode(self, data):
        self.data.append(data)
        return self.scheme.encode(data)

    def decode(self, outputs, received):
        self.received.append(tuple(received))
        return self.scheme.decode(outputs, received=received)


class FirstPixels(nn.Module):
    """A network whose ten logits are the first ten pixels."""

    def forward(self, pixels):
        return pixels.flatten(1)[:, :10]


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LeNet5()


@pytest.fixture(scope="module")
def images():
    return load_images("digits", train=False)


class TestTrials:
    def test_schemes_share_images_and_received_workers(self, network, images):
        bacc = Recording(letcc.CodedScheme.bacc(5, 16))
        spline = Recording(letcc.CodedScheme.letcc(5, 16))
        run_trials(network, images, {"BACC": bacc, "LeTCC": spline}, 6, 8, seed=1)
        assert bacc.received == spline.received
        assert {len(received) for received in bacc.received} == {10}
        assert len(set(bacc.received)) == 8
        assert all(torch.equal(a, b) for a, b in zip(bacc.data, spline.data, strict=True))
        assert len({data.numpy().tobytes() for data in bacc.data}) == 8

    def test_outputs_are_those_of_the_received_workers_in_order(self, images):
        class Numbered:
            num_data, num_workers = 5, 16

            def encode(self, pixels):
                return torch.arange(16.0).reshape(16, 1, 1, 1).expand(16, 1, 28, 28)

            def decode(self, outputs, received):
                assert outputs[:, 0].tolist() == list(received)
                return torch.zeros(5, 10)

        run_trials(FirstPixels(), images, {"numbered": Numbered()}, 6, 3, seed=0)

    def test_a_trial_does_not_depend_on_the_others(self, network, images):
        scheme = letcc.CodedScheme.letcc(5, 16)
        few = run_trials(network, images, {"LeTCC": scheme}, 6, 2, seed=1)
        many = run_trials(network, images, {"BACC": letcc.CodedScheme.bacc(5, 16), "LeTCC": scheme}, 6, 4, seed=1)
        expected = many[(many["scheme"] == "LeTCC") & (many["trial"] < 2)].reset_index(drop=True)
        pd.testing.assert_frame_equal(few, expected)
        assert not run_trials(network, images, {"LeTCC": scheme}, 6, 2, seed=2).equals(few)

    def test_metrics_are_against_the_network_and_the_labels(self):
        # The network takes all images for a 4, the labels half of them.
        pixels = torch.zeros(6, 1, 28, 28)
        pixels[:, 0, 0, 4] = 1
        images = Images("fours", pixels, torch.tensor([4, 4, 4, 5, 5, 5]))

        def off_by_three(outputs, received):
            return outputs + 3 * (-1) ** torch.arange(10)

        shifted = SimpleNamespace(num_data=6, num_workers=6, encode=lambda x: x, decode=off_by_three)
        trials = run_trials(FirstPixels(), images, {"shifted": shifted}, 0, 2, seed=0)
        assert trials.columns.tolist() == ["trial", "scheme", "rmse", "relative_accuracy", "label_accuracy"]
        np.testing.assert_allclose(trials["rmse"], 3, rtol=1e-6)
        np.testing.assert_allclose(trials["relative_accuracy"], 1)
        np.testing.assert_allclose(trials["label_accuracy"], 0.5)

    def test_runs_in_evaluation_mode_and_restores_each_submodules_own(self, images):
        class Probe(nn.Module):
            def forward(self, logits):
                assert not self.training
                return logits

        network = nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.BatchNorm1d(10), Probe()).train()
        network[2].eval()
        modes = [module.training for module in network.modules()]
        statistics = network[2].running_mean.clone()
        scheme = letcc.CodedScheme.letcc(5, 16)
        run_trials(network, images, {"LeTCC": scheme}, 6, 2, seed=0)
        assert [module.training for module in network.modules()] == modes == [True, True, True, False, True]
        assert torch.equal(network[2].running_mean, statistics)

        failing = SimpleNamespace(num_data=5, num_workers=16, encode=lambda x: 1 / 0, decode=None)
        with pytest.raises(ZeroDivisionError):
            run_trials(network, images, {"failing": failing}, 6, 2, seed=0)
        assert [module.training for module in network.modules()] == modes

    @pytest.mark.parametrize(
        ("schemes", "stragglers", "trials", "message"),
        [
            ([(5, 16)], 16, 2, "16 stragglers leave none of 16 workers"),
            ([(5, 16)], -1, 2, "at least 0, not -1"),
            ([(5, 16)], 6, 0, "num_trials must be at least 1, not 0"),
            ([(298, 400)], 6, 2, "digits has 297 images, fewer than the 298 data points"),
            ([(5, 16), (5, 17)], 6, 2, r"0 \(K=5, N=16\), 1 \(K=5, N=17\)"),
            ([(5, 16), (6, 16)], 6, 2, r"0 \(K=5, N=16\), 1 \(K=6, N=16\)"),
            ([], 6, 2, "none at all"),
        ],
    )
    def test_bad_input(self, network, images, schemes, stragglers, trials, message):
        schemes = {str(i): letcc.CodedScheme.letcc(*size) for i, size in enumerate(schemes)}
        with pytest.raises(InvalidInput, match=message):
            run_trials(network, images, schemes, stragglers, trials, seed=0)


class TestSummarise:
    @staticmethod
    def trials(bacc, spline):
        values = [(trial, "BACC", value) for trial, value in enumerate(bacc)]
        values += [(trial, "LeTCC", value) for trial, value in enumerate(spline)]
        frame = pd.DataFrame(values, columns=["trial", "scheme", "rmse"])
        return frame.assign(relative_accuracy=1.0, label_accuracy=1.0)

    def test_means_and_paired_differences_by_hand(self):
        # Unpaired, the difference would have an interval of half-width 2.48 sqrt(5), not 2.48.
        summary = summarise(self.trials([1, 2, 3], [1, 3, 5]), "BACC").set_index(["scheme", "metric"])
        half = 4.302652729911275 / np.sqrt(3)
        columns = ["trials", "mean", "std", "mean_low", "mean_high"]
        np.testing.assert_allclose(
            summary.loc[("LeTCC", "rmse"), columns].astype(float),
            [3, 3, 2, 3 - 2 * half, 3 + 2 * half],
        )
        columns = ["difference", "difference_low", "difference_high"]
        np.testing.assert_allclose(summary.loc[("LeTCC", "rmse"), columns].astype(float), [1, 1 - half, 1 + half])
        np.testing.assert_array_equal(summary.loc[("BACC", "rmse"), columns].astype(float), [0, 0, 0])
        columns = ["mean", "mean_low", "mean_high"]
        np.testing.assert_array_equal(summary.loc[("LeTCC", "relative_accuracy"), columns].astype(float), [1, 1, 1])

    def test_bad_input(self):
        trials = self.trials([1, 2, 3], [1, 3, 5])
        with pytest.raises(InvalidInput, match="'Lagrange' is not among the schemes: 'BACC', 'LeTCC'"):
            summarise(trials, "Lagrange")
        with pytest.raises(InvalidInput, match="at least 2 trials, not 1"):
            summarise(trials[trials["trial"] == 0], "BACC")
        with pytest.raises(InvalidInput, match="cannot be paired"):
            summarise(trials[:-1], "BACC")
