"""LakeCatalog: observe, plan. (Actions are applied by `actions.apply`.)"""

from __future__ import annotations

from typing import Any

from forklake.api import LakeCatalog, stored_options
from forklake.errors import CatalogExists, InvalidResource
from forklake.reconcile._observe import ObservedCatalog, observe_catalog, spell_folders
from forklake.reconcile._plan import check_identity, plan_credentials
from forklake.reconcile.actions import Action, ConfigureCatalog, CreateCatalog, RotateCredentials, SetOptions
from forklake.reconcile.ports import World

_TENANTS: dict[str, list[str]] = {"Same": [], "All": ["*"]}


def observe(resource: LakeCatalog, world: World) -> ObservedCatalog:
    """Reads what there is of the catalog."""
    if resource.spec.store != world.store_name:
        raise InvalidResource(f"there is no store {resource.spec.store!r} here", hint=f"write store: {world.store_name} in spec, or leave it out")
    data_path = resource.spec.data_path or f"{world.prefix(resource.namespace)}{resource.name}/"
    return observe_catalog(resource, world, data_path, external_paths=spell_folders(world.store, resource.spec.external_paths))


def plan(resource: LakeCatalog, observed: ObservedCatalog) -> tuple[Action, ...]:
    """What to do so that the catalog is as the resource wants it; nothing if it is."""
    check_identity(resource, observed)
    if observed.catalog is not None and observed.catalog.parent_id is not None:
        raise CatalogExists(
            f"the name {resource.name!r} is taken by a fork", hint="LakeCatalogs and CatalogForks of a namespace share their names: choose another"
        )
    return _plan_new(resource, observed) if observed.catalog is None else _plan_existing(resource, observed)


def _plan_new(resource: LakeCatalog, observed: ObservedCatalog) -> tuple[Action, ...]:
    settings = wanted_settings(resource, observed)
    actions: list[Action] = [CreateCatalog(tenant=resource.namespace, name=resource.name, data_path=observed.data_path, settings=settings)]
    if resource.spec.options:
        actions.append(SetOptions(tenant=resource.namespace, name=resource.name, options=stored_options(resource.spec.options)))
    return (*actions, RotateCredentials(tenant=resource.namespace, name=resource.name))


def _plan_existing(resource: LakeCatalog, observed: ObservedCatalog) -> tuple[Action, ...]:
    assert observed.catalog is not None
    has = {
        "external_paths": list(observed.catalog.external_paths),
        "history_retention": f"{int(observed.catalog.history_retention.total_seconds())} seconds",
        "fork_tenants": list(observed.catalog.fork_tenants),
        "max_depth": observed.catalog.max_depth,
        "max_forks": observed.catalog.max_forks,
        "protected": observed.catalog.protected,
    }
    settings = {name: value for name, value in wanted_settings(resource, observed).items() if has[name] != value}
    options = {name: value for name, value in stored_options(resource.spec.options).items() if observed.options.get(name) != value}
    actions: list[Action] = []
    if settings:
        actions.append(ConfigureCatalog(tenant=resource.namespace, name=resource.name, settings=settings))
    if options:
        actions.append(SetOptions(tenant=resource.namespace, name=resource.name, options=options))
    return (*actions, *plan_credentials(resource, observed))


def wanted_settings(resource: LakeCatalog, observed: ObservedCatalog) -> dict[str, Any]:
    """The spec in the words of lake.configure_catalog."""
    rules = resource.spec.forks
    return {
        "external_paths": list(observed.external_paths),
        "history_retention": f"{int(resource.spec.history_retention.total_seconds())} seconds",
        "fork_tenants": _TENANTS[rules.namespaces] if isinstance(rules.namespaces, str) else list(rules.namespaces),
        "max_depth": rules.max_depth,
        "max_forks": rules.max_forks,
        "protected": rules.protected,
    }
