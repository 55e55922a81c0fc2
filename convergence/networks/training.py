"""Train networks reproducibly: the same seed, data and torch give the same weights bit for bit, interrupted or not."""

from __future__ import annotations

import math
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from convergence.networks.cache import UnusableWeights
from letcc.exceptions import InvalidInput
from theory.cells import progress
from theory.store import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from convergence.networks.images import Images
    from convergence.networks.registry import Network, Recipe

CHECKPOINT_EVERY = 100
WARM_UP = 0.2  # of all steps


def train(
    network: Network,
    images: Images,
    seed: int,
    checkpoint: Path | None = None,
    say: Callable[[str], None] = print,
) -> torch.nn.Module:
    """Train a network; the global random state and the number of threads stay as they were.

    Parameters
    ----------
    network : Network
    images : Images
        The training split.
    seed : int
        Determines the initial weights, the order of the images and their shifts.
    checkpoint : Path, optional
        Where the state is kept every `CHECKPOINT_EVERY` steps; if it is there, training goes on from it. The caller
        names it after all that determines the weights, and removes it.
    say : callable
        Gets lines about what is being done.

    Returns
    -------
    torch.nn.Module
        As it is run: in evaluation mode and, if the architecture has one, in its re-parameterised form.

    Raises
    ------
    InvalidInput
        If it is not trained here, or the images are not of its shape.
    """
    recipe = network.recipe
    if recipe is None:
        raise InvalidInput(f"{network.name} is not trained here, its weights come from elsewhere")
    network.check(images)
    with _one_thread(), torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also reseed accelerators, which fork_rng(devices=[]) does not restore.
        torch.default_generator.manual_seed(seed)
        module = network.build().to(memory_format=torch.channels_last).train()
        matrices = [parameter for parameter in module.parameters() if parameter.ndim > 1]
        vectors = [parameter for parameter in module.parameters() if parameter.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups)
        done = _resume(checkpoint, module, optimizer, say)
        with progress(f"{network.name} on {images.name}", recipe.steps) as advance:
            for step in range(recipe.steps):
                if step >= done:
                    _step(module, optimizer, images, recipe, seed, step)
                    if checkpoint and (step + 1) % CHECKPOINT_EVERY == 0 and step + 1 < recipe.steps:
                        state = {
                            "done": step + 1,
                            "module": module.state_dict(),
                            "optimizer": optimizer.state_dict(),
                        }
                        write_atomically(checkpoint, partial(torch.save, state))
                advance()
    module.eval()
    return module.reparameterised() if hasattr(module, "reparameterised") else module


def _step(
    module: torch.nn.Module, optimizer: torch.optim.Optimizer, images: Images, recipe: Recipe, seed: int, step: int
) -> None:
    for group in optimizer.param_groups:
        group["lr"] = recipe.peak_learning_rate * _cycle((step + 0.5) / recipe.steps)
    pixels, labels = _batch(images, recipe, seed, step)
    with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bfloat16):
        loss = functional.cross_entropy(module(pixels), labels, label_smoothing=recipe.label_smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _cycle(share: float) -> float:
    if share < WARM_UP:
        return share / WARM_UP
    return (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP))) / 2


def _batch(images: Images, recipe: Recipe, seed: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The batch of a step, which depends on nothing that happened before, so that training can go on anywhere."""
    epoch, batch = divmod(step, math.ceil(len(images) / recipe.batch_size))
    order = np.random.default_rng((seed, 0, epoch)).permutation(len(images))
    rows = torch.from_numpy(order[batch * recipe.batch_size :][: recipe.batch_size])
    pixels = _augmented(images.pixels[rows], recipe, np.random.default_rng((seed, 1, step)))
    return pixels.contiguous(memory_format=torch.channels_last), images.labels[rows]


def _augmented(pixels: torch.Tensor, recipe: Recipe, rng: np.random.Generator) -> torch.Tensor:
    """Move each image (n, c, h, w) by its own shift, zeros filling what is left, and mirror half of them."""
    count, _, height, width = pixels.shape
    padded = functional.pad(pixels, (recipe.max_shift,) * 4)
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)
    down, right = torch.from_numpy(rng.integers(2 * recipe.max_shift + 1, size=(2, count)))
    moved = windows[torch.arange(count), :, down, right]
    if not recipe.mirror:
        return moved
    mirrored = torch.from_numpy(rng.random(count) < 0.5)
    return torch.where(mirrored[:, None, None, None], moved.flip(3), moved)


def _resume(
    checkpoint: Path | None, module: torch.nn.Module, optimizer: torch.optim.Optimizer, say: Callable[[str], None]
) -> int:
    """Load the state where there is one; the number of steps done."""
    if checkpoint is None or not checkpoint.exists():
        return 0
    try:
        state = torch.load(checkpoint, weights_only=True)
        module.load_state_dict(state["module"])
        optimizer.load_state_dict(state["optimizer"])
    except Exception as error:  # torch's readers raise what they like
        raise UnusableWeights(f"{checkpoint} cannot be read ({error!r}): remove it to train from the start") from error
    say(f"going on from step {state['done']} of {checkpoint}")
    return state["done"]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums split over threads round differently with their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
