"""Desired state and observed state -> actions. Knows neither kopf nor kubernetes nor Spark.

For each kind: `observe` reads, `plan` is pure, `apply` does one action and may be repeated. What is here strings them
together for one resource at a time; kube/ and local/ call it and keep what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass

from forklake.api import CatalogFork, CatalogResource, LakeCatalog
from forklake.catalog import Catalog
from forklake.errors import ForklakeError
from forklake.reconcile import catalog_forks, lake_catalogs
from forklake.reconcile._observe import ObservedCatalog, observe_life
from forklake.reconcile._plan import plan_deletion
from forklake.reconcile.actions import Action, apply
from forklake.reconcile.ports import Credentials, World
from forklake.reconcile.status import catalog_status, failed_status

__all__ = ["Action", "Credentials", "Outcome", "World", "apply", "delete", "plan", "reconcile", "refresh"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of reconciling a resource: it with its new status, what was done, and what went wrong."""

    resource: CatalogResource
    actions: tuple[Action, ...] = ()
    error: ForklakeError | None = None
    # the fork's ttl was over: the resource has to go as well
    expired: bool = False


def _observe(resource: CatalogResource, world: World) -> ObservedCatalog:
    return lake_catalogs.observe(resource, world) if isinstance(resource, LakeCatalog) else catalog_forks.observe(resource, world)


def _plan(resource: CatalogResource, observed: ObservedCatalog) -> tuple[Action, ...]:
    return lake_catalogs.plan(resource, observed) if isinstance(resource, LakeCatalog) else catalog_forks.plan(resource, observed)


def plan(resource: CatalogResource, world: World) -> tuple[Action, ...]:
    """What reconciling would do now."""
    return _plan(resource, _observe(resource, world))


def reconcile(resource: CatalogResource, world: World) -> Outcome:
    """Makes the store as the resource wants it. Never raises one of our errors: they are in the outcome and in the status."""
    actions: tuple[Action, ...] = ()
    try:
        observed = _observe(resource, world)
        actions = _plan(resource, observed)
        for action in actions:
            apply(action, world)
        if isinstance(resource, CatalogFork) and catalog_forks.is_over(resource, observed):
            return Outcome(resource, actions, expired=True)
        return Outcome(_with_status(resource, world.store.find(resource.namespace, resource.name), world), actions)
    except ForklakeError as error:
        return Outcome(_with_error(resource, world, error), actions, error)


def refresh(resource: CatalogResource, world: World) -> CatalogResource:
    """The resource with the status of now; changes nothing, and says so if something would have to change."""
    try:
        observed = _observe(resource, world)
        _plan(resource, observed)
        return _with_status(resource, observed.catalog, world) if observed.catalog else resource
    except ForklakeError as error:
        return _with_error(resource, world, error)


def delete(resource: CatalogResource, world: World) -> tuple[Action, ...]:
    """Does what the resource's deletionPolicy asks for; raises if it cannot be done, and then the resource stays."""
    # looked at once more: a process that was killed may have made the catalog and not lived to say so
    actions = plan_deletion(refresh(resource, world), observe_life(resource, world))
    for action in actions:
        apply(action, world)
    return actions


def _with_status(resource: CatalogResource, catalog: Catalog, world: World) -> CatalogResource:
    return resource.model_copy(update={"status": catalog_status(resource, catalog, world)})


def _with_error(resource: CatalogResource, world: World, error: ForklakeError) -> CatalogResource:
    return resource.model_copy(update={"status": failed_status(resource, error, world.clock())})
