"""Resources as tables, as YAML or JSON, and told at length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import yaml

from forklake.api import KINDS, AnyResource, CatalogFork, CatalogForkStatus, CatalogStatus, LakeCatalog, MaintenancePolicy, Resource
from forklake.cli._output import age, number, paint, size, span, table
from forklake.local import Runtime

_CATALOG = ["SNAPSHOT", "TABLES", "FILES", "SIZE", "FORKS"]
_FORK = ["PARENT", "SNAPSHOT", "OWN", "INHERITED", "LIVES FOR"]
_POLICY = ["SCHEDULE", "SELECTED", "SUSPENDED"]


def print_resources(found: Sequence[AnyResource], output: str | None, *, one: bool, everywhere: bool) -> None:
    """Prints resources the way that was asked for."""
    if output in ("yaml", "json"):
        documents = [resource.wire() for resource in found]
        whole = documents[0] if one else {"apiVersion": "v1", "kind": "List", "items": documents}
        print(json.dumps(whole, indent=2) if output == "json" else yaml.safe_dump(whole, sort_keys=False, allow_unicode=True).rstrip())
        return
    sections = [[r for r in found if r.kind == kind.kind_name] for kind in KINDS]
    texts = [_table(section, wide=output == "wide", everywhere=everywhere) for section in sections if section]
    print("\n\n".join(texts) if texts else "no resources found")


def _table(section: Sequence[AnyResource], *, wide: bool, everywhere: bool) -> str:
    columns = {"LakeCatalog": _CATALOG, "CatalogFork": _FORK, "MaintenancePolicy": _POLICY}[section[0].kind]
    header = [*(["NAMESPACE"] if everywhere else []), section[0].kind.upper(), "READY", *columns, "AGE", *(["REASON", "DATA PATH"] if wide else [])]
    return table(header, [_row(resource, wide=wide, everywhere=everywhere) for resource in section])


def _row(resource: AnyResource, *, wide: bool, everywhere: bool) -> list[str]:
    ready = resource.condition("Ready")
    more = [ready.reason if ready else "-", getattr(resource.status, "data_path", None) or "-"] if wide else []
    return [
        *([resource.namespace] if everywhere else []),
        resource.name,
        ready.status if ready else "Unknown",
        *_cells(resource),
        age(resource.metadata.creation_timestamp),
        *more,
    ]


def _cells(resource: AnyResource) -> list[str]:
    if isinstance(resource, MaintenancePolicy):
        return [resource.spec.schedule, number(resource.status.selected if resource.status else None), str(resource.spec.suspend)]
    if isinstance(resource, LakeCatalog):
        status = resource.status or CatalogStatus()
        return [number(status.snapshot), number(status.tables), number(status.files), size(status.bytes), number(status.forks)]
    fork = resource.status or CatalogForkStatus()
    left = "-" if fork.expires_at is None else span(fork.expires_at - datetime.now(UTC))
    return [fork.parent or resource.spec.parent.name, number(fork.snapshot), size(fork.own_bytes), size(fork.inherited_bytes), left]


def describe_resource(resource: AnyResource, runtime: Runtime) -> str:
    """All about one resource: spec, status, conditions and what happened lately."""
    parts = [_head(resource), _section("Spec", resource.wire().get("spec", {}))]
    status = dict(resource.wire().get("status", {}))
    status.pop("conditions", None)
    parts += [_section("Status", status), _conditions(resource)]
    if isinstance(resource, LakeCatalog | CatalogFork) and resource.status and resource.status.catalog_id is not None:
        parts.append(f"{paint('Changes', 'bold')} (forklake log {resource.name} shows more)\n{changes_table(runtime, resource.status.catalog_id, 5)}")
    return "\n\n".join(part for part in parts if part)


def _head(resource: Resource) -> str:
    facts = {
        "Kind": resource.kind_name,
        "Name": resource.name,
        "Namespace": resource.namespace,
        "Labels": ", ".join(f"{k}={v}" for k, v in resource.metadata.labels.items()) or "-",
        "Generation": str(resource.generation),
        "Age": age(resource.metadata.creation_timestamp),
    }
    return "\n".join(f"{paint(f'{name}:', 'bold'):<12} {value}" for name, value in facts.items())


def _section(title: str, content: object) -> str:
    if not content:
        return ""
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True).rstrip()
    return paint(title, "bold") + "\n" + "\n".join(f"  {line}" for line in text.splitlines())


def _conditions(resource: AnyResource) -> str:
    conditions = resource.status.conditions if resource.status else []
    rows = [[c.type, c.status, c.reason, age(c.last_transition_time), c.message] for c in conditions]
    return table(["CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"], rows) if rows else ""


def changes_table(runtime: Runtime, catalog_id: int, most: int) -> str:
    """Who did what in a catalog, newest first."""
    rows = [
        [
            number(change["snapshot_id"]),
            change["at"].isoformat(sep=" ", timespec="seconds"),
            ", ".join(change["change_kinds"]) or change["kind"],
            change["author"] or "-",
            change["commit_message"] or "",
        ]
        for change in runtime.store.changes(catalog_id, most)
    ]
    return table(["SNAPSHOT", "WHEN", "WHAT", "AUTHOR", "MESSAGE"], rows, ["yellow", "dim"])
