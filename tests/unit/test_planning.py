"""Plans are pure: what is wanted and what is observed in, actions out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from forklake.api import CatalogFork, CatalogForkStatus, CatalogStatus, LakeCatalog, Selector, parse_documents
from forklake.catalog import Catalog, ForkPoint
from forklake.errors import CatalogDropped, CatalogExists, CatalogNotFound, ForklakeError, ImmutableField, InvalidResource, NotAllowed
from forklake.reconcile import catalog_forks, lake_catalogs
from forklake.reconcile._observe import ObservedCatalog
from forklake.reconcile._plan import plan_deletion
from forklake.reconcile.actions import ConfigureCatalog, CreateCatalog, CreateFork, DropCatalog, ForgetCredentials, RotateCredentials, SetOptions
from forklake.reconcile.maintenance_policies import selects

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
IDENTITY = UUID("00000000-0000-0000-0000-000000000001")
HEAD = "apiVersion: forklake.dev/v1alpha1\nmetadata: {name: sales, namespace: team-a}\n"


def wanted(spec: str = "{}") -> LakeCatalog:
    [document] = parse_documents(f"{HEAD}kind: LakeCatalog\nspec: {spec}", "test")
    assert isinstance(document.resource, LakeCatalog)
    return document.resource


def wanted_fork(spec: str = "{parent: {name: origin}}") -> CatalogFork:
    [document] = parse_documents(f"{HEAD}kind: CatalogFork\nspec: {spec}", "test")
    assert isinstance(document.resource, CatalogFork)
    return document.resource


def catalog(**changes: Any) -> Catalog:
    base = Catalog(
        catalog_id=1, uuid=IDENTITY, tenant="team-a", name="sales", data_path="/lake/sales/", encrypted=False,
        parent_id=None, mode=None, fork_upto=None, fork_snapshot=None, depth=0,
        begin_at=0, end_at=None, created=NOW, ended=None, condemned=None, purged=None, floor=0,
        external_paths=[], history_retention=timedelta(days=7), fork_tenants=[], max_depth=None, max_forks=None, protected=False,
    )  # fmt: skip
    return replace(base, **changes)


def observed(found: Catalog | None = None, **changes: Any) -> ObservedCatalog:
    seen: dict[str, Any] = {"now": NOW, "data_path": "/lake/sales/", "catalog": found}
    kept: dict[str, Any] = {"kept_role": "lake_1_a", "roles": frozenset({"lake_1_a"})} if found else {}
    return ObservedCatalog(**(seen | kept | changes))


FORKED = catalog(parent_id=7, mode="Reference", fork_upto=3, fork_snapshot=2, depth=1)
ORIGIN = catalog(catalog_id=7, name="origin", data_path="/lake/origin/")


def test_a_new_catalog_is_made_then_set_up_then_opened() -> None:
    actions = lake_catalogs.plan(wanted("{options: {target_file_size: 512MB}, historyRetention: 1d}"), observed())
    assert [type(action) for action in actions] == [CreateCatalog, SetOptions, RotateCredentials]
    made, options, _ = actions
    assert isinstance(made, CreateCatalog)
    assert made.settings["history_retention"] == "86400 seconds"
    assert isinstance(options, SetOptions)
    assert options.options == {"target_file_size": "512000000"}


def test_a_catalog_as_it_should_be_needs_nothing() -> None:
    assert lake_catalogs.plan(wanted(), observed(catalog())) == ()


def test_only_what_differs_is_configured() -> None:
    [action] = lake_catalogs.plan(
        wanted("{forks: {maxForks: 3}, externalPaths: [/x]}"), observed(catalog(external_paths=["/x/"]), external_paths=["/x/"])
    )
    assert action == ConfigureCatalog(tenant="team-a", name="sales", settings={"max_forks": 3})


@pytest.mark.parametrize(("words", "tenants"), [("Same", []), ("All", ["*"]), ("[team-b]", ["team-b"])])
def test_who_may_fork_is_said_in_the_stores_words(words: str, tenants: list[str]) -> None:
    assert lake_catalogs.wanted_settings(wanted(f"{{forks: {{namespaces: {words}}}}}"), observed())["fork_tenants"] == tenants


def test_an_option_that_has_its_value_is_left_alone() -> None:
    has = observed(catalog(), options={"parquet_version": "V2", "target_file_size": "1"})
    [action] = lake_catalogs.plan(wanted("{options: {parquet_version: '2', target_file_size: 2MB}}"), has)
    assert action == SetOptions(tenant="team-a", name="sales", options={"target_file_size": "2000000"})


@pytest.mark.parametrize("kept", [{"kept_role": None}, {"roles": frozenset({"other"})}])
def test_credentials_that_are_lost_or_do_not_work_are_made_anew(kept: dict[str, Any]) -> None:
    assert lake_catalogs.plan(wanted(), observed(catalog(), **kept)) == (RotateCredentials(tenant="team-a", name="sales"),)


@pytest.mark.parametrize(
    ("resource", "seen", "error"),
    [
        (wanted(), observed(FORKED), CatalogExists),
        (wanted("{dataPath: /elsewhere}"), observed(catalog(), data_path="/elsewhere/"), ImmutableField),
        (wanted().model_copy(update={"status": CatalogStatus(uuid=str(IDENTITY))}), observed(), CatalogDropped),
        (wanted().model_copy(update={"status": CatalogStatus(uuid="other")}), observed(catalog()), CatalogExists),
    ],
)
def test_a_catalog_is_never_taken_for_another(resource: LakeCatalog, seen: ObservedCatalog, error: type[ForklakeError]) -> None:
    with pytest.raises(error):
        lake_catalogs.plan(resource, seen)


def test_a_fork_is_made_where_and_when_it_is_wanted() -> None:
    [action] = catalog_forks.plan(wanted_fork("{parent: {name: origin}, at: {snapshot: 4}, mode: Copy}"), observed(parent=ORIGIN))
    assert action == CreateFork(
        tenant="team-a", name="sales", parent_tenant="team-a", parent_name="origin", data_path="/lake/sales/", mode="Copy", at=ForkPoint(4)
    )


def test_a_fork_as_it_should_be_needs_nothing_even_if_its_parent_is_gone() -> None:
    assert catalog_forks.plan(wanted_fork(), observed(FORKED, parent=ORIGIN)) == ()
    assert catalog_forks.plan(wanted_fork(), observed(FORKED, parent=None)) == ()


def test_a_fork_of_a_parent_that_comes_in_the_same_plan_is_fine() -> None:
    assert [type(a) for a in catalog_forks.plan(wanted_fork(), observed(parent_is_coming=True))] == [CreateFork]


@pytest.mark.parametrize(
    ("spec", "seen", "error"),
    [
        ("{parent: {name: origin}}", observed(), CatalogNotFound),
        ("{parent: {name: origin, kind: CatalogFork}}", observed(parent=ORIGIN), InvalidResource),
        ("{parent: {name: origin, namespace: team-b}}", observed(), NotAllowed),
        ("{parent: {name: origin, namespace: team-b}}", observed(parent=replace(ORIGIN, tenant="team-b")), NotAllowed),
        ("{parent: {name: origin}}", observed(catalog(), parent=ORIGIN), CatalogExists),
        ("{parent: {name: origin}}", observed(FORKED, parent=replace(ORIGIN, catalog_id=8)), ImmutableField),
    ],
)
def test_a_fork_that_cannot_be_is_refused(spec: str, seen: ObservedCatalog, error: type[ForklakeError]) -> None:
    with pytest.raises(error):
        catalog_forks.plan(wanted_fork(spec), seen)


@pytest.mark.parametrize("allowed", [["team-a"], ["*"]])
def test_a_fork_from_another_namespace_needs_its_owners_word(allowed: list[str]) -> None:
    parent = replace(ORIGIN, tenant="team-b", fork_tenants=allowed)
    assert len(catalog_forks.plan(wanted_fork("{parent: {name: origin, namespace: team-b}}"), observed(parent=parent))) == 1


def test_a_fork_whose_time_is_over_is_dropped_and_one_whose_is_not_is_kept() -> None:
    fork = wanted_fork("{parent: {name: origin}, ttl: 4h, deletionPolicy: Retain}")
    late, early = (replace(observed(FORKED), now=NOW + timedelta(hours=hours)) for hours in (4, 3))
    assert [type(action) for action in catalog_forks.plan(fork, late)] == [DropCatalog, ForgetCredentials]
    assert catalog_forks.plan(fork, early) == ()


def test_deleting_does_what_the_policy_says() -> None:
    known = {"status": CatalogStatus(uuid=str(IDENTITY))}
    keep, drop = wanted().model_copy(update=known), wanted("{deletionPolicy: Delete}").model_copy(update=known)
    assert [type(action) for action in plan_deletion(keep, observed(catalog()))] == [ForgetCredentials]
    assert [type(action) for action in plan_deletion(drop, observed(catalog()))] == [DropCatalog, ForgetCredentials]


def test_deleting_never_touches_a_catalog_of_somebody_else() -> None:
    stalled = wanted_fork().model_copy(update={"status": CatalogForkStatus()})
    assert plan_deletion(stalled, observed(catalog())) == ()


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ({}, True),
        ({"matchLabels": {"team": "sales"}}, True),
        ({"matchLabels": {"team": "x"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["sales"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["sales"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}, {"key": "team", "operator": "Exists"}]}, True),
    ],
)
def test_selectors_work_as_kubernetes_does(selector: dict[str, Any], fits: bool) -> None:
    assert selects(Selector.model_validate(selector), {"team": "sales"}) is fits
