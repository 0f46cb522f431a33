"""Attempts of a tenant to change what is a neighbour's, its parent's or forklake's own."""

from __future__ import annotations

import pytest
from tests.fixtures.attack import CHILD, DENIED, EARLY, LATE, READABLE, SECRET, Arena, commit, tried

# A new row of every relation that has an id, the id to be filled in.
WITH_ID = {
    "schema": "({id}, gen_random_uuid(), 2, null, 's', 's/', true)",
    "table": "({id}, gen_random_uuid(), 2, null, {first}, 't', 't/', true)",
    "view": "({id}, gen_random_uuid(), 2, null, {first}, 'v', 'duckdb', 'select 1', null)",
    "macro": "({first}, {id}, 'm', 2, null)",
    "data_file": "({id}, {first} + 2, 2, null, null, 'f.parquet', true, 'parquet', 1, 1, 1, 0, null, null, null, null)",
    "delete_file": "({id}, {first} + 2, 2, null, {first} + 10, 'd.parquet', true, 'parquet', 1, 1, 1, null, null)",
    "column_mapping": "({id}, {first} + 2, 'map_by_name')",
    "partition_info": "({id}, {first} + 2, 2, null)",
    "sort_info": "({id}, {first} + 2, 2, null)",
}
FORGED = {
    "a neighbour's": "{neighbour_first} + 2",
    "before the own block": "{first} - 1",
    "after the own block": "{first} + 68719476736",
    "a coming catalog's": "{first} + 10 * 68719476736",
    "negative": "-1",
    "null": "null",
    "the largest": "9223372036854775807",
    "the smallest": "(-9223372036854775808)",
}


@pytest.mark.parametrize("relation", WITH_ID)
@pytest.mark.parametrize("forged", FORGED)
def test_an_id_outside_of_the_own_block_is_refused(arena: Arena, relation: str, forged: str) -> None:
    row = WITH_ID[relation].replace("{id}", FORGED[forged])
    arena.refused(f"insert into ducklake.ducklake_{relation} values {row}", "FL010")


@pytest.mark.parametrize(
    ("values", "sqlstate"),
    [
        ("(2, now(), 2, {neighbour_first} + 500, {first} + 200)", "FL010"),
        ("(2, now(), 2, {first} + 200, {neighbour_first} + 500)", "FL010"),
        ("(2, now(), 2, null, {first} + 200)", "FL010"),
        ("(2, now(), 2, {first} + 200, null)", "FL010"),
        ("(2, now(), 2, {first} + 200, 9223372036854775807)", "FL010"),
        ("(1, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("(3, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("(0, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("(-1, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("(null, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("(9223372036854775807, now(), 2, {first} + 200, {first} + 200)", "40001"),
        ("('NaN', now(), 2, {first} + 200, {first} + 200)", "22P02"),
        ("(1e30, now(), 2, {first} + 200, {first} + 200)", "22003"),
    ],
)
def test_a_forged_snapshot_is_refused(arena: Arena, values: str, sqlstate: str) -> None:
    arena.refused(f"insert into ducklake.ducklake_snapshot values {values}", sqlstate)


@pytest.mark.parametrize(
    "statement",
    [
        "update ducklake.ducklake_snapshot set snapshot_id = snapshot_id + 100",
        "update ducklake.ducklake_snapshot set next_file_id = {neighbour_first}",
        "update ducklake.ducklake_snapshot set next_catalog_id = null",
        "update ducklake.ducklake_schema set schema_id = {neighbour_first}",
        "update ducklake.ducklake_table set table_id = {neighbour_first} + 2",
        "update ducklake.ducklake_view set view_id = {neighbour_first} + 3",
        "update ducklake.ducklake_macro set macro_id = {neighbour_first} + 5",
        "update ducklake.ducklake_data_file set data_file_id = {neighbour_first} + 10",
        "update ducklake.ducklake_delete_file set delete_file_id = {neighbour_first} + 11",
        "update ducklake.ducklake_column_mapping set mapping_id = {neighbour_first} + 13",
        "update ducklake.ducklake_partition_info set partition_id = {neighbour_first} + 4",
        "update ducklake.ducklake_sort_info set sort_id = {neighbour_first} + 6",
    ],
)
def test_an_id_cannot_be_changed_afterwards(arena: Arena, statement: str) -> None:
    arena.refused(statement, "FL015")


@pytest.mark.parametrize(
    "statement",
    [
        "insert into lake.lineage values ({attacker_id}, {neighbour_id}, 9223372036854775806)",
        "update lake.lineage set ancestor_id = {neighbour_id}",
        "insert into lake.tombstone values ({neighbour_id}, 1, 0)",
        "delete from lake.tombstone",
        "insert into lake.login values ('{attacker_role}', {neighbour_id}, 'sales')",
        "update lake.login set catalog_id = {neighbour_id} where role_name = session_user",
        "update lake.head set g = 0",
        "select 1 from lake.head for update",
        "delete from lake.head where catalog_id = {neighbour_id}",
        "update lake.catalog set tenant = 'team-b', fork_tenants = '{{*}}'",
        "insert into lake.ducklake_table (catalog_id, born) values ({neighbour_id}, 0)",
        "update lake.ducklake_data_file set died = 0",
        "delete from lake.ducklake_snapshot",
        "truncate lake.ducklake_snapshot",
        "insert into lake.deletion (owner_id, full_path, kind, reason, died) values ({neighbour_id}, '/x', 'data', 'orphaned', 0)",
        "update lake.tenant set prefixes = '{{/}}'",
        "update lake.store set version = 999",
        "copy lake.login from stdin",
        "select nextval('lake.global_snapshot')",
        "select setval('lake.global_snapshot', 1)",
        "select nextval('lake.rid')",
        "select nextval((select oid from pg_class where relname = 'global_snapshot')::regclass)",
        "select setval((select oid from pg_class where relname = 'block')::regclass, 0)",
        "alter sequence lake.block restart",
        "select lake.create_catalog('team-b', 'more', '/tmp/x/')",
        "select lake.create_login({neighbour_id}, 'x')",
        "select lake.drop_catalog({neighbour_id})",
        "select lake.undelete_catalog({neighbour_id})",
        "select lake.configure_catalog({neighbour_id}, '{{}}')",
        "select lake.fork_catalog({neighbour_id}, 'team-b', 'x', '/x/')",
        "select lake.detach_fork({neighbour_id})",
        "select lake.rename_catalog({neighbour_id}, 'x')",
        "select lake.set_options({neighbour_id}, '{{}}')",
        "select lake.claim_files({neighbour_id})",
        "select lake.raise_floor({neighbour_id})",
        "select lake.condemn_catalog({neighbour_id})",
        "select lake.prune_rows({neighbour_id})",
        "select lake.record_removed('{{1}}')",
        "select lake._write_to({neighbour_id}, 'commit')",
        "select lake._log({neighbour_id}, 'end', 0)",
        "select lake._drop_login('{neighbour_role}')",
        "select forklake._may_fork(null, 'team-b')",
    ],
)
def test_what_forklake_keeps_for_itself_cannot_be_written(arena: Arena, statement: str) -> None:
    arena.refused(statement, DENIED)


@pytest.mark.parametrize(
    "statement",
    [
        "update ducklake.ducklake_table set table_name = 'taken' where table_id = {neighbour_first} + 2",
        "update ducklake.ducklake_tag set value = 'taken' where value <> 'attackers-own-word'",
        "delete from ducklake.ducklake_data_file where data_file_id = {neighbour_first} + 10",
        "delete from ducklake.ducklake_snapshot where snapshot_id > 1",
        "delete from ducklake.ducklake_tag where ctid <> all (select ctid from ducklake.ducklake_tag)",
        "update ducklake.ducklake_tag set value = 'taken' where ctid in ('(0,1)', '(0,2)') and value <> 'attackers-own-word'",
        "update ducklake.ducklake_metadata set value = 'taken' where value like 'neighbours%'",
        "delete from ducklake.ducklake_file_column_stats where min_value = 'neighbours-secret-7f3a9c'",
    ],
)
def test_naming_a_neighbours_row_finds_none(arena: Arena, statement: str) -> None:
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        assert connection.execute(statement.format(**arena.words())).rowcount == 0


def test_deleting_all_that_is_seen_deletes_nothing_of_others(own_arena: Arena) -> None:
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        for relation in READABLE:
            error = tried(connection, f"delete from ducklake.ducklake_{relation}")
            # the latest snapshot is kept
            assert error is None or (relation, error.sqlstate) == ("snapshot", "FL015")
        connection.execute("delete from ducklake.ducklake_metadata where key = 'note'")
        assert connection.execute("select count(*) from ducklake.ducklake_tag").fetchone() == (0,)


@pytest.mark.parametrize("inheriting", [False, True], ids=["own rows", "inherited rows"])
def test_changing_all_that_is_seen_changes_nothing_of_others(own_arena: Arena, inheriting: bool) -> None:
    writer = own_arena.child if inheriting else own_arena.attacker
    with own_arena.unchanged(writer), own_arena.lake.tenant(writer) as connection:
        for relation in READABLE:
            columns = own_arena.relations[f"ducklake_{relation}"].split(", ")
            free = [column for column in columns if not column.endswith(("_id", "path", "path_is_relative"))]
            if free:
                assert (
                    relation == "inlined_data_tables" or connection.execute(f"update ducklake.ducklake_{relation} set {free[-1]} = null").rowcount > 0
                )
        connection.execute("update ducklake.ducklake_metadata set value = 'changed' where key = 'note'")


def test_a_fork_that_deletes_everything_leaves_its_parent_whole(own_arena: Arena) -> None:
    with own_arena.unchanged(own_arena.child), own_arena.lake.tenant(own_arena.child) as connection:
        for relation in ("tag", "table", "data_file", "delete_file", "file_column_stats", "column", "schema"):
            assert connection.execute(f"delete from ducklake.ducklake_{relation}").rowcount > 0
    assert {EARLY, LATE} <= {value for (value,) in own_arena.answers("select value from ducklake.ducklake_tag", by=own_arena.shared)}


def test_a_parent_that_deletes_everything_leaves_its_fork_whole(own_arena: Arena) -> None:
    before = own_arena.answers("select value from ducklake.ducklake_tag order by value", by=own_arena.child)
    with own_arena.unchanged(own_arena.shared), own_arena.lake.tenant(own_arena.shared) as connection:
        for relation in ("tag", "table", "data_file", "delete_file", "file_column_stats", "column", "schema"):
            assert connection.execute(f"delete from ducklake.ducklake_{relation}").rowcount > 0
    assert own_arena.answers("select value from ducklake.ducklake_tag order by value", by=own_arena.child) == before
    assert (EARLY,) in before
    assert (CHILD,) in before


def test_a_forged_ctid_is_not_looked_at(own_arena: Arena) -> None:
    """DuckDB finds rows by the ctid that a view shows; what a client writes there must count for nothing."""
    [ctid] = own_arena.root.execute(f"select ctid::text from lake.ducklake_tag where value = '{SECRET}'").fetchone() or [None]
    assert ctid
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        connection.execute(f"update ducklake.ducklake_tag set ctid = '{ctid}', value = 'taken'")
        connection.execute(f"insert into ducklake.ducklake_tag (object_id, key, value, ctid) values (1, 'k', 'v', '{ctid}')")
        connection.execute(f"delete from ducklake.ducklake_tag where ctid = '{ctid}'")
        with connection.cursor().copy("copy ducklake.ducklake_tag (object_id, key, value, ctid) from stdin") as copy:
            copy.write_row((1, "k", "v", ctid))
    assert own_arena.answers("select value from ducklake.ducklake_tag", by=own_arena.sibling) == [("siblings-word",)]


def test_a_row_that_is_hit_twice_by_one_statement_is_written_once(own_arena: Arena) -> None:
    with own_arena.unchanged(own_arena.child), own_arena.lake.tenant(own_arena.child) as connection:
        for statement in (
            "delete from ducklake.ducklake_tag using generate_series(1, 3)",
            "update ducklake.ducklake_column_tag set value = 'x' from generate_series(1, 3)",
        ):
            error = tried(connection, statement)
            assert error is None or error.sqlstate in ("23505", "P0002", "21000")


@pytest.mark.parametrize("column", ["catalog_id", "born", "died", "rid", "owner_id", "full_path", "xmin", "tableoid"])
def test_the_hidden_columns_are_not_there_to_be_written(arena: Arena, column: str) -> None:
    arena.refused(f"update ducklake.ducklake_data_file set {column} = null", "42703", "0A000")
    arena.refused(f"insert into ducklake.ducklake_data_file (data_file_id, {column}) values (1, null)", "42703", "0A000")


@pytest.mark.parametrize("key", ["data_path", "version", "encrypted", "data_inlining_row_limit", "created_by"])
@pytest.mark.parametrize(
    "statement",
    [
        "update ducklake.ducklake_metadata set value = '{neighbour_path}' where key = '{key}'",
        "insert into ducklake.ducklake_metadata values ('{key}', '{neighbour_path}')",
        "insert into ducklake.ducklake_metadata values ('{key}', '100', 'table', {first} + 2)",
        "delete from ducklake.ducklake_metadata where key = '{key}'",
        "update ducklake.ducklake_metadata set key = 'another' where key = '{key}'",
        "update ducklake.ducklake_metadata set key = '{key}' where key = 'note'",
    ],
    ids=["update", "insert", "for a table", "delete", "rename", "rename to"],
)
def test_what_forklake_decides_cannot_be_set(arena: Arena, key: str, statement: str) -> None:
    arena.refused(statement.replace("{key}", key), "FL011")
    assert dict(arena.answers("select key, value from ducklake.ducklake_metadata"))["data_path"] == arena.attacker.data_path


def test_a_view_cannot_be_emptied_at_once(arena: Arena) -> None:
    arena.refused("truncate ducklake.ducklake_snapshot", "42809", DENIED)


def test_inlined_data_is_refused(arena: Arena) -> None:
    arena.refused("insert into ducklake.ducklake_inlined_data_tables values ({first} + 2, 'ducklake_inlined_data_1_1', 1)", "FL011")
    arena.refused("create table ducklake.ducklake_inlined_data_1_1 (i int)", DENIED)


def test_the_latest_snapshot_cannot_be_taken_away(arena: Arena) -> None:
    """Without it the catalog could never be written to, nor forked, again."""
    arena.refused("delete from ducklake.ducklake_snapshot", "FL015")


def test_a_value_that_is_no_number_is_refused_without_a_trace(arena: Arena) -> None:
    arena.refused("insert into ducklake.ducklake_table_stats values ('NaN', 1, 1, 1)", "22P02")
    arena.refused("insert into ducklake.ducklake_table_stats values (99999999999999999999, 1, 1, 1)", "22003")
    arena.refused("insert into ducklake.ducklake_metadata values (null, null)", "23502", "FL011")


def test_upserts_and_merges_meet_no_row_of_others(own_arena: Arena) -> None:
    own_arena.refused(
        "insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v') on conflict (object_id) do update set value = 'taken'", "42P10", "0A000"
    )
    merge = """merge into ducklake.ducklake_tag t using (values ('{neighbour_first}'::bigint + 2)) s (id) on t.object_id = s.id
        when matched then update set value = 'taken' when not matched then do nothing"""
    if own_arena.server.version < 17:
        own_arena.refused(merge, "0A000", "42809", "55000")
    else:
        with own_arena.unchanged(own_arena.attacker):
            own_arena.answers(merge)


def test_a_neighbour_commits_as_before_after_all_of_this(own_arena: Arena) -> None:
    with own_arena.lake.tenant(own_arena.neighbour) as neighbour, own_arena.unchanged(own_arena.neighbour):
        commit(neighbour, own_arena.neighbour, "and-life-goes-on", offset=20)
