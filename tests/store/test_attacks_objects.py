"""Attempts of a tenant to make, change or leave behind objects of the database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from tests.fixtures.attack import DENIED, OWN, Arena, tried

from forklake.catalog import install

SCHEMAS = ["public", "ducklake", "forklake", "ducklake_client", "lake", "pg_catalog"]
KINDS = {
    "table": "create table {schema}.ducklake_snapshot2 (i int)",
    "view": "create view {schema}.pg_attribute2 as select 1 as i",
    "function": "create function {schema}.starts_with(text, text) returns boolean language sql as 'select true'",
    "operator": "create operator {schema}.<@ (leftarg = bigint, rightarg = int8range, function = pg_catalog.elem_contained_by_range)",
    "type": "create type {schema}.int8range2 as (i int)",
    "domain": "create domain {schema}.varchar2 as text",
    "sequence": "create sequence {schema}.rid2",
    "collation": 'create collation {schema}.mine from "C"',
    "aggregate": "create aggregate {schema}.max2 (bigint) (sfunc = int8larger, stype = bigint)",
}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_can_be_made_in_any_schema(arena: Arena, schema: str, kind: str) -> None:
    arena.refused(KINDS[kind].format(schema=schema), DENIED)


@pytest.mark.parametrize(
    "statement",
    [
        "create temp table ducklake_snapshot (snapshot_id bigint)",
        "create temp table login (role_name name, catalog_id bigint)",
        "create temp view pg_class as select 1 as oid",
        "create temp sequence rid",
        "select 1 as i into temp spoils",
        "create function pg_temp.starts_with(text, text) returns boolean language sql as 'select true'",
        "create type pg_temp.bigint as (i int)",
        "create table pg_temp.ducklake_table (i int)",
    ],
)
def test_nothing_temporary_can_stand_before_ours(arena: Arena, statement: str) -> None:
    arena.refused(statement, DENIED)


@pytest.mark.parametrize(
    "statement",
    [
        "create schema mine",
        "create schema authorization {attacker_role}",
        "drop schema lake cascade",
        "drop schema ducklake cascade",
        "alter schema forklake rename to gone",
        "drop view ducklake.ducklake_snapshot",
        "drop table lake.catalog",
        "alter view ducklake.ducklake_snapshot set (security_barrier = false)",
        "alter view ducklake.ducklake_snapshot owner to {attacker_role}",
        "alter view ducklake.ducklake_snapshot rename to gone",
        "create or replace view ducklake.ducklake_snapshot as select 1::bigint as snapshot_id",
        "create or replace view ducklake_client.pg_attribute as select 1 as attrelid",
        "create or replace function forklake.usage() returns int language sql as 'select 1'",
        "create or replace rule shadow as on insert to ducklake.ducklake_tag do instead nothing",
        "create trigger spy instead of insert on ducklake.ducklake_tag for each row execute function suppress_redundant_updates_trigger()",
        "drop trigger take_insert on ducklake.ducklake_tag",
        "alter table ducklake.ducklake_tag disable trigger all",
        "drop function forklake.catalogs()",
        "alter function forklake.catalogs() security invoker",
        "alter function forklake.catalogs() set search_path = pg_temp",
        "alter table lake.catalog disable row level security",
        "create policy everything on lake.catalog using (true)",
        "create index spy on lake.catalog (name)",
        "alter table lake.catalog add column mine text",
        "comment on view ducklake.ducklake_snapshot is 'mine'",
        "comment on schema ducklake is 'mine'",
        "grant usage on schema lake to {attacker_role}",
        "grant select on lake.catalog to {attacker_role}",
        "grant execute on function lake.tree(text) to {attacker_role}",
        "create extension dblink",
        "create extension postgres_fdw",
        "create extension file_fdw",
        "create foreign data wrapper mine",
        "create language mine handler plpgsql_call_handler",
        "create event trigger spy on ddl_command_end execute function suppress_redundant_updates_trigger()",
        "create publication spy for all tables",
        "create publication spy",
        "create subscription spy connection 'dbname=x' publication y",
        "create tablespace mine location '/tmp'",
        "create cast (text as int8range) with inout",
        "create access method mine type table handler heap_tableam_handler",
        "create statistics lake.spy on name, tenant from lake.catalog",
        "reindex table lake.catalog",
        "reindex schema lake",
        "cluster lake.catalog using catalog_pk",
        "alter index lake.catalog_pk set (fillfactor = 10)",
        "alter default privileges for role {owner} grant all on tables to public",
        "alter default privileges for role {neighbour_role} grant all on tables to public",
        "alter database {database} connection limit 1",
        "drop database {database}",
        "checkpoint",
        "select lo_export(1, '/tmp/forklake-attack')",
        "select pg_switch_wal()",
        "select pg_promote()",
    ],
)
def test_what_is_ours_cannot_be_changed(arena: Arena, statement: str) -> None:
    # 0A000, 55006: what nobody could do; 42704 and 55000: there is no such thing to be had
    arena.refused(statement, DENIED, "0A000", "55006", "42704", "55000", "25001", "42809")


@pytest.mark.parametrize(
    "statement",
    [
        "revoke all on schema ducklake from public",
        "grant create on schema ducklake to {attacker_role}",
        "grant temp on database {database} to {attacker_role}",
        "grant select on ducklake.ducklake_tag to {neighbour_role} with grant option",
        "vacuum full lake.catalog",
        "vacuum lake.login",
        "analyze lake.ducklake_table",
        "drop owned by current_user",
    ],
)
def test_what_postgres_skips_with_a_warning_changes_nothing(arena: Arena, statement: str) -> None:
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        error = tried(connection, statement.format(**arena.words()))
        assert error is None or error.sqlstate == DENIED
    assert arena.answers("select table_name from ducklake.ducklake_table") == [(OWN,)]


def test_there_is_no_way_out_to_other_servers_or_languages(arena: Arena) -> None:
    arena.refused("select dblink('dbname=postgres', 'select 1')", "42883")
    arena.refused("do language plpython3u 'pass'", "42704")
    arena.refused("load '/tmp/evil.so'", DENIED)
    arena.refused("select pg_catalog.pg_stat_statements_reset()", "42883", DENIED)


def test_a_transaction_cannot_be_left_prepared(own_arena: Arena) -> None:
    own_arena.refused("begin; insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v'); prepare transaction 'left behind'", "55000")


def test_an_older_clusters_open_public_schema_is_closed_by_installing(own_arena: Arena) -> None:
    """Before Postgres 15 everybody could create there, and an upgraded cluster keeps it so."""
    own_arena.root.execute("grant create on schema public to public; grant temp on database " + own_arena.words()["database"] + " to public")
    with psycopg.connect(own_arena.lake.dsn, autocommit=True) as connection:
        install(connection)
    own_arena.refused("create table public.ducklake_snapshot (i int)", DENIED)
    own_arena.refused("create temp table ducklake_snapshot (i int)", DENIED)


Trap = Callable[[Arena, psycopg.Connection[tuple[object, ...]]], None]


def own_large_object(arena: Arena, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("select lo_from_bytea(0, 'x')")


def own_default_privileges(arena: Arena, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("alter default privileges grant select on tables to public")


def granted_large_object(arena: Arena, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute(f"select lo_create(4711); grant select on large object 4711 to {arena.role(arena.neighbour)}")


def granted_default_privileges(arena: Arena, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute(f"alter default privileges grant select on tables to {arena.role(arena.neighbour)}")


@pytest.mark.parametrize("trap", [own_large_object, own_default_privileges, granted_large_object, granted_default_privileges])
def test_nobody_can_keep_a_login_from_ending(own_arena: Arena, trap: Trap) -> None:
    """Postgres drops no role that objects depend on, and a role can make objects that depend on another's."""
    store = own_arena.lake.store
    with own_arena.lake.tenant(own_arena.attacker) as connection:
        trap(own_arena, connection)
    old = [own_arena.role(catalog) for catalog in (own_arena.neighbour, own_arena.attacker, own_arena.sibling)]
    new = store.rotate_login(own_arena.neighbour.catalog_id, retire_after=timedelta(0))
    store.rotate_login(own_arena.sibling.catalog_id, retire_after=timedelta(0))
    store.drop_retired_logins()
    store.drop(own_arena.attacker.catalog_id)
    able = "select count(*) from pg_roles where rolname = any (%s) and rolcanlogin"
    assert own_arena.root.execute(able, [old]).fetchone() == (0,)
    assert own_arena.root.execute("select count(*) from lake.login where role_name = any (%s)", [old]).fetchone() == (0,)
    assert own_arena.root.execute(able, [[new.role]]).fetchone() == (1,)
    store.drop(own_arena.neighbour.catalog_id)
    assert own_arena.root.execute(able, [[new.role]]).fetchone() == (0,)


def test_events_tell_nothing_of_a_neighbour(own_arena: Arena) -> None:
    """Anybody may listen on any channel and speak on it; forklake says nothing there and hears nothing."""
    with own_arena.lake.tenant(own_arena.attacker) as connection, own_arena.lake.tenant(own_arena.neighbour) as neighbour:
        for channel in ("lake", "forklake", "ducklake", "catalog", "commit", own_arena.role(own_arena.neighbour)):
            connection.execute(f'listen "{channel}"')
        neighbour.execute("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'quiet')")
        own_arena.lake.fork(own_arena.shared, "quiet", tenant="team-b")
        assert list(connection.notifies(timeout=0.2, stop_after=1)) == []
