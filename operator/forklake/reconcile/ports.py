"""What reconciling needs of its surroundings: the store, and somewhere to keep credentials. Files here, Secrets in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from forklake.catalog import Login, Store


class Credentials(Protocol):
    """Keeps the credentials of catalogs where their tenants find them."""

    def role(self, namespace: str, name: str) -> str | None:
        """The login role whose password is kept, or None."""

    def save(self, namespace: str, name: str, login: Login) -> None:
        """Keeps credentials in the place of older ones, at once or not at all."""

    def remove(self, namespace: str, name: str) -> None:
        """Forgets credentials; none is fine."""

    def reference(self, namespace: str, name: str) -> str:
        """What the status calls the place: never a secret itself."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside of a resource that reconciling looks at or changes."""

    store: Store
    credentials: Credentials
    prefix: Callable[[str], str]
    store_name: str = "default"
    clock: Callable[[], datetime] = _now
    # catalogs that are about to be made, when several resources are planned together: their kinds
    coming: Mapping[tuple[str, str], str] = field(default_factory=dict)
