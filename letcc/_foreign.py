"""Anyone's scheme, seen through its `decode` alone: its decoding matrices, and whether it has any."""

import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray, IndexArray, as_points, sorting_order

_LINEAR = 1e-8  # of the outputs as the matrix amplifies them: by how much combinations may be off
_SINGLE = 1e-4  # and by how much they may be for rounding to single precision to be the likely cause
_LOUD = -1000.0  # far from the identity's entries, so that what saturates or clips shows


class AnyScheme(Protocol):
    """What a scheme needs for its rates to be certified."""

    @property
    def data_points(self) -> Any:
        """Where in [-1, 1] the K inputs lie, shape (K,)."""

    @property
    def worker_points(self) -> Any:
        """Where in [-1, 1] the N coded inputs lie, distinct, shape (N,)."""

    def decode(self, outputs: Any, received: Any) -> Any:
        """From outputs of shape (n, m) of n received workers, given by ascending indices, to estimates (K, m)."""


@dataclass(frozen=True, eq=False)
class ForeignScheme:
    """A scheme of a class of its own as the certificate sees it."""

    scheme: AnyScheme
    data_points: FloatArray
    worker_points: FloatArray

    @classmethod
    def of(cls, scheme: AnyScheme) -> "ForeignScheme":
        """Check that the scheme has what is needed."""
        missing = [name for name in ("data_points", "worker_points", "decode") if not hasattr(scheme, name)]
        if missing:
            raise InvalidInput(
                f"{scheme!r} has no {' and no '.join(missing)}: a scheme has data_points (K,), worker_points (N,) and "
                "decode(outputs, received)"
            )
        points = []
        for name in ("data_points", "worker_points"):
            array = as_points(getattr(scheme, name), name)
            if (np.abs(array) > 1).any():
                raise InvalidInput(f"{name} of {scheme!r} must lie in [-1, 1]: rescale them")
            points.append(array)
        sorting_order(points[1], "worker_points")  # refuses repeated ones
        return cls(scheme, *points)

    def decoding_matrices(self, sets: IndexArray) -> FloatArray:
        """The matrices (B, K, n) of received sets (B, n) of ascending indices."""
        return np.stack([self._matrix(received) for received in sets])

    def check_linear(self, received: IndexArray) -> None:
        """Refuse a decoder whose results are not those of its matrix."""
        matrix = self._matrix(received)
        outputs = np.random.default_rng(0).standard_normal((received.size, 3))
        decoded = self._decode(outputs, received)
        tolerance = _LINEAR * (np.abs(matrix) @ np.abs(outputs) + np.abs(decoded))
        for what, off in (
            ("zeros are not decoded to zeros", self._decode(np.zeros_like(outputs), received)),
            ("combinations of outputs are not decoded to the same combinations", decoded - matrix @ outputs),
            (
                f"{_LOUD:g} times the outputs are not decoded to {_LOUD:g} times as much",
                self._decode(_LOUD * outputs, received) / _LOUD - decoded,
            ),
        ):
            if not (np.abs(off) <= tolerance).all():
                single = np.abs(off).max() <= _SINGLE * np.abs(decoded).max()
                raise InvalidInput(
                    f"{self} is not linear: {what} (off by up to {np.abs(off).max():.1e}; {self._case(received)}). "
                    + ("Let it compute in double precision" if single else "Only linear schemes have a certificate")
                )

    def _matrix(self, received: IndexArray) -> FloatArray:
        matrix = self._decode(np.eye(received.size), received)
        if not np.isfinite(matrix).all():
            raise InvalidInput(f"{self} has a decoding matrix that is not finite at {self._case(received)}")
        return matrix

    def _decode(self, outputs: FloatArray, received: IndexArray) -> FloatArray:
        # a decoder may work in place
        decoded = self.scheme.decode(outputs.copy(), received.copy())
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(decoded, torch.Tensor):
            decoded = decoded.detach().cpu()
        try:
            found = np.asarray(decoded)
            array = found if np.iscomplexobj(found) else found.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{self} decodes to what is not an array of real numbers: {error}") from error
        if np.iscomplexobj(array):
            raise InvalidInput(f"{self} decodes real outputs to complex ones: let its decode return the real part")
        expected = self.data_points.size, outputs.shape[1]
        if array.shape != expected:
            raise InvalidInput(
                f"{self} decodes outputs of shape {outputs.shape} to the shape {array.shape}, but "
                f"{expected[0]} data points need {expected} ({self._case(received)})"
            )
        return array

    def __str__(self) -> str:
        """The scheme as it shows itself, or its class: the address of an object tells nobody anything."""
        kind = type(self.scheme)
        return repr(self.scheme) if kind.__repr__ is not object.__repr__ else f"{kind.__module__}.{kind.__qualname__}"

    def _case(self, received: IndexArray) -> str:
        workers = self.worker_points.size
        lost = np.setdiff1d(np.arange(workers), received)
        which = f"all workers but {lost.tolist()}" if lost.size else "all workers"
        return f"N = {workers}, S = {lost.size}, received: {which}"
