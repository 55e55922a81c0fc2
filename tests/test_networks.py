import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import letcc
from convergence.networks.images import MNIST_FILES, DataNotFound, Images, load_images
from convergence.networks.lenet5 import LeNet5
from convergence.networks.training import STANDARD_RECIPE, Recipe, train, trained_lenet5
from convergence.networks.trials import run_trials, summarise
from letcc.exceptions import InvalidInput

SHORT = Recipe(steps=4, batch_size=16, peak_learning_rate=5e-3, max_shift=2)


def silent(line):
    pass


def same_weights(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture
def mnist_root(tmp_path):
    """Six training and four test images in the layout and format of MNIST: pixel 51 everywhere."""
    raw = tmp_path / "root" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in MNIST_FILES:
        count = 6 if name.startswith("train") else 4
        if "images" in name:
            header, body = [0x00000803, count, 28, 28], bytes([51]) * (count * 28 * 28)
        else:
            header, body = [0x00000801, count], bytes(range(count))
        (raw / name).write_bytes(np.array(header, dtype=">i4").tobytes() + body)
    return tmp_path / "root"


class TestImages:
    def test_digits_split(self):
        splits = [load_images(None, train=train) for train in (True, False)]
        assert [len(split) for split in splits] == [1500, 297]
        for split in splits:
            assert split.pixels.shape[1:] == (1, 28, 28)
            assert (split.pixels.dtype, split.labels.dtype) == (torch.float32, torch.int64)
            assert (split.pixels.min(), split.pixels.max()) == (0, 1)
        shares = [split.labels.bincount() / len(split) for split in splits]
        torch.testing.assert_close(*shares, rtol=0, atol=0.002)

    def test_digits_splits_share_no_image(self):
        train, test = (load_images(None, train=train).pixels.flatten(1) for train in (True, False))
        assert len(torch.cat([train, test]).unique(dim=0)) == 1797

    def test_mnist_is_read_and_scaled(self, mnist_root):
        train, test = (load_images(mnist_root, train=train) for train in (True, False))
        assert train.labels.tolist() == [0, 1, 2, 3, 4, 5]
        assert test.pixels.shape == (4, 1, 28, 28)
        torch.testing.assert_close(test.pixels, torch.full((4, 1, 28, 28), 0.2))

    def test_missing_files_are_named_with_the_way_to_unpack_them(self, mnist_root):
        raw = mnist_root / "MNIST" / "raw"
        (raw / "t10k-images-idx3-ubyte").rename(raw / "t10k-images-idx3-ubyte.gz")
        (raw / "train-labels-idx1-ubyte").rename(mnist_root / "train-labels-idx1-ubyte.gz")
        with pytest.raises(DataNotFound) as caught:
            load_images(mnist_root, train=True)
        first, *_ = message = str(caught.value).splitlines()
        assert f"train-labels-idx1-ubyte, t10k-images-idx3-ubyte missing in {raw}" in first
        assert "train-images" not in first
        commands = [line.split(" && ")[1] for line in message if line.startswith("Unpack")]
        assert commands == [
            f"gunzip -c '{mnist_root}/train-labels-idx1-ubyte.gz' > '{raw}/train-labels-idx1-ubyte'",
            f"gunzip -c '{raw}/t10k-images-idx3-ubyte.gz' > '{raw}/t10k-images-idx3-ubyte'",
        ]
        assert "scikit-learn" in message[-1]

    def test_no_gunzip_where_there_is_no_archive(self, tmp_path):
        with pytest.raises(DataNotFound, match="missing in") as caught:
            load_images(tmp_path / "nowhere", train=True)
        assert "gunzip -c" not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00" * 9, b"\x00\x00\x08\x03" + b"\x00" * 9])
    def test_damaged_file(self, mnist_root, content):
        (mnist_root / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(content)
        with pytest.raises(DataNotFound, match=r"cannot be read .*\(gunzip\)"):
            load_images(mnist_root, train=True)


class TestTraining:
    def test_lenet5_has_its_61706_parameters(self):
        network = LeNet5()
        assert sum(parameter.numel() for parameter in network.parameters()) == 61706
        assert network(torch.zeros(3, 1, 28, 28)).shape == (3, 10)

    def test_digits_are_learnt(self, tmp_path):
        network, metadata = trained_lenet5(None, 0, tmp_path, silent, STANDARD_RECIPE)
        test = load_images(None, train=False)
        with torch.inference_mode():
            accuracy = (network(test.pixels).argmax(dim=1) == test.labels).double().mean().item()
        assert accuracy >= 0.97
        assert metadata["test_accuracy"] == pytest.approx(accuracy, abs=1e-12)

    def test_a_seed_determines_the_weights_whatever_the_threads(self):
        images = load_images(None, train=True)
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            one = train(images, 3, SHORT, silent)
            torch.set_num_threads(2)
            again, other = train(images, 3, SHORT, silent), train(images, 4, SHORT, silent)
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)
        assert same_weights(one, again)
        assert not same_weights(one, other)

    def test_global_random_state_is_left_alone(self, tmp_path):
        before = torch.get_rng_state()
        trained_lenet5(None, 0, tmp_path, silent, SHORT)
        assert torch.equal(torch.get_rng_state(), before)
        trained_lenet5(None, 0, tmp_path, silent, SHORT)
        assert torch.equal(torch.get_rng_state(), before)

    def test_cache_returns_the_same_network_without_training(self, tmp_path):
        first, metadata = trained_lenet5(None, 0, tmp_path / "new" / "folder", silent, SHORT)
        lines = []
        second, cached_metadata = trained_lenet5(None, 0, tmp_path / "new" / "folder", lines.append, SHORT)
        assert lines == []
        assert same_weights(first, second)
        assert metadata == cached_metadata
        assert not any(module.training for module in second.modules())

    def test_what_determines_the_weights_is_in_the_file_name(self, tmp_path, mnist_root):
        cache = tmp_path / "cache"
        longer = Recipe(steps=5, batch_size=16, peak_learning_rate=5e-3, max_shift=2)
        for root, seed, recipe in [
            (None, 0, SHORT),
            (None, 1, SHORT),
            (None, 0, longer),
            (mnist_root, 0, SHORT),
        ]:
            trained_lenet5(root, seed, cache, silent, recipe)
        assert len(list(cache.glob("lenet5-*.safetensors"))) == 4
        assert len(list(cache.iterdir())) == 8

    @pytest.mark.parametrize("damage", ["truncated", "foreign", "no json", "broken json"])
    def test_a_bad_cache_is_trained_again_and_said_so(self, tmp_path, damage):
        first, _ = trained_lenet5(None, 0, tmp_path, silent, SHORT)
        (weights,), (description,) = tmp_path.glob("*.safetensors"), tmp_path.glob("*.json")
        match damage:
            case "truncated":
                weights.write_bytes(weights.read_bytes()[:-4])
            case "foreign":
                content = json.loads(description.read_text())
                content["metadata"]["seed"] = 7
                description.write_text(json.dumps(content))
            case "no json":
                description.unlink()
            case "broken json":
                description.write_text('["metadata"')
        lines = []
        second, _ = trained_lenet5(None, 0, tmp_path, lines.append, SHORT)
        assert lines[0].startswith("training again, the cached weights cannot be used")
        assert same_weights(first, second)
        lines.clear()
        trained_lenet5(None, 0, tmp_path, lines.append, SHORT)
        assert lines == []


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
    return load_images(None, train=False)


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
