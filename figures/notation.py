"""The formulas of claims, which are plain text, as HTML."""

import re

from markupsafe import Markup, escape

_SYMBOLS = {
    r"\blambda(?![a-z])": "λ",
    r"\bsigma\b": "σ",
    r"\bpi\b": "π",
    r"\bint\b": "∫",
    r"(?<=[)=] )sum(?= \()": "Σ",  # between brackets, where the English word does not stand
    r"\bsqrt\(": "√(",
    r"\bo\b": "∘",
    r"''": "″",
    r"(?<=\b[a-z])'": "′",
    r"<=": "≤",
    r">=": "≥",
    r"->": "→",
    r" \* ": " × ",
    r"(?<![\w)])-(?=\d)|(?<=\b[A-Za-z])-(?=\d)|(?<= )-(?= )": "−",
}
_MARKUP = {
    r"(?<=\d)e(?:(-)|\+)?0*(\d+)\b": r" × 10^(\1\2)",
    r"_(?:\{([^{}]*)\}|([A-Za-z]+))": r"<sub>\1\2</sub>",
    r"\^(?:\(((?:[^()]|\([^()]*\))*)\)|([-−]?\w+(?:\.\d+)?))": r"<sup>\1\2</sup>",
    r"(?<=<sup>)-": "−",
    r"\barXiv (\d{4}\.\d{5})( v\d)?": r'<a href="https://arxiv.org/abs/\1">arXiv:\1\2</a>',
}


def notation(text: object) -> Markup:
    """A text with symbols, indices, exponents and links for its plain formulas and citations.

    Parameters
    ----------
    text : object

    Returns
    -------
    markupsafe.Markup
        What was markup in the text is escaped.
    """
    shown = str(text)
    for pattern, symbol in _SYMBOLS.items():
        shown = re.sub(pattern, symbol, shown)
    shown = str(escape(shown))
    for pattern, markup in _MARKUP.items():
        shown = re.sub(pattern, markup, shown)
    return Markup(shown)
