"""The embedded runtime: resources in files, the store in a local Postgres, reconciled at once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from forklake import reconcile
from forklake.api import (
    KINDS,
    AnyResource,
    CatalogFork,
    CatalogResource,
    Document,
    LakeCatalog,
    MaintenancePolicy,
    check_immutable,
)
from forklake.catalog import Catalog, Store
from forklake.errors import CatalogNotFound, ForklakeError
from forklake.local._credentials import CredentialFiles
from forklake.local._resources import ResourceFiles
from forklake.local.home import Home
from forklake.local.postgres import LocalPostgres
from forklake.reconcile.actions import RotateCredentials
from forklake.reconcile.maintenance_policies import selected
from forklake.reconcile.status import policy_status

_POLICY_MESSAGE = "the policy is valid; the embedded forklake runs maintenance on request only, not by its schedule"


@dataclass(frozen=True, slots=True)
class Change:
    """What applying a resource did, or would do."""

    resource: AnyResource
    verb: str  # created, configured or unchanged
    actions: tuple[reconcile.Action, ...] = ()
    error: ForklakeError | None = None
    expired: bool = False

    @property
    def is_change(self) -> bool:
        return self.verb != "unchanged" or bool(self.actions)


class Runtime:
    """An open home. Everything that changes something holds the home's lock."""

    def __init__(self, home: Home, store: Store) -> None:
        self.home = home
        self.store = store
        self.server = LocalPostgres(home)
        self.resources = ResourceFiles(home.resources)
        self.deleted = ResourceFiles(home.deleted)
        self.credentials = CredentialFiles(home.credentials)
        self.world = reconcile.World(store, self.credentials, home.prefix)

    @classmethod
    @contextmanager
    def open(cls, home: Home) -> Iterator[Runtime]:
        """The runtime of a home whose server runs."""
        with Store.connect(LocalPostgres(home).owner_dsn()) as store:
            yield cls(home, store)

    # applying

    def apply(self, resource: AnyResource, source: str = "") -> Change:
        """Keeps a resource and makes the store as it wants it."""
        with self.home.locked():
            new, verb = self._merge(resource, source or resource.key)
            if verb != "unchanged":
                self.resources.save(new)
            if isinstance(new, MaintenancePolicy):
                return self._accept(new, verb)
            return self._reconcile(new, verb)

    def _accept(self, policy: MaintenancePolicy, verb: str) -> Change:
        done = self._with_policy_status(policy)
        self._save_if_changed(policy, done)
        return Change(done, verb)

    def _reconcile(self, resource: CatalogResource, verb: str) -> Change:
        self.store.set_prefixes(resource.namespace, [self.home.prefix(resource.namespace)])
        outcome = reconcile.reconcile(resource, self.world)
        if outcome.expired:
            self._put_away(resource)
        else:
            self._save_if_changed(resource, outcome.resource)
        return Change(outcome.resource, verb, outcome.actions, outcome.error, outcome.expired)

    def _save_if_changed(self, old: AnyResource, new: AnyResource) -> None:
        if old.wire() != new.wire():
            self.resources.save(new)

    def _merge(self, resource: AnyResource, source: str) -> tuple[AnyResource, str]:
        """What is to be kept: the new spec under the old identity; and whether that is new, a change or neither."""
        old = self.resources.load(type(resource), resource.namespace, resource.name)
        if old is None:
            fresh = resource.model_copy(update={"status": None})
            return fresh.with_metadata(
                namespace=resource.namespace, uid=str(uuid.uuid4()), generation=1, creation_timestamp=datetime.now(UTC).replace(microsecond=0)
            ), "created"
        # what was never made has nothing that cannot be changed
        if not isinstance(old, CatalogResource) or (old.status is not None and old.status.uuid is not None):
            check_immutable(old, resource, source)
        same_spec = old.spec == resource.spec
        new = resource.model_copy(update={"status": old.status}).with_metadata(
            namespace=old.namespace,
            uid=old.metadata.uid,
            generation=old.generation + (not same_spec),
            creation_timestamp=old.metadata.creation_timestamp,
        )
        labels = ("labels", "annotations")
        same = same_spec and all(getattr(old.metadata, name) == getattr(resource.metadata, name) for name in labels)
        return (old, "unchanged") if same else (new, "configured")

    def plan(self, documents: Sequence[Document]) -> list[Change]:
        """What applying would do; changes nothing."""
        changes = []
        coming: dict[tuple[str, str], str] = {}
        for document in in_order(documents):
            new, verb = self._merge(document.resource, document.source)
            actions: tuple[reconcile.Action, ...] = ()
            if not isinstance(new, MaintenancePolicy):
                actions = reconcile.plan(new, replace(self.world, coming=coming))
                coming[new.namespace, new.name] = new.kind
            changes.append(Change(new, verb, actions))
        return changes

    def wait(self, change: Change, timeout: timedelta) -> Change:
        """Reconciles again until the resource is ready or stalled, or the time is over."""
        deadline = time.monotonic() + timeout.total_seconds()
        while change.resource.condition("Reconciling") and time.monotonic() < deadline:
            time.sleep(0.5)
            change = replace(self.apply(change.resource), verb=change.verb)
        return change

    # looking

    def find(self, kind: type[AnyResource], namespace: str, name: str) -> AnyResource:
        """A resource with the status of now."""
        found = self.resources.load(kind, namespace, name)
        if found is None:
            raise CatalogNotFound(
                f"there is no {kind.kind_name} {f'{namespace}/{name}'!r}", hint=f"look at: forklake get {kind.plural} -n {namespace}"
            )
        return self._refreshed(found)

    def list_resources(self, kind: type[AnyResource] | None = None, namespace: str | None = None) -> list[AnyResource]:
        """Resources with the status of now."""
        return [self._refreshed(resource) for resource in self.resources.list(kind, namespace)]

    def _refreshed(self, resource: AnyResource) -> AnyResource:
        if isinstance(resource, MaintenancePolicy):
            return self._with_policy_status(resource)
        return reconcile.refresh(resource, self.world)

    def _with_policy_status(self, policy: MaintenancePolicy) -> MaintenancePolicy:
        catalogs = [r for r in self.resources.list(None, policy.namespace) if isinstance(r, CatalogResource)]
        status = policy_status(policy, selected(policy, catalogs), _POLICY_MESSAGE, datetime.now(UTC))
        return policy.model_copy(update={"status": status})

    # ending, and bringing back

    def delete(self, resource: AnyResource) -> tuple[reconcile.Action, ...]:
        """Deletes a resource and does with its catalog what its deletionPolicy says."""
        with self.home.locked():
            kept = self.resources.load(type(resource), resource.namespace, resource.name)
            if kept is None:
                raise CatalogNotFound(f"there is no {resource.key} in namespace {resource.namespace!r}", hint="it may be deleted already")
            actions = () if isinstance(kept, MaintenancePolicy) else reconcile.delete(kept, self.world)
            self._put_away(kept)
            return actions

    def _put_away(self, resource: AnyResource) -> None:
        self.deleted.save(resource)
        self.resources.remove(resource)

    def expire(self) -> list[AnyResource]:
        """Ends the forks whose ttl is over."""
        forks = [fork for fork in self.resources.list(CatalogFork) if isinstance(fork, CatalogFork) and _may_be_over(fork)]
        return [change.resource for fork in forks if (change := self.apply(fork)).expired]

    def undelete(self, namespace: str, name: str) -> Change:
        """Brings a dropped catalog back, with its resource and new credentials."""
        dropped = [c for c in self.store.list_catalogs(namespace, dropped=True) if c.name == name]
        if not dropped:
            raise CatalogNotFound(
                f"no dropped catalog is called {f'{namespace}/{name}'!r}", hint="it lives, or clean-up has passed: look at: forklake tree"
            )
        catalog = self.store.undelete(max(dropped, key=lambda c: c.end_at or 0).catalog_id)
        resource = self._resource_of(catalog)
        with self.home.locked():
            self.resources.save(resource)
            self.deleted.remove(resource)
        return replace(self.apply(resource), verb="undeleted")

    def _resource_of(self, catalog: Catalog) -> CatalogResource:
        """The resource that a catalog was made by, as it was put away, or else a new one; without its ttl, which may be over."""
        kind: type[CatalogResource] = LakeCatalog if catalog.parent_id is None else CatalogFork
        for place in (self.resources, self.deleted):
            kept = place.load(kind, catalog.tenant, catalog.name)
            if isinstance(kept, CatalogResource) and (kept.status is None or kept.status.uuid in (None, str(catalog.uuid))):
                return _without_ttl(kept)
        return self._invent(catalog)

    def _invent(self, catalog: Catalog) -> CatalogResource:
        head = {
            "api_version": "forklake.dev/v1alpha1",
            "metadata": {
                "name": catalog.name,
                "namespace": catalog.tenant,
                "uid": str(catalog.uuid),
                "generation": 1,
                "creation_timestamp": catalog.created,
            },
        }
        if catalog.parent_id is None:
            return LakeCatalog.model_validate(head | {"kind": "LakeCatalog", "spec": {"data_path": catalog.data_path}})
        parent = self.store.get(catalog.parent_id)
        reference = {"kind": "LakeCatalog" if parent.parent_id is None else "CatalogFork", "name": parent.name, "namespace": parent.tenant}
        return CatalogFork.model_validate(
            head | {"kind": "CatalogFork", "spec": {"parent": reference, "data_path": catalog.data_path, "mode": catalog.mode}}
        )

    # connecting

    def rotate(self, namespace: str, name: str, grace: timedelta) -> None:
        """New credentials for a catalog; the old ones work for a while longer."""
        with self.home.locked():
            reconcile.apply(RotateCredentials(tenant=namespace, name=name, grace=grace), self.world)

    def dsn(self, namespace: str, name: str) -> str:
        """How a tenant connects to a catalog; the password is in a file, not in here."""
        self.store.find(namespace, name)
        return self.server.dsn(self.credentials.password(namespace, name))


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Catalogs first, then forks after their parents, then policies."""
    rest = sorted(documents, key=lambda d: [k.kind_name for k in KINDS].index(d.resource.kind))
    done: list[Document] = []
    waiting = {(d.resource.namespace, d.resource.name) for d in rest if isinstance(d.resource, CatalogFork)}
    while rest:
        ready = next((d for d in rest if not isinstance(d.resource, CatalogFork) or d.resource.parent_key() not in waiting), rest[0])
        rest.remove(ready)
        done.append(ready)
        waiting.discard((ready.resource.namespace, ready.resource.name))
    return done


def _may_be_over(fork: CatalogFork) -> bool:
    created = fork.metadata.creation_timestamp
    return fork.spec.ttl is not None and created is not None and created + fork.spec.ttl <= datetime.now(UTC)


def _without_ttl(resource: CatalogResource) -> CatalogResource:
    if not isinstance(resource, CatalogFork) or resource.spec.ttl is None:
        return resource
    kept = {name: getattr(resource.spec, name) for name in resource.spec.model_fields_set - {"ttl"}}
    return resource.model_copy(update={"spec": type(resource.spec)(**kept)})
