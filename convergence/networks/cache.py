"""Trained weights on disk: a safetensors file and, beside it, a JSON file that says what it is."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from safetensors.torch import load, save

from theory.store import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    import torch


def weights_path(folder: Path, identity: dict[str, Any]) -> Path:
    """Where the weights that `identity` determines are kept; the JSON file differs in its suffix."""
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return folder / f"{identity['architecture'].lower()}-{key[:16]}.safetensors"


def store_weights(path: Path, weights: dict[str, torch.Tensor], metadata: dict[str, Any]) -> None:
    """Write both files whole or not at all.

    The JSON file comes last and carries the digest of the weights, so that an interruption between the two
    leaves a pair that `load_weights` rejects.
    """
    packed = save(weights)
    described = {"metadata": metadata, "weights_sha256": hashlib.sha256(packed).hexdigest()}
    write_atomically(path, lambda partial: partial.write_bytes(packed))
    description = json.dumps(described, indent=2)
    write_atomically(path.with_suffix(".json"), lambda partial: partial.write_text(description))


def load_weights(path: Path, identity: dict[str, Any]) -> tuple[dict[str, torch.Tensor], dict[str, Any]] | None:
    """Read weights and metadata back; None if nothing was stored.

    Raises
    ------
    ValueError
        If the two files are damaged, do not belong together, or are not of this `identity`.
    """
    if not path.exists():
        return None
    packed = path.read_bytes()
    try:
        described = json.loads(path.with_suffix(".json").read_bytes())
        metadata, digest = described["metadata"], described["weights_sha256"]
        same = all(metadata[key] == value for key, value in identity.items())
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path.with_suffix('.json')} cannot be read ({error!r})") from error
    if not same:
        raise ValueError(f"{path.with_suffix('.json')} describes other weights")
    if hashlib.sha256(packed).hexdigest() != digest:
        raise ValueError(f"{path} does not match the digest in its .json file")
    return load(packed), metadata
