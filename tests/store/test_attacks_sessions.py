"""Attempts of a tenant to be somebody else, or to have its session taken for another catalog's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.fixtures.attack import DENIED, OWN, SECRET, Arena, commit, said


@pytest.mark.parametrize(
    "statement",
    [
        "set role {owner}",
        "set role {neighbour_role}",
        "set role postgres",
        "set local role {neighbour_role}",
        "set session authorization {neighbour_role}",
        "set session authorization postgres",
        "select set_config('role', '{owner}', false)",
        "select set_config('session_authorization', '{neighbour_role}', true)",
        "set role pg_read_all_data",
        "set session_replication_role = replica",
        "set log_statement = 'none'",
        "alter system set log_statement = 'all'",
        "alter role {attacker_role} createrole",
        "alter role {attacker_role} superuser",
        "alter role {attacker_role} bypassrls",
        "alter role {attacker_role} replication",
        "alter role {attacker_role} connection limit -1",
        "alter role {neighbour_role} password 'known'",
        "alter role {neighbour_role} nologin",
        "alter role {neighbour_role} set forklake.catalog = 'mine'",
        "alter role {neighbour_role} rename to gone",
        "alter role {owner} password 'known'",
        "alter role all set forklake.catalog = 'mine'",
        "alter database {database} set forklake.catalog = 'mine'",
        "alter database {database} set search_path = pg_temp",
        "alter database {database} owner to {attacker_role}",
        "alter database {database} rename to gone",
        "drop role {neighbour_role}",
        "drop owned by {neighbour_role}",
        "reassign owned by {neighbour_role} to {attacker_role}",
        "create role helper",
        "create database helper",
        "grant {neighbour_role} to {attacker_role}",
        "grant {owner} to {attacker_role}",
        "grant {attacker_role} to {neighbour_role}",
        "grant pg_read_all_data to {attacker_role}",
        "grant set on parameter session_replication_role to {attacker_role}",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = '{neighbour_role}'",
        "select pg_cancel_backend(pid) from pg_stat_activity where usename = '{neighbour_role}'",
        "select pg_reload_conf()",
        "select pg_stat_reset()",
    ],
)
def test_becoming_or_changing_somebody_else_is_denied(arena: Arena, statement: str) -> None:
    with arena.lake.tenant(arena.neighbour) as neighbour:
        arena.refused(statement, DENIED)
        assert neighbour.execute("select session_user::text").fetchone() == (arena.role(arena.neighbour),)


@pytest.mark.parametrize("name", ["sales", "team-a/sales", "other", "shared", "0", "1", "*", "%", "' or true --", "lake_0", "MINE", "mine "])
def test_a_forged_setting_shows_nothing_and_writes_nothing(arena: Arena, name: str) -> None:
    quoted = name.replace("'", "''")
    forged = f"select set_config('forklake.catalog', '{quoted}', false);"
    assert arena.answers(f"{forged}") == [(name,)]
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        connection.execute(forged)
        assert connection.execute("select * from ducklake.ducklake_table").fetchall() == []
        assert connection.execute("select * from ducklake.ducklake_metadata").fetchall() == []
        for write in ("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')", "insert into ducklake.ducklake_metadata values ('k', 'v')"):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(write)
            assert caught.value.sqlstate == "FL001"
        assert connection.execute("update ducklake.ducklake_table set table_name = 'x'").rowcount == 0
        assert connection.execute("delete from ducklake.ducklake_tag").rowcount == 0


@pytest.mark.parametrize("options", ["-c forklake.catalog=sales", "-c forklake.catalog=other", "-cforklake.catalog=0 -c search_path=lake"])
def test_a_setting_forged_in_the_connection_string_shows_nothing(arena: Arena, options: str) -> None:
    assert arena.answers("select * from ducklake.ducklake_table", options=options) == []
    arena.refused("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')", "FL001", options=options)


def connected(arena: Arena, session: dict[str, str]) -> tuple[psycopg.Connection[Any] | None, str]:
    """A connection of the attacker's, or why there is none."""
    try:
        return arena.lake.tenant(arena.attacker, **session), ""
    except psycopg.OperationalError as error:
        return None, str(error)


@pytest.mark.parametrize(
    "session",
    [
        {"options": "-c role=store_owner"},
        {"options": "-c role=postgres"},
        {"options": "-c session_authorization=postgres"},
        {"options": "-c session_replication_role=replica"},
        {"options": "-c session_preload_libraries=auto_explain"},
        {"options": "-c allow_system_table_mods=on"},
        {"replication": "database"},
        {"replication": "true"},
    ],
    ids=str,
)
def test_a_connection_that_asks_for_more_is_refused(arena: Arena, session: dict[str, str]) -> None:
    with arena.unchanged():
        connection, error = connected(arena, session)
        if connection is None:
            assert "permission denied" in error or "cannot be set" in error
            assert SECRET not in error
            return
        # Postgres ignores what it will not do at the start of a session; then it must have changed nothing
        with connection:
            assert connection.execute("select session_user::text, current_user::text").fetchone() == (arena.role(arena.attacker),) * 2
            assert connection.execute("select current_setting('session_replication_role')").fetchone() == ("origin",)
            assert connection.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]


@pytest.mark.parametrize(
    "statement",
    [
        "alter role {attacker_role} set forklake.catalog = 'sales'",
        "set forklake.catalog = 'sales'; alter role {attacker_role} set forklake.catalog from current",
        "alter role {attacker_role} in database {database} set forklake.catalog = 'other'",
    ],
)
def test_the_choice_of_a_catalog_cannot_be_kept_in_the_own_role(arena: Arena, statement: str) -> None:
    arena.refused(statement, DENIED)


def test_the_own_role_cannot_be_renamed(arena: Arena) -> None:
    arena.refused("alter role {attacker_role} rename to {neighbour_role}x", "0A000", DENIED)


def test_settings_of_the_own_role_reach_no_other_catalog(own_arena: Arena) -> None:
    """Postgres lets a role keep settings and change its password: that concerns nobody else, and goes with the role."""
    with own_arena.lake.tenant(own_arena.attacker) as connection:
        connection.execute(f"alter role {own_arena.role(own_arena.attacker)} set search_path = lake, pg_temp, ducklake")
        connection.execute(f"alter role {own_arena.role(own_arena.attacker)} password 'of my own'")
    assert own_arena.answers("select table_name from ducklake.ducklake_table") == [(OWN,)]
    assert own_arena.answers("select table_name from ducklake.ducklake_table", by=own_arena.sibling) == [("siblings-word",)]
    own_arena.lake.store.drop(own_arena.attacker.catalog_id)
    query = "select count(*) from pg_roles where rolname = %s and rolcanlogin"
    assert own_arena.root.execute(query, [own_arena.role(own_arena.attacker)]).fetchone() == (0,)


def test_a_fork_that_is_called_like_the_neighbours_catalog_is_still_ones_own(own_arena: Arena) -> None:
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        connection.execute("begin; select forklake.fork_catalog('mine', 'sales')")
        connection.execute("set local forklake.catalog = 'sales'")
        assert connection.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]
        connection.execute("rollback")


def test_the_setting_changed_within_a_transaction_writes_to_the_own_catalog_only(own_arena: Arena) -> None:
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        connection.execute("begin; insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'first')")
        connection.execute("set local forklake.catalog = 'sales'")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'second')")
        assert caught.value.sqlstate == "FL001"
        connection.execute("rollback")


def test_discard_and_reset_lead_back_to_the_own_catalog(arena: Arena) -> None:
    with arena.unchanged(), arena.lake.tenant(arena.attacker, options="-c search_path=ducklake") as connection:
        for statement in ("discard all", "reset all", "reset role", "reset session authorization", "set session authorization default"):
            connection.execute(statement)
            assert connection.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]


def test_a_session_that_is_still_open_reaches_nothing_after_its_catalog_was_dropped(own_arena: Arena) -> None:
    with own_arena.lake.tenant(own_arena.attacker) as connection:
        assert connection.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]
        own_arena.lake.store.drop(own_arena.attacker.catalog_id)
        with own_arena.unchanged():
            for statement in (
                "select * from ducklake.ducklake_table",
                "insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'late')",
                "delete from ducklake.ducklake_tag",
                "select * from forklake.catalogs()",
                "select * from forklake.fork_catalog('team-a/shared', 'late')",
            ):
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(statement)
                # 42704: Postgres itself no longer knows who this is
                assert caught.value.sqlstate in ("42704", "FL001", "FL013")
                assert SECRET not in said(caught.value)


def test_an_open_transaction_cannot_write_to_a_fork_that_was_dropped_meanwhile(own_arena: Arena) -> None:
    """DuckDB's transactions are REPEATABLE READ: they still see the catalog alive."""
    for isolation in ("read committed", "repeatable read", "serializable"):
        with own_arena.lake.tenant(own_arena.attacker) as maker:
            maker.execute("select forklake.fork_catalog('mine', 'brief')")
            with own_arena.lake.tenant(own_arena.attacker, options="-c forklake.catalog=brief") as late:
                late.execute(f"begin isolation level {isolation}")
                assert late.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]
                maker.execute("select forklake.drop_fork('brief')")
                with own_arena.unchanged(), pytest.raises(psycopg.Error) as caught:
                    late.execute("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'late'); commit")
                assert caught.value.sqlstate in ("40001", "FL001", "FL013")


def test_a_dropped_catalogs_name_made_again_by_another_tenant_is_not_reached(own_arena: Arena) -> None:
    own_arena.lake.store.drop(own_arena.neighbour.catalog_id)
    again = own_arena.lake.store.create_catalog("team-b", "sales", f"{own_arena.lake.folder}/team-b/sales/")
    own_arena.lake.logins[again.catalog_id] = own_arena.lake.store.create_login(again.catalog_id)
    assert own_arena.answers("select * from ducklake.ducklake_table", by=again) == []
    assert own_arena.rows_holding(SECRET) >= 20


def test_a_retired_login_ends_and_the_new_one_sees_the_same_catalog(own_arena: Arena) -> None:
    old = own_arena.role(own_arena.attacker)
    new = own_arena.lake.store.rotate_login(own_arena.attacker.catalog_id, retire_after=timedelta(0))
    assert own_arena.lake.store.drop_retired_logins() == [old]
    assert own_arena.root.execute("select count(*) from pg_roles where rolname = %s and rolcanlogin", [old]).fetchone() == (0,)
    own_arena.lake.logins[own_arena.attacker.catalog_id] = new
    assert own_arena.answers("select table_name from ducklake.ducklake_table") == [(OWN,)]


def test_the_verifier_and_the_password_of_a_login_are_nowhere_to_be_read(arena: Arena) -> None:
    verifier = arena.root.execute("select rolpassword from pg_authid where rolname = %s", [arena.role(arena.neighbour)]).fetchone()
    assert verifier
    assert verifier[0].startswith("SCRAM-SHA-256$")
    password = arena.lake.logins[arena.neighbour.catalog_id].password
    for view in ("pg_roles", "pg_user", "pg_stat_activity", "pg_db_role_setting", "pg_settings"):
        told = str(arena.answers(f"select * from {view}"))
        assert verifier[0] not in told
        assert password not in told
    assert password not in repr(arena.lake.logins[arena.neighbour.catalog_id])


def test_the_arena_would_notice_a_change(own_arena: Arena) -> None:
    """The other tests rest on the fingerprint: it must see a row, a role's password, a setting, an object and a file."""
    changes = [
        lambda: commit(neighbour, own_arena.neighbour, "noticed", offset=20),
        lambda: own_arena.root.execute(f"alter role {own_arena.role(own_arena.neighbour)} password 'x'"),
        lambda: own_arena.root.execute(f"alter role {own_arena.role(own_arena.neighbour)} set work_mem = '1MB'"),
        lambda: own_arena.root.execute("create table ducklake.left_behind ()"),
        lambda: own_arena.root.execute("select lo_create(0)"),
        lambda: (own_arena.lake.folder / "left-behind").write_text("x"),
    ]
    with own_arena.lake.tenant(own_arena.neighbour) as neighbour:
        for change in changes:
            before = own_arena.fingerprint([own_arena.attacker])
            change()
            assert own_arena.fingerprint([own_arena.attacker]) != before
