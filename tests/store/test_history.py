"""Looking at the whole store: time travel over all catalogs, lineage, changes, usage, and the tenants' own functions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.fixtures.lake import TENANT, Lake, attach

from forklake.catalog import Catalog, Usage
from forklake.errors import HistoryGone, SnapshotInFuture


def _paths(rows: Any) -> set[str]:
    return {Path(row["full_path"]).name for row in rows}


def test_the_store_can_be_seen_at_any_global_snapshot(lake: Lake) -> None:
    moments = [lake.store.horizon()]
    first = lake.catalog("first")
    moments.append(lake.store.horizon())
    second = lake.fork(first, "second")
    moments.append(lake.store.horizon())
    lake.store.drop(first.catalog_id)
    moments.append(lake.store.horizon())
    lake.store.undelete(first.catalog_id)
    moments.append(lake.store.horizon())
    names = [[row["name"] for row in lake.store.catalogs_at(g)] for g in moments]
    assert names == [[], ["first"], ["first", "second"], ["second"], ["first", "second"]]
    assert second.begin_at == moments[2]


def test_files_of_a_catalog_can_be_listed_at_any_moment_even_through_its_ancestors(lake: Lake) -> None:
    parent = lake.catalog()
    duck = lake.duck(p=parent)
    duck.execute("CREATE TABLE p.t (i INTEGER)")
    seen: list[tuple[Catalog, int, set[str]]] = []
    for number in range(3):
        duck.execute(f"INSERT INTO p.t VALUES ({number})")
        seen.append((parent, lake.store.horizon(), _paths(lake.store.files_at(parent.catalog_id, lake.store.horizon()))))
    fork = lake.fork(parent, "fork")
    with_fork = lake.duck(f=fork)
    for statement in ("INSERT INTO f.t VALUES (9)", "CALL ducklake_merge_adjacent_files('f')"):
        with_fork.execute(statement)
        seen.append((fork, lake.store.horizon(), _paths(lake.store.files_at(fork.catalog_id, lake.store.horizon()))))
    duck.execute("DROP TABLE p.t")
    assert [len(files) for _, _, files in seen] == [1, 2, 3, 4, 1]
    assert [_paths(lake.store.files_at(c.catalog_id, g)) for c, g, _ in seen] == [files for _, _, files in seen]
    assert lake.store.files_at(parent.catalog_id, lake.store.horizon()) == []


def test_a_moment_is_found_by_its_time(lake: Lake) -> None:
    before = lake.store.global_at(datetime.now(UTC))
    lake.catalog("first")
    between = datetime.now(UTC)
    lake.catalog("second")
    assert before is None
    found = lake.store.global_at(between)
    assert found is not None
    assert [row["name"] for row in lake.store.catalogs_at(found)] == ["first"]


def test_the_future_and_what_was_given_up_are_refused(lake: Lake) -> None:
    catalog = lake.catalog()
    early = lake.store.horizon()
    with pytest.raises(SnapshotInFuture, match="not settled"):
        lake.store.catalogs_at(early + 1)
    lake.duck(c=catalog).execute("CREATE TABLE c.t AS SELECT 1 AS i")
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(catalog.catalog_id)
    with pytest.raises(HistoryGone):
        lake.store.files_at(catalog.catalog_id, early)


def test_lineage_is_told_from_both_ends(lake: Lake) -> None:
    root = lake.catalog("root")
    left, right = lake.fork(root, "left"), lake.fork(root, "right")
    leaf = lake.fork(left, "leaf")
    assert [row["name"] for row in lake.store.ancestors(leaf.catalog_id)] == ["left", "root"]
    assert [row["name"] for row in lake.store.descendants(root.catalog_id)] == ["left", "right", "leaf"]
    assert [(n.name, n.level) for n in lake.store.tree(TENANT)] == [("root", 0), ("left", 1), ("leaf", 2), ("right", 1)]
    lake.store.drop(left.catalog_id)
    assert [(n.name, n.level) for n in lake.store.tree(TENANT)] == [("root", 0), ("right", 1), ("leaf", 0)]
    assert lake.store.descendants(right.catalog_id) == []


def test_who_sees_a_file_knows_forks_tombstones_and_dropped_catalogs(lake: Lake) -> None:
    parent = lake.catalog("parent")
    duck = lake.duck(p=parent)
    duck.execute("CREATE TABLE p.t AS SELECT 1 AS i")
    (path,) = [row["full_path"] for row in lake.store.files_at(parent.catalog_id, lake.store.horizon())]
    keeps, loses = lake.fork(parent, "keeps"), lake.fork(parent, "loses")
    with_fork = lake.duck(f=loses)
    with_fork.execute("DROP TABLE f.t")
    with_fork.execute("CALL ducklake_expire_snapshots('f', older_than => now())")
    lake.store.drop(keeps.catalog_id)
    assert [row["name"] for row in lake.store.who_sees(path)] == ["parent", "keeps"]
    lake.store.condemn(keeps.catalog_id)
    assert [row["name"] for row in lake.store.who_sees(path)] == ["parent"]


def test_changes_say_who_did_what_when(lake: Lake) -> None:
    catalog = lake.catalog()
    duck = lake.duck(c=catalog)
    duck.execute("BEGIN; CREATE TABLE c.t AS SELECT 1 AS i; CALL c.set_commit_message('ann', 'first load', extra_info => 'ticket 7'); COMMIT")
    fork = lake.fork(catalog, "fork")
    newest, oldest = lake.store.changes(catalog.catalog_id)
    assert (newest["author"], newest["commit_message"], newest["commit_extra_info"]) == ("ann", "first load", "ticket 7")
    assert newest["change_kinds"] == ["created_table", "inserted_into_table"]
    assert (oldest["kind"], oldest["change_kinds"]) == ("create", ["created_schema"])
    (forked,) = lake.store.changes(fork.catalog_id)
    assert (forked["kind"], forked["commit_message"]) == ("fork", "forked from team-a/sales at snapshot 1")


def test_usage_tells_own_from_inherited(lake: Lake) -> None:
    parent = lake.catalog()
    duck = lake.duck(p=parent)
    duck.execute("CREATE TABLE p.t AS SELECT range AS i FROM range(1000)")
    duck.execute("CREATE TABLE p.u AS SELECT 1 AS i")
    fork = lake.fork(parent, "fork")
    lake.duck(f=fork).execute("INSERT INTO f.t VALUES (1)")
    mine, its = lake.store.usage(parent.catalog_id), lake.store.usage(fork.catalog_id)
    on_disk = sum(f.stat().st_size for f in Path(parent.data_path).rglob("*.parquet"))
    assert (mine.own_files, mine.own_bytes, mine.inherited_files, mine.tables) == (2, on_disk, 0, 2)
    assert (its.own_files, its.inherited_files, its.inherited_bytes, its.tables) == (1, 2, on_disk, 2)
    assert its.metadata_rows < mine.metadata_rows + 10


def test_a_tenant_forks_in_sql_and_works_in_the_fork_with_the_login_it_has(lake: Lake) -> None:
    catalog = lake.catalog()
    duck = lake.duck(c=catalog)
    duck.execute("CREATE TABLE c.t AS SELECT 1 AS i")
    row = duck.execute("FROM postgres_query('__ducklake_metadata_c', 'select * from forklake.fork_catalog(''sales'', ''agent-1'')')")
    name, _, snapshot, path, choose = row.fetchall()[0]
    assert (name, snapshot) == ("team-a/agent-1", 2)
    assert path.startswith(f"{lake.folder}/{TENANT}/forks/agent-1-")
    attach(duck, "agent", lake.tenant_dsn(catalog, options=choose))
    duck.execute("INSERT INTO agent.t VALUES (2)")
    assert duck.execute("SELECT count(*) FROM agent.t").fetchall() == [(2,)]
    assert duck.execute("SELECT count(*) FROM c.t").fetchall() == [(1,)]
    duck.execute("FROM postgres_query('__ducklake_metadata_c', 'select forklake.drop_fork(''agent-1'')')").fetchall()
    assert [c.name for c in lake.store.list_catalogs(TENANT)] == ["sales"]


def test_the_shipped_macros_make_that_one_call(lake: Lake) -> None:
    catalog = lake.catalog()
    duck = lake.duck(lake=catalog)
    duck.execute("CREATE TABLE lake.t AS SELECT 1 AS i")
    script = Path(__file__).parents[2] / "operator" / "forklake" / "macros.sql"
    duck.execute(script.read_text())
    assert duck.execute("SELECT catalog, snapshot_id FROM fork_catalog('lake', 'sales', 'agent')").fetchall() == [("team-a/agent", 2)]
    assert duck.execute("SELECT name FROM lake_catalogs('lake') ORDER BY name").fetchall() == [("agent",), ("sales",)]
    assert duck.execute("SELECT name, depth FROM lake_lineage('lake')").fetchall() == [("sales", 0)]
    assert duck.execute("SELECT own_files FROM lake_usage('lake')").fetchall() == [(1,)]
    assert duck.execute("SELECT snapshot_id FROM lake_changes('lake', 1, 9)").fetchall() == [(1,)]
    duck.execute("FROM drop_fork('lake', 'agent')").fetchall()
    assert duck.execute("SELECT name FROM lake_catalogs('lake')").fetchall() == [("sales",)]


def test_a_tenant_forks_only_what_it_was_granted(lake: Lake) -> None:
    mine = lake.catalog("mine")
    theirs = lake.catalog("theirs", tenant="team-b")
    tenant = lake.tenant(mine)
    for parent in ("team-b/theirs", "team-b/no-such-thing"):
        with pytest.raises(psycopg.Error, match="may not fork") as caught:
            tenant.execute("select forklake.fork_catalog(%s, 'f')", [parent])
        assert caught.value.sqlstate == "FL009"
    lake.store.configure(theirs.catalog_id, {"fork_tenants": [TENANT]})
    tenant.execute("select forklake.fork_catalog('team-b/theirs', 'f')")
    assert lake.store.find(TENANT, "f").parent_id == theirs.catalog_id


def test_a_tenants_functions_answer_for_its_own_catalog(lake: Lake) -> None:
    catalog = lake.catalog()
    lake.catalog("other", tenant="team-b")
    lake.duck(c=catalog).execute("CREATE TABLE c.t AS SELECT 1 AS i")
    fork = lake.fork(catalog, "fork")
    tenant = lake.tenant(fork)
    assert tenant.execute("select name, reachable from forklake.catalogs()").fetchall() == [("fork", True), ("sales", False)]
    assert tenant.execute("select name, depth from forklake.lineage()").fetchall() == [("fork", 1), ("sales", 0)]
    assert Usage(**tenant.cursor(row_factory=psycopg.rows.dict_row).execute("select * from forklake.usage()").fetchone()) == lake.store.usage(
        fork.catalog_id
    )  # type: ignore[arg-type]
    assert [row[0] for row in tenant.execute("select snapshot_id from forklake.changes(1, 2)").fetchall()] == [1, 2]


def test_a_role_with_two_catalogs_writes_to_one_of_them_in_a_transaction(lake: Lake) -> None:
    catalog = lake.catalog()
    tenant = lake.tenant(catalog)
    tenant.execute("select forklake.fork_catalog('sales', 'agent')")
    row = "insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')"
    tenant.execute("begin")
    tenant.execute(row)
    tenant.execute("set local forklake.catalog = 'agent'")
    with pytest.raises(psycopg.Error, match="writes to one catalog") as caught:
        tenant.execute(row)
    assert caught.value.sqlstate == "FL009"
    tenant.execute("rollback")
    tenant.execute("begin")
    tenant.execute("set local forklake.catalog = 'agent'")
    tenant.execute(row)
    tenant.execute("commit")
    assert tenant.execute("select count(*) from ducklake.ducklake_tag").fetchall() == [(0,)]
    tenant.execute("set forklake.catalog = 'agent'")
    assert tenant.execute("select count(*) from ducklake.ducklake_tag").fetchall() == [(1,)]
