"""What letcc raises and warns with: every message names the value, the cause and the way out."""


class LetccError(Exception):
    """Base of every error that letcc raises on purpose."""


class InvalidInput(LetccError, ValueError):
    """An argument that cannot be used as it is."""


class DuplicateNodes(InvalidInput):
    """Two nodes coincide, so that no function can take both values there."""


class NonFiniteValues(InvalidInput):
    """NaN or infinity among the values to be combined."""


class TooFewReceived(LetccError, ValueError):
    """Fewer workers answered than the scheme needs."""


class Unresolved(LetccError):
    """A parameter is still a rule where its number is needed."""


class NotFitted(LetccError):
    """A scheme that adapts to the inputs has not seen them."""


class InfiniteCertificate(LetccError, ValueError):
    """The worst case over the asked ball is unbounded."""


class IllConditionedWarning(UserWarning):
    """The operator amplifies rounding so much that few digits of its result are right."""
