"""Lay out image files in a data root as torchvision's dataset classes want them."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convergence.networks.images import IMAGENET_CLASSES, MNIST_FILES, DataNotFound, load_images
from letcc.exceptions import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable


def import_data(source: Path, data_root: Path, say: Callable[[str], None] = print) -> list[str]:
    """Unpack every data set found in a folder, and read it back.

    A data set is complete in the data root, or it is not there; one that is there already is left alone.

    Parameters
    ----------
    source : Path
        A folder, looked through with its subfolders, with the four MNIST files (``*-ubyte``, or compressed:
        ``*-ubyte.gz``) or with images as JPEG in ``.npz`` files. Such a file has, for each of its splits,
        ``SPLIT_jpeg`` (bytes, all files one after another), ``SPLIT_offsets`` (n + 1) and ``SPLIT_labels`` (n); and
        either ``classes`` (names of the ten classes of CIFAR-10) or ``wnids`` (of each image; ImageNet).
    data_root : Path
        Made if missing.
    say : callable
        Gets lines about what is being done.

    Returns
    -------
    list of str
        The data sets that were found.

    Raises
    ------
    InvalidInput
        If the data root is a file.
    DataNotFound
        If there is none, or one is incomplete or damaged.
    """
    if not source.is_dir():
        raise DataNotFound(f"{source} is not a folder")
    if data_root.exists() and not data_root.is_dir():
        raise InvalidInput(f"the data root {data_root} is not a folder")
    found = {path.name.removesuffix(".gz"): path for path in sorted(source.rglob("*-ubyte*"))}
    jobs: dict[str, tuple[Path, Callable[[Path], None], tuple[bool, ...]]] = {}
    if any(name in found for name in MNIST_FILES):
        missing = [name for name in MNIST_FILES if name not in found]
        if missing:
            raise DataNotFound(f"{source} holds some of MNIST but not {', '.join(missing)}, with .gz or without")
        jobs["mnist"] = data_root / "MNIST" / "raw", partial(_unpack_mnist, found), (True, False)
    for path in sorted(source.rglob("*.npz")):
        arrays = _arrays(path)
        if "wnids" in arrays:
            jobs["imagenet"] = data_root / "imagenet", partial(_imagenet, arrays, path), (False,)
        elif "classes" in arrays:
            target = data_root / "cifar10"
            jobs["cifar10"] = target, partial(_cifar10, arrays, path), (True, False)
    if not jobs:
        raise DataNotFound(f"{source} holds neither MNIST's files ({MNIST_FILES[0]}, ...) nor .npz files of images")

    for dataset, (target, unpack, splits) in jobs.items():
        if _is_there(dataset, target):
            say(f"{dataset}: {target} is there already, and left as it is; remove it to import again")
            continue
        data_root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=data_root) as folder:
            mirror = Path(folder) / target.relative_to(data_root)
            mirror.mkdir(parents=True)
            unpack(mirror)
            sizes = [len(load_images(dataset, Path(folder), train=train)) for train in splits]
            _move(mirror, target)
        say(f"{dataset}: {' + '.join(map(str, sizes))} images in {target}")
    return list(jobs)


def _is_there(dataset: str, target: Path) -> bool:
    if dataset == "mnist":  # whose folder may hold archives that are to be unpacked beside themselves
        return all((target / name).exists() for name in MNIST_FILES)
    return target.exists()


def _move(folder: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        os.replace(folder, target)
        return
    for path in folder.iterdir():
        os.replace(path, target / path.name)


def _unpack_mnist(found: dict[str, Path], folder: Path) -> None:
    for name in MNIST_FILES:
        path = found[name]
        try:
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        except (OSError, EOFError, zlib.error) as error:
            raise DataNotFound(f"{path} cannot be unpacked, it is probably a broken download ({error})") from error
        (folder / name).write_bytes(content)


def _cifar10(arrays: dict[str, Any], path: Path, folder: Path) -> None:
    for split in ("train", "test"):
        names = arrays["classes"].tolist()
        for count, (label, content) in enumerate(_files(arrays, path, split, len(names))):
            _write(folder / split / names[label] / f"{count:05d}.jpg", content)


def _imagenet(arrays: dict[str, Any], path: Path, folder: Path) -> None:
    files, names, index = _files(arrays, path, "test", IMAGENET_CLASSES), arrays["wnids"].tolist(), {}
    if len(names) != len(files):
        raise DataNotFound(f"{path} has {len(names)} wnids for {len(files)} images: one of each image is needed")
    for count, (wnid, (label, content)) in enumerate(zip(names, files, strict=True)):
        _write(folder / "val" / wnid / f"{count:05d}.jpg", content)
        index[wnid] = label
    (folder / "classes.json").write_text(json.dumps(index, indent=0) + "\n")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _files(arrays: dict[str, Any], path: Path, split: str, classes: int) -> list[tuple[int, bytes]]:
    """Label and JPEG file of each image."""
    try:
        packed, offsets, labels = (arrays[f"{split}_{name}"] for name in ("jpeg", "offsets", "labels"))
    except KeyError as error:
        raise DataNotFound(f"{path} has no {error.args[0]}: it is not a file of images as JPEG") from error
    whole = len(offsets) == len(labels) + 1 and offsets[0] == 0 and offsets[-1] == len(packed)
    if not whole or (np.diff(offsets) <= 0).any() or (labels >= classes).any():
        raise DataNotFound(f"{path}: the offsets, labels and bytes of its split {split!r} do not fit together")
    content = packed.tobytes()
    places = zip(labels.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return [(label, content[start:end]) for label, start, end in places]


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays) if {"wnids", "classes"} & set(arrays.files) else {}
    except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise DataNotFound(f"{path} cannot be read, it is probably a broken download ({error})") from error
