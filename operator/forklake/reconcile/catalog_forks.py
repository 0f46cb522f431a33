"""CatalogFork: observe, plan. (Actions are applied by `actions.apply`.)"""

from __future__ import annotations

from datetime import datetime

from forklake.api import CatalogFork, format_duration
from forklake.catalog import Catalog, ForkPoint
from forklake.errors import CatalogExists, CatalogNotFound, ImmutableField, InvalidResource, NotAllowed
from forklake.reconcile._observe import ObservedCatalog, find, observe_catalog
from forklake.reconcile._plan import check_identity, plan_credentials
from forklake.reconcile.actions import NOW, Action, CreateFork, DropCatalog, ForgetCredentials
from forklake.reconcile.ports import World


def observe(resource: CatalogFork, world: World) -> ObservedCatalog:
    """Reads what there is of the fork and of its parent."""
    identity = (resource.metadata.uid or "new")[:8]
    data_path = resource.spec.data_path or f"{world.prefix(resource.namespace)}forks/{resource.name}-{identity}/"
    key = resource.parent_key()
    return observe_catalog(
        resource, world, data_path, parent=find(world.store, *key), parent_is_coming=world.coming.get(key) == resource.spec.parent.kind
    )


def plan(resource: CatalogFork, observed: ObservedCatalog) -> tuple[Action, ...]:
    """What to do so that the fork is as the resource wants it; nothing if it is."""
    if is_over(resource, observed):
        return plan_end(resource, observed)
    check_identity(resource, observed)
    if observed.catalog is None:
        return (_plan_new(resource, observed),)
    if observed.catalog.parent_id is None:
        raise CatalogExists(
            f"the name {resource.name!r} is taken by a LakeCatalog",
            hint="LakeCatalogs and CatalogForks of a namespace share their names: choose another",
        )
    if observed.parent is not None and observed.parent.catalog_id != observed.catalog.parent_id:
        raise ImmutableField(f"spec.parent of {resource.key} cannot be changed", hint="it was forked from another catalog: put that back")
    return tuple(plan_credentials(resource, observed))


def expires(resource: CatalogFork, catalog: Catalog | None) -> datetime | None:
    """When the fork's life ends, if it ends."""
    return catalog.created + resource.spec.ttl if catalog is not None and resource.spec.ttl is not None else None


def is_over(resource: CatalogFork, observed: ObservedCatalog) -> bool:
    """Whether the fork has lived for its ttl."""
    end = expires(resource, observed.catalog)
    mine = observed.catalog is not None and observed.catalog.parent_id is not None
    return mine and end is not None and end <= observed.now


def plan_end(resource: CatalogFork, observed: ObservedCatalog) -> tuple[Action, ...]:
    """An expired fork goes, whatever its deletionPolicy: that is what a ttl asks for."""
    assert resource.spec.ttl is not None
    drop = DropCatalog(tenant=resource.namespace, name=resource.name, reason=f"its ttl of {format_duration(resource.spec.ttl)} is over")
    return (drop, ForgetCredentials(tenant=resource.namespace, name=resource.name)) if observed.kept_role else (drop,)


def _plan_new(resource: CatalogFork, observed: ObservedCatalog) -> CreateFork:
    tenant, name = resource.parent_key()
    if not observed.parent_is_coming:
        _check_parent(resource, observed.parent)
    at = resource.spec.at
    return CreateFork(
        tenant=resource.namespace,
        name=resource.name,
        parent_tenant=tenant,
        parent_name=name,
        data_path=observed.data_path,
        mode=resource.spec.mode,
        at=ForkPoint(at.snapshot, at.timestamp) if at else NOW,
    )


def _check_parent(resource: CatalogFork, parent: Catalog | None) -> None:
    wanted = resource.spec.parent
    label = "/".join(resource.parent_key())
    # one answer for "there is none" and "not for you": the names of others are not to be found out here
    if parent is None or not _may_fork(parent, resource.namespace):
        if resource.parent_key()[0] != resource.namespace:
            raise NotAllowed(
                f"namespace {resource.namespace!r} may not fork {label!r}, or it does not exist",
                hint="ask its owner to allow it in spec.forks.namespaces",
            )
        raise CatalogNotFound(f"the parent {label!r} of {resource.key} does not exist", hint="make it first, or correct spec.parent")
    kind = "LakeCatalog" if parent.parent_id is None else "CatalogFork"
    if kind != wanted.kind:
        raise InvalidResource(f"the parent {label!r} of {resource.key} is a {kind}", hint=f"write kind: {kind} in spec.parent")


def _may_fork(parent: Catalog, tenant: str) -> bool:
    return parent.tenant == tenant or tenant in parent.fork_tenants or "*" in parent.fork_tenants
