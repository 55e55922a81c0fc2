"""Coded computing for general functions: schemes, and exact certificates of their worst error."""

from letcc import exceptions, metrics, nodes, smoothers, stragglers
from letcc.certificates import Certificate, certify
from letcc.scheme import CodedScheme

__all__ = [
    "Certificate",
    "CodedScheme",
    "certify",
    "exceptions",
    "metrics",
    "nodes",
    "smoothers",
    "stragglers",
]
