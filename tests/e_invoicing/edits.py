"""Edits of a sample, by the paths of its terms."""

from decimal import Decimal
from pathlib import Path

import cii

SAMPLES = Path(__file__).parent / "samples"
NOTE = cii.BG_1 + "[ram:SubjectCode='{}']/ram:Content"
SHARE = cii.BG_23 + "[{}]/"
LINE = cii.BG_25 + "[{}]/"


def sample(name: str):
    """The root of a sample."""
    return cii.parse((SAMPLES / f"{name}.xml").read_bytes())


def found(root, path: str) -> list:
    """The elements at a path; there must be one."""
    nodes = cii.nodes(root, path)
    if not nodes:
        raise LookupError(f"nothing at {path}")
    return nodes


def write(root, path: str, text: str):
    """Replaces the text of all elements at a path."""
    for node in found(root, path):
        node.text = text


def add_to(root, path: str, amount: str):
    write(root, path, str(Decimal(cii.text(root, path)) + Decimal(amount)))


def remove(root, path: str):
    for node in found(root, path):
        node.getparent().remove(node)
