"""Labelled digits of 28 x 28 pixels: scikit-learn's, which need no download, or MNIST from files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional
from torchvision.datasets import MNIST

from letcc.exceptions import LetccError

MNIST_FILES = tuple(archive.removesuffix(".gz") for archive, _ in MNIST.resources)
DIGITS_TEST_SIZE = 297
# The split is part of the data set: it must not move with the seed of the training or of the trials.
DIGITS_SPLIT_SEED = 0


class DataNotFound(LetccError):
    """A data root does not hold the files of the data set, or holds damaged ones."""


@dataclass(frozen=True, eq=False)
class Images:
    """One split of a data set.

    Attributes
    ----------
    name : str
        Of the data set: ``digits`` or ``mnist``.
    pixels : torch.Tensor
        Shape (n, 1, 28, 28), float32, from 0 (background) to 1.
    labels : torch.Tensor
        Shape (n,), int64, from 0 to 9.
    """

    name: str
    pixels: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def checksum(self) -> str:
        """SHA-256 of pixels and labels, in their order."""
        digest = hashlib.sha256(self.pixels.contiguous().numpy())
        digest.update(self.labels.contiguous().numpy())
        return digest.hexdigest()


def load_images(data_root: Path | None, *, train: bool) -> Images:
    """Load the training or the test split.

    Parameters
    ----------
    data_root : Path or None
        None: the digits that scikit-learn ships, 1500 to train on and 297 to test on, stratified by class.
        A folder: MNIST from ``data_root/MNIST/raw/*-ubyte``, the layout of ``torchvision.datasets.MNIST``.
    train : bool
        Which split.

    Raises
    ------
    DataNotFound
        If the four MNIST files are not all in the data root, or cannot be read as such.
    """
    if data_root is None:
        return Images("digits", *_digits(train=train))
    return Images("mnist", *_mnist(Path(data_root), train=train))


def _digits(*, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    grey, labels = load_digits(return_X_y=True)
    train_rows, test_rows = train_test_split(
        range(len(labels)), test_size=DIGITS_TEST_SIZE, random_state=DIGITS_SPLIT_SEED, stratify=labels
    )
    rows = train_rows if train else test_rows
    small = torch.from_numpy(grey[rows]).float().reshape(-1, 1, 8, 8) / 16
    return functional.interpolate(small, size=(28, 28), mode="bilinear"), torch.from_numpy(labels[rows]).long()


def _mnist(root: Path, *, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    raw = root / "MNIST" / "raw"
    missing = [name for name in MNIST_FILES if not (raw / name).is_file()]
    if missing:
        raise DataNotFound(_missing_message(root, raw, missing))
    try:
        split = MNIST(str(root), train=train, download=False)
    except (AssertionError, IndexError, KeyError, RuntimeError, ValueError) as error:
        raise DataNotFound(
            f"the MNIST files in {raw} cannot be read ({error!r}). They are probably cut short or still "
            "compressed: lay them out again from the .gz files (gunzip)."
        ) from error
    return split.data.unsqueeze(1).float() / 255, split.targets.long()


def _missing_message(root: Path, raw: Path, missing: list[str]) -> str:
    lines = [
        f"data root {root} does not hold MNIST: {', '.join(missing)} missing in {raw}.",
        f"All four files are needed there, uncompressed: {', '.join(MNIST_FILES)}.",
    ]
    for name in missing:
        for archive in (raw / f"{name}.gz", root / f"{name}.gz"):
            if archive.is_file():
                lines.append(f"Unpack it: mkdir -p '{raw}' && gunzip -c '{archive}' > '{raw / name}'")
                break
    lines.append("Leave the data root out to use the digits that scikit-learn ships.")
    return "\n".join(lines)
