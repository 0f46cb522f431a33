"""Credentials of catalogs in files that only their owner can read: what Secrets are in a cluster."""

from __future__ import annotations

from pathlib import Path

from forklake.catalog import Login
from forklake.errors import ForklakeError
from forklake.local._files import private_folder, remove
from forklake.local._passwords import Password, load_password, save_password


class CredentialFiles:
    """One file for each catalog, in the form that libpq reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, namespace: str, name: str) -> Path:
        return self._folder / namespace / f"{name}.pgpass"

    def password(self, namespace: str, name: str) -> Password:
        """What to connect to a catalog with."""
        found = load_password(self._file(namespace, name))
        if found is None:
            raise ForklakeError(
                f"there are no credentials for {f'{namespace}/{name}'!r}", hint=f"run: forklake credentials rotate {name} -n {namespace}"
            )
        return found

    def role(self, namespace: str, name: str) -> str | None:
        found = load_password(self._file(namespace, name))
        return found.user if found else None

    def save(self, namespace: str, name: str, login: Login) -> None:
        private_folder(self._folder)
        save_password(self._file(namespace, name), login.role, login.password)

    def remove(self, namespace: str, name: str) -> None:
        remove(self._file(namespace, name))

    def reference(self, namespace: str, name: str) -> str:
        return f"credentials/{namespace}/{name}.pgpass"
