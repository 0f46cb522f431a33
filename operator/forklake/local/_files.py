"""Files that are whole or not there: written beside their place, synced, renamed."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = 0o600


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replaces a file at once: a reader, or a crash, finds the old text or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        # the umask may have taken bits away, never for a secret added any
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Removes a file for good; one that is not there is removed already."""
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_folder(folder: Path) -> Path:
    """A folder that only its owner may look into."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder
