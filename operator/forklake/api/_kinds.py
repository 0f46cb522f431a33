"""The three kinds, and what people call them."""

from __future__ import annotations

from forklake.api._catalogs import CatalogFork, LakeCatalog
from forklake.api._maintenance import MaintenancePolicy
from forklake.api._nearest import suggest
from forklake.errors import InvalidResource

AnyResource = LakeCatalog | CatalogFork | MaintenancePolicy
CatalogResource = LakeCatalog | CatalogFork

# in the order in which they are applied; deleted in the opposite one
KINDS: tuple[type[LakeCatalog], type[CatalogFork], type[MaintenancePolicy]] = (LakeCatalog, CatalogFork, MaintenancePolicy)


def kind_called(name: str) -> type[AnyResource]:
    """LakeCatalog, lakecatalog, lakecatalogs or lc."""
    spellings = {spelling: kind for kind in KINDS for spelling in (kind.kind_name.lower(), kind.plural, kind.short)}
    found = spellings.get(name.lower().removesuffix(".forklake.dev"))
    if found is None:
        raise InvalidResource(f"there is no kind {name!r}", hint=suggest(name, [k.kind_name for k in KINDS]))
    return found
