"""Labelled images: scikit-learn's digits, which need no download, or MNIST, CIFAR-10 and ImageNet from a data root."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional
from torchvision.datasets import CIFAR10, MNIST, ImageFolder
from torchvision.datasets.folder import default_loader
from torchvision.transforms import functional as transforms

from letcc.exceptions import InvalidInput, LetccError

if TYPE_CHECKING:
    from PIL.Image import Image

DATASETS = ("digits", "mnist", "cifar10", "imagenet")
MNIST_FILES = tuple(archive.removesuffix(".gz") for archive, _ in MNIST.resources)
DIGITS_TEST_SIZE = 297
# The split is part of the data set: it must not move with the seed of the training or of the trials.
DIGITS_SPLIT_SEED = 0
IMAGENET_CLASSES = 1000
IMAGENET_LIMIT = 1000  # images: 600 MB


class DataNotFound(LetccError):
    """A data root does not hold the files of the data set, or holds damaged ones."""


@dataclass(frozen=True, eq=False)
class Images:
    """One split of a data set.

    Attributes
    ----------
    name : str
        Of the data set, one of `DATASETS`.
    pixels : torch.Tensor
        Shape (n, channels, height, width), float32, from 0 (black) to 1.
    labels : torch.Tensor
        Shape (n,), int64, from 0.

    Raises
    ------
    InvalidInput
        For other shapes, types or values.
    """

    name: str
    pixels: torch.Tensor
    labels: torch.Tensor

    def __post_init__(self) -> None:
        pixels, labels = self.pixels, self.labels
        if pixels.ndim != 4 or labels.shape != pixels.shape[:1]:
            raise InvalidInput(
                f"images of {self.name} need pixels (n, channels, height, width) and labels (n,), not "
                f"{tuple(pixels.shape)} and {tuple(labels.shape)}"
            )
        if pixels.dtype != torch.float32 or labels.dtype != torch.int64:
            raise InvalidInput(
                f"images of {self.name} need float32 pixels and int64 labels, not {pixels.dtype} and {labels.dtype}"
            )
        if len(pixels) and not (pixels.min() >= 0 and pixels.max() <= 1):  # false for NaN, too
            low, high = pixels.min().item(), pixels.max().item()
            raise InvalidInput(
                f"pixels of {self.name} go from {low:.3g} to {high:.3g}, not from 0 to 1: divide bytes by 255"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def checksum(self) -> str:
        """SHA-256 of pixels and labels, in their order."""
        digest = hashlib.sha256(self.pixels.contiguous().numpy())
        digest.update(self.labels.contiguous().numpy())
        return digest.hexdigest()


def load_images(dataset: str, data_root: Path | None = None, *, train: bool) -> Images:
    """Load the training or the test split.

    Parameters
    ----------
    dataset : str
        ``digits``: those that scikit-learn ships, 1500 to train on and 297 to test on, stratified by class.
        ``mnist``: ``data_root/MNIST/raw/*-ubyte``, as `torchvision.datasets.MNIST` wants them.
        ``cifar10``: ``data_root/cifar-10-batches-py``, as `torchvision.datasets.CIFAR10` wants them; where it is not,
        the images in ``data_root/cifar10/train/CLASS`` and ``.../test/CLASS``.
        ``imagenet``: up to `IMAGENET_LIMIT` images of ``data_root/imagenet/val/WNID``, evenly spread; only to test on.
    data_root : Path, optional
        Where images lie; digits need none.
    train : bool
        Which split.

    Returns
    -------
    Images

    Raises
    ------
    InvalidInput
        If there is no such data set.
    DataNotFound
        If the files are not all in the data root, or cannot be read as such.
    """
    if dataset not in DATASETS:
        raise InvalidInput(f"there is no data set {dataset!r}: {', '.join(DATASETS)}")
    if dataset == "digits":
        return Images("digits", *_digits(train=train))
    if data_root is None:
        raise DataNotFound(
            f"{dataset} needs the folder where its images lie: name it by --data-root or the variable LETCC_DATA"
        )
    load = {"mnist": _mnist, "cifar10": _cifar10, "imagenet": _imagenet}[dataset]
    return Images(dataset, *load(Path(data_root), train=train))


def download(dataset: str, data_root: Path) -> None:
    """Get the original files through torchvision, which compares their MD5.

    Parameters
    ----------
    dataset : str
    data_root : Path

    Raises
    ------
    InvalidInput
        If there is no download of this data set.
    DataNotFound
        If the machine cannot reach them, or what comes is damaged.
    """
    classes = {"mnist": MNIST, "cifar10": CIFAR10}
    if dataset not in classes:
        raise InvalidInput(f"there is no download of {dataset}, only of {' and '.join(classes)}")
    try:
        classes[dataset](str(data_root), download=True)
    except (OSError, RuntimeError) as error:
        raise DataNotFound(
            f"{dataset} cannot be downloaded to {data_root} ({error}). Import files that you have instead: "
            "python -m convergence import-data SOURCE --data-root ROOT"
        ) from error


def _digits(*, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    grey, labels = load_digits(return_X_y=True)
    train_rows, test_rows = train_test_split(
        range(len(labels)), test_size=DIGITS_TEST_SIZE, random_state=DIGITS_SPLIT_SEED, stratify=labels
    )
    rows = train_rows if train else test_rows
    small = torch.from_numpy(grey[rows]).float().reshape(-1, 1, 8, 8) / 16
    return functional.interpolate(small, size=(28, 28), mode="bilinear"), torch.from_numpy(labels[rows]).long()


def _import_command(root: Path) -> str:
    return f"python -m convergence import-data SOURCE --data-root '{root}'"


def _mnist(root: Path, *, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    raw = root / "MNIST" / "raw"
    missing = [name for name in MNIST_FILES if not (raw / name).is_file()]
    if missing:
        raise DataNotFound(
            f"data root {root} does not hold MNIST: {', '.join(missing)} missing in {raw}. Lay out the four files, "
            f"compressed or not, from the folder SOURCE where they are: {_import_command(root)}"
        )
    try:
        split = MNIST(str(root), train=train, download=False)
    except (AssertionError, IndexError, KeyError, RuntimeError, ValueError) as error:
        raise DataNotFound(
            f"the MNIST files in {raw} cannot be read ({error!r}). They are probably cut short or still "
            f"compressed: remove them and lay them out again by {_import_command(root)}"
        ) from error
    if split.data.shape[1:] != (28, 28) or len(split.data) != len(split.targets):
        raise DataNotFound(
            f"the MNIST files in {raw} do not belong together: images {tuple(split.data.shape)}, labels "
            f"{tuple(split.targets.shape)}. Remove them and lay them out again by {_import_command(root)}"
        )
    return split.data.unsqueeze(1).float() / 255, split.targets.long()


def _cifar10(root: Path, *, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    if (root / CIFAR10.base_folder).is_dir():
        try:
            split = CIFAR10(str(root), train=train, download=False)
        except (OSError, RuntimeError) as error:
            raise DataNotFound(
                f"the batches in {root / CIFAR10.base_folder} are not all there, or damaged ({error}): remove the "
                "folder and unpack cifar-10-python.tar.gz again"
            ) from error
        pixels = torch.from_numpy(split.data).permute(0, 3, 1, 2)
        return pixels.contiguous().float() / 255, torch.tensor(split.targets)
    folder = root / "cifar10" / ("train" if train else "test")
    if not folder.is_dir():
        raise DataNotFound(
            f"data root {root} holds CIFAR-10 neither as {CIFAR10.base_folder} nor as {folder}/CLASS. Unpack the "
            f"original archive there, or lay out images by {_import_command(root)}"
        )
    tree = _tree(folder)
    if len(tree.classes) != 10:
        raise DataNotFound(f"{folder} holds {len(tree.classes)} classes, not the 10 of CIFAR-10")
    return _pixels(tree.samples, side=32), torch.tensor(tree.targets)


def _imagenet(root: Path, *, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    if train:
        raise DataNotFound("ImageNet is here to test on: its networks come trained")
    folder = root / "imagenet" / "val"
    if not folder.is_dir():
        raise DataNotFound(
            f"data root {root} does not hold ImageNet: {folder}/WNID is missing. Put the validation images there, one "
            f"folder a class, or lay out a sample of them by {_import_command(root)}"
        )
    tree = _tree(folder)
    index = _imagenet_index(folder.parent / "classes.json", tree.classes)
    chosen = np.linspace(0, len(tree.samples) - 1, min(len(tree.samples), IMAGENET_LIMIT)).round().astype(int)
    samples = [tree.samples[i] for i in chosen]
    labels = torch.tensor([index[tree.classes[label]] for _, label in samples])
    return _pixels(samples, side=224), labels


def _imagenet_index(path: Path, classes: list[str]) -> dict[str, int]:
    """Label of each folder: from a file where it lies beside them, else the place among all 1000, as everywhere."""
    if not path.exists():
        if len(classes) != IMAGENET_CLASSES:
            raise DataNotFound(
                f"{path.parent / 'val'} holds {len(classes)} of {IMAGENET_CLASSES} classes, so their labels are "
                f'unknown: write them to {path}, as in {{"n01440764": 0}}'
            )
        return {name: label for label, name in enumerate(classes)}
    try:
        index = json.loads(path.read_bytes())
        known = {name: range(IMAGENET_CLASSES)[index[name]] for name in classes}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataNotFound(
            f"{path} does not give every folder in {path.parent / 'val'} its label ({error!r})"
        ) from error
    return known


def _tree(folder: Path) -> ImageFolder:
    try:
        return ImageFolder(str(folder))
    except OSError as error:
        raise DataNotFound(f"{folder} does not hold a folder of images for each class ({error})") from error


def _pixels(samples: list[tuple[str, int]], side: int) -> torch.Tensor:
    pixels = torch.empty(len(samples), 3, side, side, dtype=torch.uint8)
    for place, (path, _) in enumerate(samples):
        try:
            image = default_loader(path)
        except OSError as error:
            raise DataNotFound(f"{path} is no image, or a damaged one ({error})") from error
        pixels[place] = transforms.pil_to_tensor(_squared(image, side, path))
    return pixels.float() / 255


def _squared(image: Image, side: int, path: str) -> Image:
    """As it is where it fits; a photograph's centre, as classifiers for ImageNet are tested."""
    if image.size == (side, side):
        return image
    if side != 224:
        raise DataNotFound(f"{path} has {image.width} x {image.height} pixels, not {side} x {side}")
    return transforms.center_crop(transforms.resize(image, 256), 224)
