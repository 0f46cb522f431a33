"""apply, plan, get, describe, delete, undelete: the same words as in a cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from tests.local.conftest import Cli, resource

from forklake.local import Home, Runtime

SALES = resource("LakeCatalog", "sales", "{deletionPolicy: Delete}", "{team: a}")
FORK = resource("CatalogFork", "exp", "{parent: {name: sales}}")


def status(cli: Cli, kind: str, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(cli.ok("get", kind, name, "-o", "json"))["status"]
    return found


def condition(cli: Cli, kind: str, name: str, which: str) -> dict[str, str] | None:
    conditions = status(cli, kind, name)["conditions"]
    assert isinstance(conditions, list)
    return next((c for c in conditions if c["type"] == which), None)


def test_applying_twice_does_nothing(cli: Cli) -> None:
    policy = resource("MaintenancePolicy", "tidy", "{schedule: '@daily'}")
    assert cli.apply(FORK, SALES, policy).splitlines() == ["lakecatalog/sales created", "catalogfork/exp created", "maintenancepolicy/tidy created"]
    cli.apply(SALES)  # its status now counts the fork
    kept = {path: path.read_bytes() for path in cli.home.rglob("*.yaml")}
    with cli.runtime() as runtime:
        before = runtime.store.horizon()
    assert cli.apply(SALES, FORK, policy).splitlines() == [
        "lakecatalog/sales unchanged",
        "catalogfork/exp unchanged",
        "maintenancepolicy/tidy unchanged",
    ]
    with cli.runtime() as runtime:
        assert runtime.store.horizon() == before
    assert {path: path.read_bytes() for path in cli.home.rglob("*.yaml")} == kept


def test_plan_says_what_apply_would_do_and_does_nothing(cli: Cli) -> None:
    planned = cli("plan", "-f", "-", stdin=SALES + "---\n" + FORK)
    assert planned.code == 2
    assert "+ lakecatalog/sales" in planned.out
    assert f"fork {cli.namespace}/sales as {cli.namespace}/exp" in planned.out
    assert "no resources found" in cli.ok("get", "all")
    assert "no catalogs" in cli.ok("tree")
    cli.apply(SALES, FORK)
    again = cli("plan", "-f", "-", stdin=SALES + "---\n" + FORK)
    assert (again.code, again.out.splitlines()[-1]) == (0, "0 of 2 would change")
    changed = cli("plan", "-f", "-", stdin=SALES.replace("Delete", "Delete, historyRetention: 1d"))
    assert changed.code == 2
    assert "history_retention = 86400 seconds" in changed.out
    assert cli("plan").code == 64


def test_a_change_is_made_and_counted(cli: Cli) -> None:
    cli.apply(SALES)
    assert cli.apply(SALES.replace("Delete", "Delete, forks: {maxForks: 1, namespaces: All}, options: {parquet_compression: zstd}")).split() == [
        "lakecatalog/sales",
        "configured",
    ]
    with cli.runtime() as runtime:
        found = runtime.store.find(cli.namespace, "sales")
        assert (found.max_forks, found.fork_tenants) == (1, ["*"])
        assert runtime.store.options(found.catalog_id)["parquet_compression"] == "zstd"
    assert yaml.safe_load(cli.ok("get", "lc", "sales", "-o", "yaml"))["metadata"]["generation"] == 2


def test_options_are_such_as_clients_understand(cli: Cli) -> None:
    cli.apply(resource("LakeCatalog", "sales", "{options: {target_file_size: 10MB, parquet_version: '2', parquet_row_group_size: '5000'}}"))
    cli.ok("sql", "sales", "CREATE TABLE t AS SELECT range AS i FROM range(20000)")
    assert "20000" in cli.ok("sql", "sales", "SELECT count(*) FROM t")


def test_what_cannot_be_changed_is_refused_by_name(cli: Cli) -> None:
    cli.apply(SALES, FORK, resource("LakeCatalog", "other"))
    assert "spec.parent of catalogfork/exp cannot be changed" in cli.fails("apply", "-f", "-", stdin=FORK.replace("sales", "other"))
    elsewhere = SALES.replace("Delete", f"Delete, dataPath: {cli.home}/lake/{cli.namespace}/elsewhere/")
    assert "spec.dataPath of lakecatalog/sales cannot be changed" in cli.fails("apply", "-f", "-", stdin=elsewhere)


def test_a_mistake_in_one_document_changes_nothing_at_all(cli: Cli) -> None:
    assert "unknown field spec.foo" in cli.fails("apply", "-f", "-", stdin=SALES + "---\n" + resource("LakeCatalog", "b", "{foo: 1}"))
    assert "no resources found" in cli.ok("get", "all")


def test_a_resource_that_cannot_be_made_says_why_and_can_be_corrected(cli: Cli) -> None:
    outside = resource("LakeCatalog", "sales", "{dataPath: /somewhere/else/}")
    assert "outside of what tenant" in cli.fails("apply", "-f", "-", stdin=outside)
    stalled = condition(cli, "lc", "sales", "Stalled")
    assert stalled is not None
    assert (stalled["status"], stalled["reason"]) == ("True", "PathOutside")
    assert "configured" in cli.apply(resource("LakeCatalog", "sales"))
    assert condition(cli, "lc", "sales", "Stalled") is None
    ready = condition(cli, "lc", "sales", "Ready")
    assert ready is not None
    assert ready["status"] == "True"


def test_a_store_that_is_not_here_is_refused(cli: Cli) -> None:
    assert "there is no store 'eu' here" in cli.fails("apply", "-f", "-", stdin=resource("LakeCatalog", "sales", "{store: eu}"))


def test_a_fork_without_a_parent_waits_for_it(cli: Cli) -> None:
    began = time.monotonic()
    assert "does not exist; make it first" in cli.fails("apply", "--wait", "--timeout", "1s", "-f", "-", stdin=FORK)
    assert time.monotonic() - began >= 1
    assert condition(cli, "cf", "exp", "Reconciling") is not None
    cli.apply(SALES)
    cli.apply(FORK)
    assert condition(cli, "cf", "exp", "Reconciling") is None


def test_a_fork_and_a_catalog_cannot_share_a_name(cli: Cli) -> None:
    cli.apply(SALES, resource("LakeCatalog", "other"))
    taken = resource("CatalogFork", "sales", "{parent: {name: other}}")
    assert "is taken by a LakeCatalog" in cli.fails("apply", "-f", "-", stdin=taken)
    cli.ok("delete", "cf", "sales")
    assert "True" in cli.ok("get", "lc", "sales")
    cli.ok("sql", "sales", "SELECT 1")


def test_another_namespace_forks_only_what_it_may(cli: Cli) -> None:
    other = Cli(cli.home, f"{cli.namespace}-b")
    cli.apply(resource("LakeCatalog", "open", f"{{forks: {{namespaces: [{other.namespace}]}}}}"), resource("LakeCatalog", "closed"))
    assert "may not fork" in other.fails(
        "apply", "-f", "-", stdin=resource("CatalogFork", "x", f"{{parent: {{name: closed, namespace: {cli.namespace}}}}}")
    )
    other.apply(resource("CatalogFork", "y", f"{{parent: {{name: open, namespace: {cli.namespace}}}}}"))
    assert f"{cli.namespace}/open" in other.ok("get", "cf", "y")


def test_status_tells_what_there_is(cli: Cli) -> None:
    cli.apply(SALES)
    cli.ok("sql", "sales", "CREATE TABLE t AS SELECT range AS i FROM range(1000)")
    cli.apply(FORK)
    cli.ok("sql", "exp", "INSERT INTO t VALUES (1)")
    sales, fork = status(cli, "lc", "sales"), status(cli, "cf", "exp")
    assert (sales["snapshot"], sales["tables"], sales["files"], sales["forks"]) == (1, 1, 1, 1)
    assert (fork["parent"], fork["depth"], fork["files"], fork["tables"]) == (f"{cli.namespace}/sales", 1, 2, 1)
    assert fork["inheritedBytes"] == sales["bytes"]
    assert isinstance(fork["ownBytes"], int)
    assert fork["ownBytes"] > 0
    described = cli.ok("describe", "cf", "exp")
    assert "Ready       True" in described
    assert "inserted_into_table" in described


def test_a_policy_is_kept_and_says_that_it_runs_on_request(cli: Cli) -> None:
    cli.apply(SALES, resource("MaintenancePolicy", "tidy", "{schedule: '@daily', selector: {matchLabels: {team: a}}}"))
    assert status(cli, "mp", "tidy")["selected"] == 1
    ready = condition(cli, "mp", "tidy", "Ready")
    assert ready is not None
    assert "on request" in ready["message"]
    assert "@daily" in cli.ok("get", "maintenancepolicies")


def test_what_is_deleted_can_be_undeleted(cli: Cli) -> None:
    cli.apply(SALES)
    cli.ok("sql", "sales", "CREATE TABLE t AS SELECT 42 AS answer")
    before = status(cli, "lc", "sales")
    assert cli.ok("delete", "lc", "sales") == "lakecatalog/sales deleted\n"
    assert "does not exist" in cli.fails("sql", "sales", "SELECT 1")
    assert "there is no LakeCatalog" in cli.fails("get", "lc", "sales")
    assert cli.ok("undelete", "sales") == "lakecatalog/sales undeleted\n"
    assert "42" in cli.ok("sql", "sales", "SELECT * FROM t")
    assert status(cli, "lc", "sales")["uuid"] == before["uuid"]
    assert "no dropped catalog" in cli.fails("undelete", "sales")


def test_retain_leaves_the_catalog_and_applying_again_adopts_it(cli: Cli) -> None:
    keep = resource("LakeCatalog", "keep")
    cli.apply(keep)
    cli.ok("sql", "keep", "CREATE TABLE t AS SELECT 42 AS answer")
    before = status(cli, "lc", "keep")["uuid"]
    assert "stays in the store" in cli.ok("delete", "lc", "keep")
    assert "keep" in cli.ok("tree")
    cli.apply(keep)
    assert status(cli, "lc", "keep")["uuid"] == before
    assert "42" in cli.ok("sql", "keep", "SELECT * FROM t")


def test_a_protected_catalog_stays_and_so_does_its_resource(cli: Cli) -> None:
    cli.apply(SALES.replace("Delete", "Delete, forks: {protected: true}"))
    assert "is protected" in cli.fails("delete", "lc", "sales")
    cli.ok("sql", "sales", "SELECT 1")
    cli.apply(SALES)
    cli.ok("delete", "lc", "sales")


def test_files_can_be_deleted_as_they_were_applied(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(SALES + "---\n" + FORK)
    cli.ok("apply", "-f", str(tmp_path), "--wait")
    assert cli.ok("delete", "-f", str(tmp_path), "--wait").splitlines() == ["catalogfork/exp deleted", "lakecatalog/sales deleted"]
    assert "either KIND NAME or -f" in cli.fails("delete", "lc")


def test_a_fork_lives_as_long_as_its_ttl(cli: Cli) -> None:
    cli.apply(
        SALES,
        resource("CatalogFork", "short", "{parent: {name: sales}, ttl: 1s}"),
        resource("CatalogFork", "long", "{parent: {name: sales}, ttl: 1h}"),
    )
    time.sleep(2.1)
    listed = cli.ok("get", "cf")
    assert "short" not in listed
    assert "long" in listed
    assert "short" not in cli.ok("tree")
    cli.ok("undelete", "short")
    assert "short" in cli.ok("get", "cf")


def test_a_catalog_dropped_behind_the_resources_back_is_not_made_anew(cli: Cli) -> None:
    cli.apply(SALES)
    with cli.runtime() as runtime:
        runtime.store.drop(runtime.store.find(cli.namespace, "sales").catalog_id)
    assert "run: forklake undelete sales" in cli.fails("apply", "-f", "-", stdin=SALES)
    cli.ok("undelete", "sales")
    assert "unchanged" in cli.apply(SALES)


@pytest.mark.parametrize("kept", [1, 6, 12, 13, 20])
def test_an_apply_that_is_killed_in_the_middle_is_completed_by_the_next(cli: Cli, tmp_path: Path, kept: int) -> None:
    names = [f"c{number}" for number in range(12)]
    documents = [resource("LakeCatalog", name) for name in names] + [
        resource("CatalogFork", f"f-{name}", f"{{parent: {{name: {name}}}}}") for name in names
    ]
    (tmp_path / "all.yaml").write_text("---\n".join(documents))
    process = cli.spawn("apply", "-f", str(tmp_path))
    while len(list((cli.home / "resources" / cli.namespace).rglob("[!.]*.yaml"))) < kept:
        assert process.poll() is None
    process.kill()
    process.communicate()
    cli.ok("apply", "-f", str(tmp_path))
    with Runtime.open(Home.find(cli.home)) as runtime:
        found = runtime.list_resources(None, cli.namespace)
        assert len(runtime.store.list_catalogs(cli.namespace)) == 24
    assert [r.name for r in found if (ready := r.condition("Ready")) is None or ready.status != "True"] == []
    assert "unchanged" in cli.ok("apply", "-f", str(tmp_path))
    assert "no problems" in cli.ok("store", "check")
    cli.ok("sql", "f-c11", "SELECT 1")
