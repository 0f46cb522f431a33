"""What the store answers with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

Mode = Literal["Reference", "Copy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """A row of lake.catalog."""

    catalog_id: int
    uuid: UUID
    tenant: str
    name: str
    data_path: str
    encrypted: bool
    parent_id: int | None
    mode: Mode | None
    fork_upto: int | None
    fork_snapshot: int | None
    depth: int
    begin_at: int
    end_at: int | None
    created: datetime
    ended: datetime | None
    condemned: datetime | None
    purged: datetime | None
    floor: int
    external_paths: list[str]
    history_retention: timedelta
    fork_tenants: list[str]
    max_depth: int | None
    max_forks: int | None
    protected: bool


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where to fork: a snapshot, a moment, or, with neither, now."""

    snapshot: int | None = None
    timestamp: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest:
    """A fork that is wanted."""

    parent_id: int
    tenant: str
    name: str
    data_path: str
    mode: Mode = "Reference"
    at: ForkPoint = ForkPoint()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a catalog takes up."""

    own_files: int
    own_bytes: int
    inherited_files: int
    inherited_bytes: int
    metadata_rows: int
    tables: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A live catalog in the tree of forks."""

    catalog_id: int
    parent_id: int | None
    tenant: str
    name: str
    level: int
    created: datetime
    mode: Mode | None
    fork_snapshot: int | None
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A file that nobody can see any more, with the reason."""

    deletion_id: int
    owner_id: int
    full_path: str
    file_id: int | None
    table_id: int | None
    kind: str
    reason: str
    detail: str | None
    size_bytes: int | None
    died: int
    claimed: datetime
    removed: datetime | None
