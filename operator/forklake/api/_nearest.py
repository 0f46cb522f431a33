"""What somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that looks most like this one, whatever its case and dashes."""
    spellings = {_plain(candidate): candidate for candidate in known}
    found = difflib.get_close_matches(_plain(word), spellings, n=1, cutoff=0.5)
    return spellings[found[0]] if found else None


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest right word, or all of them."""
    known = list(known)
    found = nearest(word, known)
    return f"did you mean {found!r}?" if found else f"use one of: {', '.join(known)}" if known else "remove it"


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
