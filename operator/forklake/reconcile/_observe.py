"""Reading the store: what both kinds of catalogs look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from forklake.api import CatalogResource
from forklake.catalog import Catalog, Store
from forklake.errors import CatalogNotFound
from forklake.reconcile.ports import World


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCatalog:
    """What there is of a catalog or fork that a resource asks for."""

    now: datetime
    # where it is to lie, and what it may read besides, in the store's spelling
    data_path: str
    external_paths: Sequence[str] = ()
    catalog: Catalog | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    kept_role: str | None = None
    roles: frozenset[str] = frozenset()
    # of forks
    parent: Catalog | None = None
    parent_is_coming: bool = False


def find(store: Store, tenant: str, name: str) -> Catalog | None:
    """A live catalog, or None."""
    try:
        return store.find(tenant, name)
    except CatalogNotFound:
        return None


def observe_catalog(resource: CatalogResource, world: World, data_path: str, **more: Any) -> ObservedCatalog:
    """Reads everything that the plan of a catalog or fork depends on."""
    catalog = find(world.store, resource.namespace, resource.name)
    return ObservedCatalog(
        now=world.clock(),
        data_path=_spell(world.store, [data_path])[0],
        catalog=catalog,
        options=world.store.options(catalog.catalog_id) if catalog else {},
        kept_role=world.credentials.role(resource.namespace, resource.name),
        roles=_live_roles(world.store, catalog) if catalog else frozenset(),
        **more,
    )


def observe_life(resource: CatalogResource, world: World) -> ObservedCatalog:
    """Reads only whether the catalog is there: for a deletion, which a resource that makes no sense must not stop."""
    return ObservedCatalog(
        now=world.clock(),
        data_path="",
        catalog=find(world.store, resource.namespace, resource.name),
        kept_role=world.credentials.role(resource.namespace, resource.name),
    )


def spell_folders(store: Store, folders: Sequence[str]) -> list[str]:
    """Folders as the store spells them: sorted, each once."""
    return sorted(set(_spell(store, folders)))


def _spell(store: Store, folders: Sequence[str]) -> list[str]:
    query = "select lake.normalize_folder(f.path) from unnest(%s::text[]) with ordinality f (path, place) order by f.place"
    with store.transaction():
        return [row[0] for row in store.connection.execute(query, [list(folders)]).fetchall()]


def _live_roles(store: Store, catalog: Catalog) -> frozenset[str]:
    query = "select l.role_name from lake.login l where l.catalog_id = %s and l.is_default and l.retires is null"
    with store.transaction():
        return frozenset(row[0] for row in store.connection.execute(query, [catalog.catalog_id]).fetchall())
