"""Train LeNet5 reproducibly, once: the same seed, data and torch give the same weights bit for bit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from convergence.networks.cache import load_weights, store_weights, weights_path
from convergence.networks.images import Images, load_images
from convergence.networks.lenet5 import LeNet5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PACKAGES = ("torch", "torchvision", "scikit-learn", "safetensors")


@dataclass(frozen=True)
class Recipe:
    """Adam under a one-cycle learning rate, on images moved by up to `max_shift` pixels along either axis.

    Its length is in steps, not in epochs, so that one recipe fits 1,500 images and 60,000.
    """

    steps: int
    batch_size: int
    peak_learning_rate: float
    max_shift: int


STANDARD_RECIPE = Recipe(steps=1500, batch_size=64, peak_learning_rate=5e-3, max_shift=2)


def trained_lenet5(
    data_root: Path | None,
    seed: int,
    cache_dir: Path,
    progress: Callable[[str], None] = print,
    recipe: Recipe = STANDARD_RECIPE,
) -> tuple[LeNet5, dict[str, Any]]:
    """LeNet5 trained on the training split, from the cache where it holds exactly these weights.

    Parameters
    ----------
    data_root : Path or None
        As in `load_images`.
    seed : int
        Determines the initial weights, the order of the images and their shifts.
    cache_dir : Path
        Folder of the weights; made if missing.
    progress : callable
        Gets lines about what is being done.
    recipe : Recipe
        How to train.

    Returns
    -------
    network : LeNet5
        In evaluation mode.
    metadata : dict
        Architecture, dataset, seed, recipe, data checksum, package versions and test accuracy.
    """
    images = load_images(data_root, train=True)
    identity = {
        "architecture": LeNet5.__name__,
        "dataset": images.name,
        "seed": seed,
        "recipe": asdict(recipe),
        "data_sha256": images.checksum(),
        "torch": torch.__version__,
    }
    cache_dir.mkdir(parents=True, exist_ok=True)
    path = weights_path(cache_dir, identity)
    try:
        cached = load_weights(path, identity)
    except ValueError as error:
        progress(f"training again, the cached weights cannot be used: {error}")
        cached = None
    if cached is not None:
        weights, metadata = cached
        with torch.random.fork_rng(devices=[]):  # even weights about to be replaced are drawn
            network = LeNet5()
        network.load_state_dict(weights)
        return network.eval(), metadata

    network = train(images, seed, recipe, progress)
    metadata = identity | {
        "test_accuracy": _accuracy(network, load_images(data_root, train=False)),
        "versions": {package: version(package) for package in PACKAGES},
    }
    store_weights(path, network.state_dict(), metadata)
    return network, metadata


def train(images: Images, seed: int, recipe: Recipe, progress: Callable[[str], None]) -> LeNet5:
    """Train a LeNet5; the global random state and the number of threads stay as they were."""
    with _one_thread(), torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also reseed accelerators, which fork_rng(devices=[]) does not restore.
        generator = torch.default_generator.manual_seed(seed)
        network = LeNet5()
        optimizer = torch.optim.Adam(network.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=recipe.peak_learning_rate, total_steps=recipe.steps
        )
        batches = _batches(images, recipe.batch_size, generator)
        for step in range(1, recipe.steps + 1):
            pixels, labels = next(batches)
            loss = functional.cross_entropy(network(_shifted(pixels, recipe.max_shift, generator)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 300 == 0 or step == recipe.steps:
                progress(f"LeNet5 on {images.name}: step {step} of {recipe.steps}, loss {loss.item():.3f}")
    return network.eval()


def _batches(images: Images, size: int, generator: torch.Generator) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while True:
        for batch in torch.randperm(len(images), generator=generator).split(size):
            yield images.pixels[batch], images.labels[batch]


def _shifted(pixels: torch.Tensor, max_shift: int, generator: torch.Generator) -> torch.Tensor:
    """Move a batch (n, 1, h, w), all of it alike; background fills what is left."""
    height, width = pixels.shape[-2:]
    down, right = torch.randint(2 * max_shift + 1, (2,), generator=generator).tolist()
    return functional.pad(pixels, (max_shift,) * 4)[..., down : down + height, right : right + width]


@torch.inference_mode()
def _accuracy(network: LeNet5, images: Images) -> float:
    return (network(images.pixels).argmax(dim=1) == images.labels).double().mean().item()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums split over threads round differently with their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
