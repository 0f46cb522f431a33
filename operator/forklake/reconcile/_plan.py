"""What the plans of both kinds of catalogs share. Pure: nothing here reads or writes anything."""

from __future__ import annotations

from collections.abc import Iterator

from forklake.api import CatalogResource
from forklake.errors import CatalogDropped, CatalogExists, ImmutableField
from forklake.reconcile._observe import ObservedCatalog
from forklake.reconcile.actions import Action, DropCatalog, ForgetCredentials, RotateCredentials


def check_identity(resource: CatalogResource, observed: ObservedCatalog) -> None:
    """Refuses to take another catalog for this one, and to make an empty one where one with data was."""
    known = resource.status.uuid if resource.status else None
    if observed.catalog is None:
        if known is not None:
            raise CatalogDropped(
                f"the catalog of {resource.key} was dropped behind its back",
                hint=f"run: forklake undelete {resource.name}, or delete the resource to make a new one",
            )
        return
    if known is not None and known != str(observed.catalog.uuid):
        raise CatalogExists(
            f"another catalog has taken the name of {resource.key}", hint="delete the resource, then apply it again to adopt that one"
        )
    if resource.spec.data_path is not None and observed.catalog.data_path != observed.data_path:
        raise ImmutableField(f"spec.dataPath of {resource.key} cannot be changed", hint=f"it is {observed.catalog.data_path!r}: put that back")


def plan_credentials(resource: CatalogResource, observed: ObservedCatalog) -> Iterator[Action]:
    """New credentials unless those that are kept work."""
    if observed.kept_role is None or observed.kept_role not in observed.roles:
        yield RotateCredentials(tenant=resource.namespace, name=resource.name)


def plan_deletion(resource: CatalogResource, observed: ObservedCatalog) -> tuple[Action, ...]:
    """What to do before a resource goes: its policy decides whether the catalog goes too. Never touches a catalog that is not its own."""
    mine = observed.catalog is not None and resource.status is not None and resource.status.uuid == str(observed.catalog.uuid)
    actions: list[Action] = []
    if mine and resource.spec.deletion_policy == "Delete":
        actions.append(DropCatalog(tenant=resource.namespace, name=resource.name))
    if observed.kept_role is not None and (mine or observed.catalog is None):
        actions.append(ForgetCredentials(tenant=resource.namespace, name=resource.name))
    return tuple(actions)
