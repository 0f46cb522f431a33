"""What reconciling can do, one thing at a time. Each action may be repeated: doing it twice is doing it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import singledispatch
from typing import Any

from forklake.catalog import ForkPoint, ForkRequest
from forklake.catalog._models import Mode
from forklake.errors import CatalogNotFound
from forklake.reconcile.ports import World

NOW = ForkPoint()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something to do to the catalog of a tenant. `str` says it to people."""

    tenant: str
    name: str

    @property
    def label(self) -> str:
        return f"{self.tenant}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalog(Action):
    """A new, empty catalog."""

    data_path: str
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        return f"create catalog {self.label} in {self.data_path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureCatalog(Action):
    """Other settings: those that differ."""

    settings: Mapping[str, Any]

    def __str__(self) -> str:
        return f"configure catalog {self.label}: {', '.join(f'{name} = {value}' for name, value in self.settings.items())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOptions(Action):
    """DuckLake's options: those that differ."""

    options: Mapping[str, str]

    def __str__(self) -> str:
        return f"set options of {self.label}: {', '.join(f'{name} = {value}' for name, value in self.options.items())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFork(Action):
    """A fork with its credentials."""

    parent_tenant: str
    parent_name: str
    data_path: str
    mode: Mode = "Reference"
    at: ForkPoint = NOW

    def __str__(self) -> str:
        moment = "" if self.at == NOW else f" at {f'snapshot {self.at.snapshot}' if self.at.snapshot is not None else self.at.timestamp}"
        return f"fork {self.parent_tenant}/{self.parent_name}{moment} as {self.label} in {self.data_path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateCredentials(Action):
    """New credentials; older ones work for a while longer, so that no open work breaks."""

    grace: timedelta = timedelta(0)

    def __str__(self) -> str:
        return f"make new credentials for {self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalog(Action):
    """The end of a catalog, until it is undeleted or cleaned up."""

    reason: str = "its resource is deleted"

    def __str__(self) -> str:
        return f"drop catalog {self.label}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCredentials(Action):
    """Credentials that nobody needs any more."""

    def __str__(self) -> str:
        return f"remove the credentials of {self.label}"


@singledispatch
def apply(action: Action, world: World) -> None:  # noqa: ARG001
    """Does one action."""
    raise TypeError(f"no such action: {action!r}")


@apply.register
def _create_catalog(action: CreateCatalog, world: World) -> None:
    if not _is_there(action, world):
        world.store.create_catalog(action.tenant, action.name, action.data_path, action.settings)


@apply.register
def _configure_catalog(action: ConfigureCatalog, world: World) -> None:
    world.store.configure(_catalog_id(action, world), action.settings)


@apply.register
def _set_options(action: SetOptions, world: World) -> None:
    world.store.set_options(_catalog_id(action, world), action.options)


@apply.register
def _create_fork(action: CreateFork, world: World) -> None:
    if _is_there(action, world):
        return
    parent = world.store.find(action.parent_tenant, action.parent_name)
    request = ForkRequest(
        parent_id=parent.catalog_id, tenant=action.tenant, name=action.name, data_path=action.data_path, mode=action.mode, at=action.at
    )
    _, login = world.store.fork_with_login(request)
    world.credentials.save(action.tenant, action.name, login)


@apply.register
def _rotate_credentials(action: RotateCredentials, world: World) -> None:
    login = world.store.rotate_login(_catalog_id(action, world), retire_after=action.grace)
    # saved before the old ones go: at every moment what is kept works
    world.credentials.save(action.tenant, action.name, login)
    world.store.drop_retired_logins()


@apply.register
def _drop_catalog(action: DropCatalog, world: World) -> None:
    if _is_there(action, world):
        world.store.drop(_catalog_id(action, world))


@apply.register
def _forget_credentials(action: ForgetCredentials, world: World) -> None:
    world.credentials.remove(action.tenant, action.name)


def _catalog_id(action: Action, world: World) -> int:
    return world.store.find(action.tenant, action.name).catalog_id


def _is_there(action: Action, world: World) -> bool:
    try:
        world.store.find(action.tenant, action.name)
    except CatalogNotFound:
        return False
    return True
