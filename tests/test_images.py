import gzip
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from image_files import CIFAR10_CLASSES, cifar10_arrays, imagenet_arrays, jpeg, mnist_files
from torchvision.datasets import CIFAR10, MNIST
from typer.testing import CliRunner

from convergence.__main__ import app
from convergence.networks import images as images_module
from convergence.networks.images import MNIST_FILES, DataNotFound, Images, download, load_images
from convergence.networks.importing import import_data
from letcc.exceptions import InvalidInput


def silent(line):
    pass


@pytest.fixture
def mnist_root(tmp_path):
    mnist_files(tmp_path / "root" / "MNIST" / "raw")
    return tmp_path / "root"


@pytest.fixture
def source(tmp_path):
    """All three kinds of files, MNIST's compressed, in subfolders."""
    folder = tmp_path / "source"
    mnist_files(folder / "mnist")
    for path in list((folder / "mnist").iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    np.savez(folder / "cifar.npz", **cifar10_arrays())
    np.savez(folder / "photographs.npz", **imagenet_arrays())
    return folder


@pytest.fixture
def data_root(source, tmp_path):
    import_data(source, tmp_path / "data", silent)
    return tmp_path / "data"


class TestDigits:
    def test_split(self):
        splits = [load_images("digits", train=train) for train in (True, False)]
        assert [len(split) for split in splits] == [1500, 297]
        for split in splits:
            assert split.pixels.shape[1:] == (1, 28, 28)
            assert (split.pixels.dtype, split.labels.dtype) == (torch.float32, torch.int64)
            assert (split.pixels.min(), split.pixels.max()) == (0, 1)
        shares = [split.labels.bincount() / len(split) for split in splits]
        torch.testing.assert_close(*shares, rtol=0, atol=0.002)

    def test_splits_share_no_image(self):
        train, test = (load_images("digits", train=train).pixels.flatten(1) for train in (True, False))
        assert len(torch.cat([train, test]).unique(dim=0)) == 1797


class TestImages:
    @pytest.mark.parametrize(
        ("pixels", "labels", "message"),
        [
            (torch.zeros(2, 28, 28), torch.zeros(2).long(), r"need pixels \(n, channels, height, width\)"),
            (torch.zeros(2, 1, 28, 28), torch.zeros(3).long(), r"\(2, 1, 28, 28\) and \(3,\)"),
            (torch.zeros(2, 1, 28, 28), torch.zeros(2), "int64 labels, not torch.float32 and torch.float32"),
            (torch.full((2, 1, 28, 28), 255.0), torch.zeros(2).long(), "from 255 to 255, not from 0 to 1: divide"),
            (torch.full((2, 1, 28, 28), -0.5), torch.zeros(2).long(), "from -0.5 to -0.5"),
            (torch.full((2, 1, 28, 28), torch.nan), torch.zeros(2).long(), "from nan to nan"),
        ],
        ids=["no channels", "labels", "dtype", "bytes", "centred", "nan"],
    )
    def test_wrong_shape_or_range(self, pixels, labels, message):
        with pytest.raises(InvalidInput, match=message):
            Images("mine", pixels, labels)

    @pytest.mark.parametrize("dataset", ["mnist", "cifar10", "imagenet"])
    def test_no_data_root(self, dataset):
        with pytest.raises(DataNotFound, match=f"{dataset} needs .* --data-root or the variable LETCC_DATA"):
            load_images(dataset, train=False)

    @pytest.mark.parametrize("dataset", ["mnist", "cifar10", "imagenet"])
    def test_empty_data_root(self, tmp_path, dataset):
        with pytest.raises(DataNotFound, match=f"import-data SOURCE --data-root '{tmp_path}'"):
            load_images(dataset, tmp_path, train=False)

    def test_unknown_data_set(self):
        with pytest.raises(InvalidInput, match="no data set 'svhn': digits, mnist, cifar10, imagenet"):
            load_images("svhn", train=False)


class TestMnist:
    def test_is_read_and_scaled(self, mnist_root):
        train, test = (load_images("mnist", mnist_root, train=train) for train in (True, False))
        assert train.labels.tolist() == [0, 1, 2, 3, 4, 5]
        assert test.pixels.shape == (4, 1, 28, 28)
        torch.testing.assert_close(test.pixels, torch.full((4, 1, 28, 28), 0.2))

    def test_missing_files_are_named(self, mnist_root):
        raw = mnist_root / "MNIST" / "raw"
        for name in (MNIST_FILES[1], MNIST_FILES[2]):
            (raw / name).rename(raw / f"{name}.gz")
        with pytest.raises(DataNotFound) as caught:
            load_images("mnist", mnist_root, train=True)
        assert f"{MNIST_FILES[1]}, {MNIST_FILES[2]} missing in {raw}" in str(caught.value)
        assert MNIST_FILES[0] not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00" * 9, b"\x00\x00\x08\x03" + b"\x00" * 9])
    def test_damaged_file(self, mnist_root, content):
        (mnist_root / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(content)
        with pytest.raises(DataNotFound, match=r"cannot be read .* lay them out again"):
            load_images("mnist", mnist_root, train=True)

    def test_images_and_labels_of_different_splits(self, mnist_root):
        raw = mnist_root / "MNIST" / "raw"
        (raw / MNIST_FILES[1]).write_bytes((raw / MNIST_FILES[3]).read_bytes())
        with pytest.raises(DataNotFound, match=r"do not belong together: images \(6, 28, 28\), labels \(4,\)"):
            load_images("mnist", mnist_root, train=True)


class TestTrees:
    def test_cifar10(self, data_root):
        train, test = (load_images("cifar10", data_root, train=train) for train in (True, False))
        assert train.labels.tolist() == sorted([*range(10)] * 2)
        assert test.labels.tolist() == [*range(10)]
        expected = test.labels[:, None, None, None].expand(10, 3, 32, 32) * 10 / 255
        torch.testing.assert_close(test.pixels, expected, rtol=0, atol=1.1 / 255)

    def test_cifar10_of_other_size(self, data_root):
        path = data_root / "cifar10" / "test" / "dog" / "00000.jpg"
        path = next(path.parent.iterdir())
        path.write_bytes(jpeg(0, 33))
        with pytest.raises(DataNotFound, match=f"{path} has 33 x 33 pixels, not 32 x 32"):
            load_images("cifar10", data_root, train=False)

    def test_a_damaged_image(self, data_root):
        path = next((data_root / "cifar10" / "test" / "dog").iterdir())
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(DataNotFound, match=f"{path} is no image, or a damaged one"):
            load_images("cifar10", data_root, train=False)

    def test_a_class_is_missing(self, data_root):
        folder = data_root / "cifar10" / "test" / "dog"
        next(folder.iterdir()).unlink()
        with pytest.raises(DataNotFound, match=r"folder of images for each class .*dog"):
            load_images("cifar10", data_root, train=False)
        folder.rmdir()
        with pytest.raises(DataNotFound, match="holds 9 classes, not the 10"):
            load_images("cifar10", data_root, train=False)

    def test_original_batches_come_first_and_are_checked(self, data_root):
        (data_root / CIFAR10.base_folder).mkdir()
        (data_root / CIFAR10.base_folder / "test_batch").write_bytes(b"cut short")
        with pytest.raises(DataNotFound, match=r"not all there, or damaged .*unpack cifar-10-python\.tar\.gz again"):
            load_images("cifar10", data_root, train=False)

    def test_imagenet_labels_are_those_of_all_classes(self, data_root):
        test = load_images("imagenet", data_root, train=False)
        assert test.labels.tolist() == [0, 5, 999]
        torch.testing.assert_close(test.pixels[:, 0, 100, 100], torch.tensor([0, 0.2, 1]), rtol=0, atol=1 / 255)
        with pytest.raises(DataNotFound, match="networks come trained"):
            load_images("imagenet", data_root, train=True)

    def test_imagenet_photographs_are_resized_and_cropped(self, data_root):
        path = next((data_root / "imagenet" / "val" / "n00000002").iterdir())
        path.write_bytes(jpeg(51, 300))
        test = load_images("imagenet", data_root, train=False)
        assert test.pixels.shape == (3, 3, 224, 224)
        torch.testing.assert_close(test.pixels[1], torch.full((3, 224, 224), 0.2), rtol=0, atol=1 / 255)

    def test_imagenet_takes_an_even_sample(self, data_root, monkeypatch):
        monkeypatch.setattr(images_module, "IMAGENET_LIMIT", 2)
        assert load_images("imagenet", data_root, train=False).labels.tolist() == [0, 999]

    @pytest.mark.parametrize(
        "index", [None, {"n00000001": 0}, dict.fromkeys(("n00000001", "n00000002", "n00000009"), 1000)]
    )
    def test_imagenet_labels_unknown(self, data_root, index):
        path = data_root / "imagenet" / "classes.json"
        path.unlink()
        if index:
            path.write_text(json.dumps(index))
        with pytest.raises(DataNotFound, match=r"3 of 1000 classes, so their labels are unknown|its label \("):
            load_images("imagenet", data_root, train=False)

    def test_all_of_imagenets_classes_need_no_index(self, tmp_path):
        for label in range(1000):
            folder = tmp_path / "imagenet" / "val" / f"n{label:08d}"
            folder.mkdir(parents=True)
            (folder / "a.jpg").write_bytes(b"")
        (tmp_path / "imagenet" / "val" / "n00000000" / "a.jpg").write_bytes(b"broken")
        with pytest.raises(DataNotFound, match=r"n00000000/a\.jpg is no image"):
            load_images("imagenet", tmp_path, train=False)


class TestImporting:
    def test_command(self, source, tmp_path):
        root = tmp_path / "data"
        done = CliRunner().invoke(app, ["import-data", str(source), "--data-root", str(root)])
        assert done.exit_code == 0
        assert sorted(done.stdout.splitlines()) == [
            f"cifar10: 20 + 10 images in {root / 'cifar10'}",
            f"imagenet: 3 images in {root / 'imagenet'}",
            f"mnist: 6 + 4 images in {root / 'MNIST' / 'raw'}",
        ]
        assert sorted(path.name for path in root.iterdir()) == ["MNIST", "cifar10", "imagenet"]
        assert sorted(path.name for path in (root / "cifar10" / "train").iterdir()) == CIFAR10_CLASSES
        again = CliRunner().invoke(app, ["import-data", str(source)], env={"LETCC_DATA": str(root)})
        assert again.exit_code == 0
        assert again.stdout.count("is there already") == 3

    def test_command_without_a_data_root(self, source):
        done = CliRunner().invoke(app, ["import-data", str(source)], env={"LETCC_DATA": ""})
        assert done.exit_code == 2
        assert "by --data-root or the variable LETCC_DATA" in done.stderr

    def test_uncompressed_mnist(self, tmp_path):
        mnist_files(tmp_path / "source")
        assert import_data(tmp_path / "source", tmp_path / "data", silent) == ["mnist"]
        assert len(load_images("mnist", tmp_path / "data", train=True)) == 6

    def test_archives_where_their_files_belong(self, tmp_path, source):
        raw = tmp_path / "data" / "MNIST" / "raw"
        raw.parent.mkdir(parents=True)
        (source / "mnist").rename(raw)
        assert import_data(raw, tmp_path / "data", silent) == ["mnist"]
        assert len(load_images("mnist", tmp_path / "data", train=True)) == 6
        assert len(list(raw.iterdir())) == 8

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            ("mnist missing", f"some of MNIST but not {MNIST_FILES[2]}"),
            ("mnist cut", r"train-images-idx3-ubyte\.gz cannot be unpacked, it is probably a broken download"),
            ("mnist other", "cannot be read"),
            ("npz cut", r"cifar\.npz cannot be read, it is probably a broken download"),
            ("npz offsets", "the offsets, labels and bytes of its split 'train' do not fit together"),
            ("npz split", r"cifar\.npz has no test_jpeg"),
            ("npz label", "the offsets, labels and bytes of its split 'test' do not fit together"),
            ("wnids", r"photographs\.npz has 2 wnids for 3 images"),
            ("image", "is no image, or a damaged one"),
        ],
    )
    def test_damaged_source(self, source, tmp_path, damage, message):
        arrays = cifar10_arrays()
        file, npz = source / "mnist" / f"{MNIST_FILES[0]}.gz", source / "cifar.npz"
        match damage:
            case "mnist missing":
                (source / "mnist" / f"{MNIST_FILES[2]}.gz").unlink()
            case "mnist cut":
                file.write_bytes(file.read_bytes()[:-20])
            case "mnist other":
                file.write_bytes(gzip.compress(b"no images"))
            case "npz cut":
                npz.write_bytes(npz.read_bytes()[:-200])
            case "npz offsets":
                np.savez(npz, **arrays | {"train_offsets": arrays["train_offsets"][:-1]})
            case "npz split":
                np.savez(npz, **{name: value for name, value in arrays.items() if name != "test_jpeg"})
            case "npz label":
                np.savez(npz, **arrays | {"test_labels": arrays["test_labels"] + 1})
            case "wnids":
                arrays = imagenet_arrays()
                np.savez(source / "photographs.npz", **arrays | {"wnids": arrays["wnids"][:2]})
            case "image":
                np.savez(npz, **arrays | {"test_jpeg": np.zeros_like(arrays["test_jpeg"])})
        root = tmp_path / "data"
        with pytest.raises(DataNotFound, match=message):
            import_data(source, root, silent)
        left = {path.name for path in root.iterdir()} if root.exists() else set()
        assert left <= {"MNIST", "cifar10"}  # whole, where they came first
        for dataset, folder in {"mnist": "MNIST", "cifar10": "cifar10"}.items():
            assert folder not in left or len(load_images(dataset, root, train=False)) > 3

    def test_nothing_to_import(self, tmp_path):
        with pytest.raises(DataNotFound, match="is not a folder"):
            import_data(tmp_path / "nowhere", tmp_path / "data", silent)
        with pytest.raises(DataNotFound, match="holds neither MNIST's files"):
            import_data(tmp_path, tmp_path / "data", silent)
        assert list(tmp_path.iterdir()) == []


@pytest.fixture
def server(tmp_path):
    """The address of a folder that this machine serves to itself."""
    folder = tmp_path / "server"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()


class TestDownload:
    def test_corrupt(self, tmp_path, monkeypatch, server):
        folder, address = server
        for archive, _ in MNIST.resources:
            (folder / archive).write_bytes(b"cut short")
        (folder / CIFAR10.filename).write_bytes(b"cut short")
        monkeypatch.setattr(MNIST, "mirrors", [address])
        monkeypatch.setattr(CIFAR10, "url", address + CIFAR10.filename)
        for dataset in ("mnist", "cifar10"):
            with pytest.raises(
                DataNotFound, match=f"(?s){dataset} cannot be downloaded .*corrupted.* import-data SOURCE"
            ):
                download(dataset, tmp_path / "data")

    def test_unreachable(self, tmp_path, monkeypatch):
        monkeypatch.setattr(MNIST, "mirrors", [f"{tmp_path.as_uri()}/"])
        monkeypatch.setattr(CIFAR10, "url", (tmp_path / CIFAR10.filename).as_uri())
        for dataset in ("mnist", "cifar10"):
            with pytest.raises(DataNotFound, match=f"{dataset} cannot be downloaded"):
                download(dataset, tmp_path / "data")

    def test_imagenet(self, tmp_path):
        with pytest.raises(InvalidInput, match="no download of imagenet, only of mnist and cifar10"):
            download("imagenet", tmp_path)
