"""Reading resources: YAML documents in files, in folders or on the standard input, each checked as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from forklake.api._kinds import AnyResource
from forklake.api._parse import parse_resource
from forklake.errors import InvalidResource

_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Document:
    """A resource, and where it was written."""

    resource: AnyResource
    source: str


def read_documents(sources: Sequence[str]) -> list[Document]:
    """All resources in files, folders (not those inside them) and, for '-', the standard input. One bad document spoils all."""
    found = [document for source in sources for document in _read(source)]
    if not found:
        raise InvalidResource(
            f"nothing to read in {', '.join(map(repr, sources))}", hint="give files with YAML documents, or a folder of .yaml files"
        )
    return found


def _read(source: str) -> Iterator[Document]:
    if source == "-":
        yield from parse_documents(sys.stdin.read(), "standard input")
        return
    path = Path(source)
    files = sorted(p for p in path.iterdir() if p.suffix in _ENDINGS and p.is_file()) if path.is_dir() else [path]
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise InvalidResource(f"cannot read {str(file)!r}: {reason}", hint="check the path given with -f") from None
        yield from parse_documents(text, str(file))


def parse_documents(text: str, source: str) -> Iterator[Document]:
    """The resources in a text of several YAML documents."""
    try:
        documents: list[Any] = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        place = f" in line {where.line + 1}" if where else ""
        raise InvalidResource(
            f"{source}{place}: not YAML: {getattr(error, 'problem', None) or 'unreadable'}", hint="check the indentation and quotes there"
        ) from None
    for number, document in enumerate(documents, start=1):
        if document is not None:
            place = f"{source}, document {number}" if len(documents) > 1 else source
            yield Document(parse_resource(document, place), place)
