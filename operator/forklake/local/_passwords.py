"""Passwords in files that libpq reads by itself, so that none is ever part of a connection string."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from forklake.errors import ForklakeError
from forklake.local._files import PRIVATE, private_folder, write_whole


@dataclass(frozen=True, slots=True)
class Password:
    """Who connects, and with what; the file is libpq's passfile."""

    user: str
    password: str = field(repr=False)
    file: Path


def save_password(file: Path, user: str, password: str) -> None:
    """Keeps a password in a file of its own that only its owner can read."""
    private_folder(file.parent)
    write_whole(file, f"*:*:*:{user}:{password}\n", PRIVATE)


def load_password(file: Path) -> Password | None:
    """The password in a file, or None."""
    try:
        fields = file.read_text().strip().split(":")
    except FileNotFoundError:
        return None
    if len(fields) != 5:
        raise ForklakeError(f"{str(file)!r} is not a password file", hint="remove it and run: forklake credentials rotate NAME")
    return Password(fields[3], fields[4], file)
