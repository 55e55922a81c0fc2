"""What letcc raises and warns with: every message names the value, the cause and the way out."""

from collections.abc import Mapping
from typing import Any


class LetccError(Exception):
    """Base of every error that letcc raises on purpose."""


class InvalidInput(LetccError, ValueError):
    """An argument that cannot be used as it is."""


class DuplicateNodes(InvalidInput):
    """Two nodes coincide, so that no function can take both values there."""


class NonFiniteValues(InvalidInput):
    """NaN or infinity among the values to be combined."""


class TooFewReceived(LetccError, ValueError):
    """Fewer workers answered than the scheme needs.

    Attributes
    ----------
    outputs : dict of int to object
        From `letcc.coded_map`: the output of each worker that did answer.
    failed : dict of int to exception
        From `letcc.coded_map`: what each worker raised on which the function failed.
    """

    def __init__(
        self,
        message: str,
        outputs: Mapping[int, Any] | None = None,
        failed: Mapping[int, BaseException] | None = None,
    ) -> None:
        super().__init__(message)
        self.outputs = dict(outputs or {})
        self.failed = dict(failed or {})


class WorkerFailed(LetccError, RuntimeError):
    """The function raised on a worker: its exception is the cause of this one.

    Attributes
    ----------
    worker : int or None
        Which.
    """

    def __init__(self, message: str, worker: int | None = None) -> None:
        super().__init__(message)
        self.worker = worker


class PoolNotStarted(LetccError, RuntimeError):
    """The worker processes of a call ended before they could take a task."""


class NoPlan(LetccError):
    """No scheme meets the target."""


class Unresolved(LetccError):
    """A parameter is still a rule where its number is needed."""


class NotFitted(LetccError):
    """A scheme that adapts to the inputs has not seen them."""


class InfiniteCertificate(LetccError, ValueError):
    """The worst case over the asked ball is unbounded."""


class IllConditionedWarning(UserWarning):
    """The operator amplifies rounding so much that few digits of its result are right."""
