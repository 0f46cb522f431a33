"""The home: the one folder in which the embedded forklake keeps everything."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from forklake.errors import ForklakeError

VARIABLE = "FORKLAKE_HOME"


@dataclass(frozen=True, slots=True)
class Home:
    """Where what lies. Nothing is made before somebody needs it."""

    folder: Path

    @classmethod
    def find(cls, folder: str | os.PathLike[str] | None = None) -> Home:
        """The folder that was asked for, else the environment's, else the user's data folder."""
        chosen = folder or os.environ.get(VARIABLE) or platformdirs.user_data_path("forklake")
        return cls(Path(chosen).expanduser().resolve())

    @property
    def postgres(self) -> Path:
        """Postgres' data folder."""
        return self.folder / "postgres"

    @property
    def secrets(self) -> Path:
        """Passwords of the store's owner and of Postgres' superuser."""
        return self.folder / "secrets"

    @property
    def credentials(self) -> Path:
        """Passwords of catalogs."""
        return self.folder / "credentials"

    @property
    def resources(self) -> Path:
        """What was applied, with its status."""
        return self.folder / "resources"

    @property
    def deleted(self) -> Path:
        """What was deleted, until it is undeleted or forgotten."""
        return self.folder / "deleted"

    @property
    def lake(self) -> Path:
        """The data of all catalogs that ask for no other place."""
        return self.folder / "lake"

    def prefix(self, namespace: str) -> str:
        """Where the catalogs of a namespace lie."""
        return f"{self.lake / namespace}/"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time changes what is in the home; the lock goes with the process, however it ends."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / ".lock").open("a")
        except OSError as error:
            raise ForklakeError(
                f"cannot use {str(self.folder)!r} as home: {error.strerror}", hint=f"choose another with --home or {VARIABLE}"
            ) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
