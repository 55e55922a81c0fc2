"""Networks with their weights: committed here, from the cache, or trained now."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from platformdirs import user_cache_path

from convergence.networks.cache import load_into, read_metadata, store_weights, weights_path
from convergence.networks.images import load_images
from convergence.networks.training import train
from letcc.exceptions import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from convergence.networks.images import Images
    from convergence.networks.registry import Network

WEIGHTS = Path(__file__).parent / "weights"
IDENTITY = ("network", "dataset", "architecture", "seed", "recipe", "data_sha256")
PACKAGES = ("torch", "torchvision", "scikit-learn", "safetensors")


def cache_folder() -> Path:
    """Where weights are kept unless told otherwise."""
    return user_cache_path("letcc")


def committed_path(network: Network) -> Path:
    """Where the weights of a network are committed, if they are."""
    return WEIGHTS / f"{network.name}-{network.dataset}.safetensors"


def trained(
    network: Network,
    seed: int = 0,
    data_root: Path | None = None,
    cache_dir: Path | None = None,
    say: Callable[[str], None] = print,
    *,
    download: bool = False,
    committed: bool = True,
) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The network with its weights: the committed ones if of this seed and recipe, else from the cache, else trained.

    Parameters
    ----------
    network : Network
        From `convergence.networks.registry.find`.
    seed : int
        Determines the weights, but for the networks that come trained.
    data_root : Path, optional
        As in `load_images`; only read where the weights are not committed. Committed ones serve whatever the exact
        bytes of the images, since JPEG files decode to slightly different pixels on other machines.
    cache_dir : Path, optional
        Made if missing; the user's by default. Training that was interrupted goes on from what is kept there.
    say : callable
        Gets lines about what is being done.
    download : bool
        Whether weights that others have trained may be downloaded.
    committed : bool
        Whether committed weights will do.

    Returns
    -------
    module : torch.nn.Module
        In evaluation mode; takes pixels from 0 to 1.
    metadata : dict
        Network, dataset and architecture; of weights trained here also seed, recipe, checksums of both splits,
        package versions and test accuracy; of others the SHA-256 of their file.

    Raises
    ------
    UnusableWeights
        If there are weights but they are damaged or of another network.
    DataNotFound
        If it must be trained and the images are not there.
    """
    described = {"network": network.name, "dataset": network.dataset, "architecture": network.description()}
    if network.recipe is None:
        assert network.load, f"{network.name} has neither a recipe nor a loader"
        module, digest = network.load(network.build, download=download)
        return module, described | {"weights_sha256": digest}
    identity = described | {"seed": seed, "recipe": asdict(network.recipe)}
    path = committed_path(network)
    found = read_metadata(path) if committed else None
    if found is None or any(found.get(key) != identity[key] for key in ("seed", "recipe")):
        images = load_images(network.dataset, data_root, train=True)
        identity["data_sha256"] = images.checksum()
        path = weights_path(cache_dir or cache_folder(), identity)
        if not path.exists():
            _train(network, images, load_images(network.dataset, data_root, train=False), identity, path, say)
    module = _deployed(network)
    metadata = load_into(module, path, identity)
    return module.eval(), metadata


def commit(network: Network, metadata: dict[str, Any], cache_dir: Path) -> None:
    """Copy weights from the cache to where they are committed.

    Parameters
    ----------
    network : Network
    metadata : dict
        From `trained`.
    cache_dir : Path

    Raises
    ------
    InvalidInput
        If the network is not trained here.
    """
    if network.recipe is None:
        raise InvalidInput(f"{network.name} is not trained here, so its weights are not committed here")
    cached, target = weights_path(cache_dir, {key: metadata[key] for key in IDENTITY}), committed_path(network)
    target.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".safetensors", ".json"):
        shutil.copyfile(cached.with_suffix(suffix), target.with_suffix(suffix))


def accuracy(module: torch.nn.Module, images: Images) -> float:
    """Share of the images whose largest logit is their label's.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode.
    images : Images

    Returns
    -------
    float
    """
    with torch.inference_mode():
        found = torch.cat([module(batch).argmax(dim=1) for batch in images.pixels.split(250)])
    return (found == images.labels).double().mean().item()


def _train(
    network: Network, images: Images, test: Images, identity: dict[str, Any], path: Path, say: Callable[[str], None]
) -> None:
    network.check(test)
    checkpoint = path.with_suffix(".partial")
    module = train(network, images, identity["seed"], checkpoint, say)
    with torch.no_grad():
        for value in module.state_dict().values():
            value.copy_(value.half())  # the accuracy must be that of the weights that are stored
    metadata = identity | {
        "test_accuracy": accuracy(module, test),
        "test_sha256": test.checksum(),
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "versions": {package: version(package) for package in PACKAGES},
    }
    store_weights(path, module.state_dict(), metadata)
    checkpoint.unlink(missing_ok=True)


def _deployed(network: Network) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):  # even weights about to be replaced are drawn
        module = network.build()
    return module.reparameterised() if hasattr(module, "reparameterised") else module
