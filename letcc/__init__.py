"""Coded computing for general functions: schemes, and exact certificates of their worst error."""

from letcc import exceptions, metrics, nodes, smoothers, stragglers
from letcc.certificates import Certificate, certify
from letcc.certify_many import Certificates, certify_many
from letcc.scheme import CodedScheme

__all__ = [
    "Certificate",
    "Certificates",
    "CodedScheme",
    "certify",
    "certify_many",
    "exceptions",
    "metrics",
    "nodes",
    "smoothers",
    "stragglers",
]
