"""Trained weights on disk: a safetensors file and, beside it, a JSON file that says what it is."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from letcc.exceptions import LetccError
from theory.store import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    import torch


class UnusableWeights(LetccError):
    """Weights that are missing, damaged, or of another network."""


def weights_path(folder: Path, identity: dict[str, Any]) -> Path:
    """Where the weights that `identity` determines are kept; the JSON file differs in its suffix."""
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return folder / f"{identity['network']}-{identity['dataset']}-{key[:16]}.safetensors"


def store_weights(path: Path, weights: dict[str, torch.Tensor], metadata: dict[str, Any]) -> None:
    """Write both files whole or not at all; the weights in half precision.

    The JSON file comes last and carries the digest of the weights, so that an interruption between the two
    leaves a pair that `load_weights` rejects.
    """
    packed = save({name: value.half().contiguous() for name, value in weights.items()})
    described = {"metadata": metadata, "weights_sha256": hashlib.sha256(packed).hexdigest()}
    write_atomically(path, lambda partial: partial.write_bytes(packed))
    description = json.dumps(described, indent=2) + "\n"
    write_atomically(path.with_suffix(".json"), lambda partial: partial.write_text(description))


def read_metadata(path: Path) -> dict[str, Any] | None:
    """What the JSON file beside `path` says; None if neither is there.

    Raises
    ------
    UnusableWeights
        If the JSON file is missing or damaged.
    """
    if not path.exists():
        return None
    return _described(path)[0]


def load_into(module: torch.nn.Module, path: Path, identity: dict[str, Any]) -> dict[str, Any]:
    """Give the module the weights of a file.

    Parameters
    ----------
    module : torch.nn.Module
    path : Path
    identity : dict
        What the metadata must say.

    Returns
    -------
    dict
        The metadata.

    Raises
    ------
    UnusableWeights
        If the two files are damaged, do not belong together, are not of this `identity`, or do not fit the module.
    """
    metadata, digest = _described(path)
    for key, value in identity.items():
        if metadata.get(key) != value:
            raise UnusableWeights(
                f"{path} has {key} {metadata.get(key)!r}, where {value!r} is asked for: remove it and train again"
            )
    packed = path.read_bytes()
    if hashlib.sha256(packed).hexdigest() != digest:
        raise UnusableWeights(f"{path} does not match the digest in its .json file: remove both and train again")
    try:
        module.load_state_dict(load(packed))
    except (RuntimeError, SafetensorError) as error:
        raise UnusableWeights(f"the weights in {path} do not fit {identity['architecture']} ({error})") from error
    return metadata


def _described(path: Path) -> tuple[dict[str, Any], str]:
    try:
        described = json.loads(path.with_suffix(".json").read_bytes())
        return dict(described["metadata"]), str(described["weights_sha256"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UnusableWeights(
            f"{path.with_suffix('.json')} cannot be read ({error!r}): remove it and {path.name}, and train again"
        ) from error
