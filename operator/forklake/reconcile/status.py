"""Status: the one place that writes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from forklake.api import (
    AnyResource,
    CatalogFork,
    CatalogForkStatus,
    CatalogResource,
    CatalogStatus,
    Condition,
    ForkPointStatus,
    MaintenancePolicy,
    MaintenancePolicyStatus,
)
from forklake.catalog import Catalog, Store
from forklake.errors import CatalogNotFound, CommitCollision, ForklakeError, StoreFull, StoreNotInstalled, StoreUnavailable
from forklake.reconcile.catalog_forks import expires
from forklake.reconcile.ports import World

# what may be right later without anybody changing the resource
_PASSING = (StoreUnavailable, StoreFull, StoreNotInstalled, CommitCollision, CatalogNotFound)


def catalog_status(resource: CatalogResource, catalog: Catalog, world: World) -> CatalogStatus:
    """The status of a catalog or fork that is as it should be."""
    model = CatalogForkStatus if isinstance(resource, CatalogFork) else CatalogStatus
    return model(**(_facts(resource, catalog, world) | _verdict(resource, None, world.clock())))


def failed_status(resource: CatalogResource, error: ForklakeError, now: datetime) -> CatalogStatus:
    """The status of a catalog or fork with which something is wrong: what was known of it, and the error."""
    model = CatalogForkStatus if isinstance(resource, CatalogFork) else CatalogStatus
    return model(**(_last_known(resource) | _verdict(resource, error, now)))


def policy_status(policy: MaintenancePolicy, chosen: Sequence[CatalogResource], message: str, now: datetime) -> MaintenancePolicyStatus:
    """The status of a policy; `message` says who runs it."""
    conditions = _conditions(policy, [("Ready", "True", "Accepted", message)], now)
    return MaintenancePolicyStatus(conditions=conditions, observed_generation=policy.generation, selected=len(chosen))


def _verdict(resource: CatalogResource, error: ForklakeError | None, now: datetime) -> dict[str, Any]:
    return {"conditions": _conditions(resource, _said(error), now), "observed_generation": resource.generation}


def _said(error: ForklakeError | None) -> list[tuple[str, str, str, str]]:
    if error is None:
        return [("Ready", "True", "Available", "the catalog can be attached")]
    reason, message = type(error).__name__, str(error)
    going_on = "Reconciling" if isinstance(error, _PASSING) else "Stalled"
    return [("Ready", "False", reason, message), (going_on, "True", reason, message)]


def _conditions(resource: AnyResource, said: Sequence[tuple[str, str, str, str]], now: datetime) -> list[Condition]:
    conditions = []
    for kind, status, reason, message in said:
        before = resource.condition(kind)
        since = before.last_transition_time if before and before.status == status else now
        conditions.append(
            Condition.model_validate(
                {
                    "type": kind,
                    "status": status,
                    "reason": reason,
                    "message": message,
                    "last_transition_time": since,
                    "observed_generation": resource.generation,
                }
            )
        )
    return conditions


def _last_known(resource: CatalogResource) -> dict[str, Any]:
    status = resource.status
    return {name: getattr(status, name) for name in status.model_fields_set} if status else {}


def _facts(resource: CatalogResource, catalog: Catalog, world: World) -> dict[str, Any]:
    usage = world.store.usage(catalog.catalog_id)
    snapshot, schema_version, forks = _numbers(world.store, catalog.catalog_id)
    facts: dict[str, Any] = {
        "catalog_id": catalog.catalog_id,
        "uuid": str(catalog.uuid),
        "data_path": catalog.data_path,
        "snapshot": snapshot,
        "schema_version": schema_version,
        "tables": usage.tables,
        "files": usage.own_files + usage.inherited_files,
        "bytes": usage.own_bytes + usage.inherited_bytes,
        "forks": forks,
        "secret_name": world.credentials.reference(resource.namespace, resource.name),
    }
    if not isinstance(resource, CatalogFork):
        return facts
    parent = world.store.get(catalog.parent_id) if catalog.parent_id is not None else None
    return facts | {
        "parent": f"{parent.tenant}/{parent.name}" if parent else None,
        "fork_point": ForkPointStatus(snapshot=catalog.fork_snapshot, time=catalog.created),
        "depth": catalog.depth,
        "own_bytes": usage.own_bytes,
        "inherited_bytes": usage.inherited_bytes,
        "expires_at": expires(resource, catalog),
    }


def _numbers(store: Store, catalog_id: int) -> tuple[int, int, int]:
    query = """
        select p.snapshot_id, p.schema_version, (select count(*) from lake.catalog c where c.parent_id = %(id)s and c.end_at is null)
        from lake._latest(%(id)s) p"""
    with store.transaction():
        row = store.connection.execute(query, {"id": catalog_id}).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])
