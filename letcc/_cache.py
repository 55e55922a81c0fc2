"""A bounded, thread-safe memory of what was built before."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Anything that knows its size in bytes."""

    nbytes: int


Entry = TypeVar("Entry", bound=Sized)


class BoundedCache(Generic[Entry]):
    """The most recently used entries, up to a number of bytes.

    Parameters
    ----------
    max_bytes : int
        An entry larger than this is handed out but not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Entry]) -> Entry:
        """What was built for a key, now or before.

        Parameters
        ----------
        key : hashable
        build : callable
            Makes the entry. Two threads that miss at once may both call it; what it raises is not kept.

        Returns
        -------
        object
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        entry = build()
        with self._lock:
            if key not in self._entries and entry.nbytes <= self._max_bytes:
                self._entries[key] = entry
                self._bytes += entry.nbytes
                while self._bytes > self._max_bytes:
                    _, oldest = self._entries.popitem(last=False)
                    self._bytes -= oldest.nbytes
        return entry
