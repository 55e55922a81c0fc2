"""The networks of the table: which architecture at which size on which images, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from convergence.networks.lenet5 import LeNet5
from convergence.networks.pretrained import efficientnet_lite0, load_efficientnet_lite0, load_vit_b16, vit
from convergence.networks.repvgg import RepVGG
from convergence.networks.vit import ViT
from letcc.exceptions import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from convergence.networks.images import Images

GREY, COLOUR, PHOTOGRAPH = (1, 28, 28), (3, 32, 32), (3, 224, 224)


@dataclass(frozen=True)
class Recipe:
    """AdamW, its rate rising linearly to a peak, then falling to 0 like a cosine; images are shifted, perhaps mirrored.

    Its length is in steps, not in epochs, so that one recipe fits 1,500 images and 60,000.

    Attributes
    ----------
    steps, batch_size : int
    peak_learning_rate : float
    max_shift : int
        How many pixels each image is moved at most, along either axis.
    mirror : bool
        Whether half of the images are mirrored, left to right.
    weight_decay, label_smoothing : float
    bfloat16 : bool
        Whether convolutions and matrix products round to it, which takes half the time where the processor knows it.
    """

    steps: int
    batch_size: int
    peak_learning_rate: float
    max_shift: int
    mirror: bool = False
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    bfloat16: bool = False


@dataclass(frozen=True)
class Network:
    """One network on one data set.

    Attributes
    ----------
    name, dataset : str
    architecture : callable
        Called with `settings`, makes the module with fresh weights.
    settings : dict
    shape : tuple of int
        Of one image: channels, height, width.
    recipe : Recipe or None
        How it is trained; None where the weights come from elsewhere.
    load : callable, optional
        Gives the module with those weights, and their digest.
    """

    name: str
    dataset: str
    architecture: Callable[..., torch.nn.Module]
    shape: tuple[int, int, int]
    recipe: Recipe | None
    settings: dict[str, Any] = field(default_factory=dict)
    load: Callable[..., tuple[torch.nn.Module, str]] | None = None

    def build(self) -> torch.nn.Module:
        """A module with fresh weights."""
        return self.architecture(**self.settings)

    def description(self) -> str:
        """The architecture with everything that its weights must fit."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{self.architecture.__name__}({settings})"

    def check(self, images: Images) -> None:
        """Raise InvalidInput unless the images have the shape of this network's."""
        if tuple(images.pixels.shape[1:]) != self.shape:
            raise InvalidInput(
                f"{self.name} on {self.dataset} takes images of shape {self.shape}, not "
                f"{tuple(images.pixels.shape[1:])} as {images.name} has"
            )


NETWORKS = (
    Network("lenet5", "digits", LeNet5, GREY, Recipe(1500, 64, 5e-3, max_shift=2)),
    Network("lenet5", "mnist", LeNet5, GREY, Recipe(5000, 64, 5e-3, max_shift=2)),
    Network(
        "repvgg",
        "digits",
        RepVGG,
        GREY,
        Recipe(400, 64, 5e-3, max_shift=2, weight_decay=0.01),
        {"channels": 1, "widths": (8, 16, 32), "depths": (1, 2, 1)},
    ),
    Network(
        "repvgg",
        "cifar10",
        RepVGG,
        COLOUR,
        Recipe(9000, 64, 3e-3, 4, mirror=True, weight_decay=0.05, label_smoothing=0.1, bfloat16=True),
        {"channels": 3, "widths": (32, 48, 96, 192), "depths": (1, 2, 2, 1)},
    ),
    Network(
        "vit",
        "digits",
        ViT,
        GREY,
        Recipe(600, 64, 4e-3, max_shift=2, weight_decay=0.05),
        {"channels": 1, "side": 28, "width": 32, "depth": 3, "heads": 4},
    ),
    Network(
        "vit",
        "mnist",
        ViT,
        GREY,
        Recipe(2000, 128, 3e-3, max_shift=2, weight_decay=0.05),
        {"channels": 1, "side": 28, "width": 48, "depth": 4, "heads": 4},
    ),
    Network(
        "vit",
        "cifar10",
        ViT,
        COLOUR,
        Recipe(3000, 128, 2e-3, 4, mirror=True, weight_decay=0.05, label_smoothing=0.1),
        {"channels": 3, "side": 32, "width": 64, "depth": 6, "heads": 4},
    ),
    Network(
        "vit-b16",
        "imagenet",
        vit,
        PHOTOGRAPH,
        None,
        {
            "image_size": 224,
            "patch_size": 16,
            "num_layers": 12,
            "num_heads": 12,
            "hidden_dim": 768,
            "mlp_dim": 3072,
        },
        load_vit_b16,
    ),
    Network("efficientnet-lite0", "imagenet", efficientnet_lite0, PHOTOGRAPH, None, {}, load_efficientnet_lite0),
)


def find(name: str, dataset: str) -> Network:
    """The network of this name on this data set.

    Parameters
    ----------
    name, dataset : str

    Returns
    -------
    Network

    Raises
    ------
    InvalidInput
        If there is none.
    """
    for network in NETWORKS:
        if (network.name, network.dataset) == (name, dataset):
            return network
    listed = ", ".join(f"{network.name} on {network.dataset}" for network in NETWORKS)
    raise InvalidInput(f"there is no network {name!r} on {dataset!r}; there are {listed}")
