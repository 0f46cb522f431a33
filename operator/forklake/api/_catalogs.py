"""LakeCatalog and CatalogFork."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from forklake.api._base import NAME_PATTERN, NAMESPACE_PATTERN, Resource, Status, Strict, immutable
from forklake.api._options import stored_options
from forklake.api._quantities import Duration, Time

DeletionPolicy = Literal["Retain", "Delete"]
NamespaceName = Annotated[str, Field(pattern=NAMESPACE_PATTERN)]
# A word or a list: structural schemas know no such choice, so the API server takes anything and the operator is strict.
Namespaces = Annotated[Literal["Same", "All"] | list[NamespaceName], WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]


class StorageRef(Strict):
    """A Secret with static keys of an object store."""

    name: str = Field(description="name of a Secret in the same namespace", pattern=NAME_PATTERN)


class ForkRules(Strict):
    """Who may fork a catalog, and how far."""

    namespaces: Namespaces = Field(
        default="Same", description="who may fork it: Same (its own namespace), All, or a list of namespaces besides its own"
    )
    max_depth: int | None = Field(default=None, description="how deep forks of forks may go; no limit if not set", ge=0)
    max_forks: int | None = Field(default=None, description="how many live forks it may have at a time; no limit if not set", ge=0)
    protected: bool = Field(default=False, description="refuse to drop the catalog, whatever is deleted")


class LakeCatalogSpec(Strict):
    """What a catalog should be."""

    store: str = immutable("which Postgres (stamp) it lives in", default="default")
    data_path: str | None = immutable(
        "folder or object prefix that only this catalog writes to; default: the namespace's first prefix + name", default=None
    )
    storage_ref: StorageRef | None = Field(default=None, description="a Secret with static object-store keys; default: short-lived keys are vended")
    options: dict[str, str] = Field(
        default_factory=dict,
        description="DuckLake's options (target_file_size: 512MB …), set and kept by forklake; one that is taken out here stays as it is",
    )
    external_paths: list[str] = Field(default_factory=list, description="read-only places whose files may be registered in the catalog")
    forks: ForkRules = Field(default_factory=ForkRules, description="who may fork it")
    history_retention: Duration = Field(
        default="7d", description="how long clean-up keeps what is no longer visible, for forks of the past and undelete", validate_default=True
    )
    deletion_policy: DeletionPolicy = Field(
        default="Retain", description="what happens to the catalog when this resource is deleted: Retain leaves it in the store, Delete drops it"
    )

    @field_validator("options")
    @classmethod
    def _known(cls, options: dict[str, str]) -> dict[str, str]:
        stored_options(options)
        return options


class CatalogStatus(Status):
    """What a catalog or fork is."""

    catalog_id: int | None = Field(default=None, description="the catalog's number in its store")
    uuid: str | None = Field(default=None, description="the catalog's identity, whatever it is called")
    data_path: str | None = Field(default=None, description="where its files are written")
    snapshot: int | None = Field(default=None, description="its newest snapshot")
    schema_version: int | None = Field(default=None, description="its schema version")
    tables: int | None = Field(default=None, description="how many tables it has")
    files: int | None = Field(default=None, description="how many files it sees, own and inherited")
    bytes: int | None = Field(default=None, description="how many bytes it sees, own and inherited")
    forks: int | None = Field(default=None, description="how many live forks were made of it")
    secret_name: str | None = Field(default=None, description="the Secret with host, port, dbname, user, password, sslmode and the ATTACH statement")


class LakeCatalog(Resource):
    """A lakehouse: schemas, tables, files, under a DATA_PATH of its own."""

    kind_name: ClassVar[str] = "LakeCatalog"
    plural: ClassVar[str] = "lakecatalogs"
    short: ClassVar[str] = "lc"

    kind: Literal["LakeCatalog"] = Field(description="LakeCatalog")
    spec: LakeCatalogSpec = Field(default_factory=LakeCatalogSpec, description="what the catalog should be")
    status: CatalogStatus | None = Field(default=None, description="what it is; written by forklake")


class ParentRef(Strict):
    """What to fork."""

    kind: Literal["LakeCatalog", "CatalogFork"] = Field(default="LakeCatalog", description="LakeCatalog or CatalogFork")
    name: str = Field(description="its name", pattern=NAME_PATTERN)
    namespace: str | None = Field(
        default=None, description="its namespace; default: the fork's own. Its owner must allow it (forks.namespaces)", pattern=NAMESPACE_PATTERN
    )


class ForkAt(Strict):
    """A moment of the parent: a snapshot or a time."""

    snapshot: int | None = Field(default=None, description="number of a snapshot of the parent", ge=0)
    timestamp: Time | None = Field(default=None, description="a moment; the parent's newest snapshot at that time is taken")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.snapshot is None) == (self.timestamp is None):
            raise ValueError("give either snapshot or timestamp")
        return self


class CatalogForkSpec(Strict):
    """What a fork should be."""

    parent: ParentRef = immutable("what to fork")
    at: ForkAt | None = immutable("which moment of the parent to fork; default: now", default=None)
    mode: Literal["Reference", "Copy"] = immutable(
        "Reference shares the parent's metadata; Copy has its own and does not depend on the parent's retention", default="Reference"
    )
    data_path: str | None = immutable("where the fork writes; default: the namespace's prefix + forks/ + name + a piece of the uid", default=None)
    ttl: Duration | None = Field(default=None, description="how long it lives, from its creation; extended by changing it; for ever if not set")
    deletion_policy: DeletionPolicy = Field(
        default="Delete", description="what happens to the fork when this resource is deleted: Delete drops it, Retain leaves it in the store"
    )

    @model_validator(mode="after")
    def _lives(self) -> Self:
        if self.ttl is not None and not self.ttl:
            raise ValueError("ttl must be longer than nothing")
        return self


class ForkPointStatus(Strict):
    """Where a fork left its parent."""

    snapshot: int | None = Field(default=None, description="the parent's snapshot")
    time: Time | None = Field(default=None, description="when the fork was made")


class CatalogForkStatus(CatalogStatus):
    """What a fork is."""

    parent: str | None = Field(default=None, description="namespace/name of the catalog it was forked from")
    fork_point: ForkPointStatus | None = Field(default=None, description="where it left its parent")
    depth: int | None = Field(default=None, description="how many forks lie between it and a LakeCatalog, itself included")
    own_bytes: int | None = Field(default=None, description="bytes that it wrote itself")
    inherited_bytes: int | None = Field(default=None, description="bytes that it sees of its ancestors")
    expires_at: Time | None = Field(default=None, description="when its ttl ends")


class CatalogFork(Resource):
    """A catalog that begins as another one was at some moment."""

    kind_name: ClassVar[str] = "CatalogFork"
    plural: ClassVar[str] = "catalogforks"
    short: ClassVar[str] = "cf"

    kind: Literal["CatalogFork"] = Field(description="CatalogFork")
    spec: CatalogForkSpec = Field(description="what the fork should be")
    status: CatalogForkStatus | None = Field(default=None, description="what it is; written by forklake")

    def parent_key(self) -> tuple[str, str]:
        """Namespace and name of the parent."""
        return self.spec.parent.namespace or self.namespace, self.spec.parent.name


def immutable_fields(spec: type[Strict]) -> list[str]:
    """The fields of a spec that cannot be changed, as they are called in Python."""
    return [name for name, field in spec.model_fields.items() if _extra(field.json_schema_extra).get("immutable")]


def _extra(extra: Any) -> dict[str, Any]:
    return extra if isinstance(extra, dict) else {}
