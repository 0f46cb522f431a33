"""Attempts of a tenant to read what is a neighbour's."""

from __future__ import annotations

import duckdb
import pytest
from psycopg import sql
from tests.fixtures.attack import CHILD, DENIED, EARLY, LATE, OWN, READABLE, SECRET, Arena
from tests.fixtures.lake import attach

# Relations that say the word somewhere, with the column that does.
TELLING = {
    "tag": "value",
    "column_tag": "value",
    "table": "table_name",
    "schema": "schema_name",
    "view": "sql",
    "column": "column_name",
    "data_file": "path",
    "delete_file": "path",
    "file_column_stats": "min_value",
    "table_column_stats": "max_value",
    "file_partition_value": "partition_value",
    "snapshot_changes": "author",
    "macro_impl": "sql",
    "name_mapping": "source_name",
    "metadata": "value",
}


def stored(arena: Arena, relation: str, catalog_id: int) -> list[tuple[object, ...]]:
    """The rows of a catalog, from below."""
    query = sql.SQL("select {} from lake.{} where catalog_id = {}").format(
        sql.SQL(arena.relations[relation]), sql.Identifier(relation), sql.Literal(catalog_id)
    )
    return sorted(arena.root.execute(query).fetchall(), key=repr)


@pytest.mark.parametrize("relation", READABLE)
def test_a_relation_shows_the_own_rows_and_no_others(arena: Arena, relation: str) -> None:
    name = f"ducklake_{relation}"
    if relation != "inlined_data_tables":
        assert stored(arena, name, arena.neighbour.catalog_id)
    seen = arena.answers(f"select {arena.relations[name]} from ducklake.{name}")
    assert sorted(seen, key=repr) == stored(arena, name, arena.attacker.catalog_id)


def test_the_options_are_the_own_ones_and_no_others(arena: Arena) -> None:
    options = dict(arena.answers("select key, value from ducklake.ducklake_metadata"))
    assert options["note"] == OWN
    assert options["data_path"] == arena.attacker.data_path


def test_the_queue_of_files_to_delete_is_not_to_be_read(arena: Arena) -> None:
    arena.refused("select * from ducklake.ducklake_files_scheduled_for_deletion", "FL012")


@pytest.mark.parametrize(
    "statement",
    [
        "select * from lake.catalog",
        "select * from lake.login",
        "select * from lake.ducklake_table",
        "select * from lake.session",
        "select * from lake.changes",
        "select * from lake.tombstone",
        "table lake.commit",
        "copy lake.ducklake_data_file to stdout",
        "copy (select * from lake.ducklake_table_stats) to stdout",
        "select * from lake.tree(null)",
        "select * from lake.usage({neighbour_id})",
        "select * from lake.files_at({neighbour_id}, 1)",
        "select * from lake.options({neighbour_id})",
        "select lake._refuse_queue()",
        "select forklake._session()",
        "select * from lake.rid",
        "select last_value from lake.global_snapshot",
        "select query_to_xml('select * from lake.catalog', true, true, '')",
        "select table_to_xml('lake.ducklake_table', true, true, '')",
        "select ts_stat('select to_tsvector(table_name) from lake.ducklake_table')",
        "do $$ begin execute 'select * from lake.catalog'; end $$",
        "prepare spy as select * from lake.ducklake_table",
        "declare spy cursor with hold for select * from lake.ducklake_table",
        "explain select * from lake.ducklake_table",
        "select * from pg_authid",
        "select * from pg_shadow",
        "select * from pg_statistic",
        "select * from pg_statistic_ext_data",
        "select * from pg_largeobject",
        "select * from pg_hba_file_rules",
        "select * from pg_file_settings",
        "select pg_read_file('postgresql.conf')",
        "select pg_read_binary_file('global/pg_control')",
        "select pg_ls_dir('.')",
        "select pg_stat_file('base')",
        "select pg_current_logfile()",
        "select * from pg_ls_waldir()",
        "select lo_import('/etc/passwd')",
        "copy ducklake.ducklake_tag from '/etc/passwd'",
        "copy ducklake.ducklake_tag from program 'id'",
        "copy (select 1) to program 'cat > /tmp/forklake-attack'",
        "copy (select 1) to '/tmp/forklake-attack'",
        "select * from pg_create_logical_replication_slot('spy', 'pgoutput')",
        "show data_directory",
        "show hba_file",
    ],
)
def test_what_is_below_the_views_is_denied(arena: Arena, statement: str) -> None:
    arena.refused(statement, DENIED)


# Conditions that every row survives but one that holds the secret; there each fails in a way that says so.
FAILING = [
    "(case when strpos({column}, '{secret}') > 0 then {column} else '1' end)::numeric > 0",
    "1 / (case when strpos({column}, '{secret}') > 0 then 0 else 1 end) > 0",
    "(case when strpos({column}, '{secret}') > 0 then {column} else now()::text end)::timestamptz is not null",
    "'x' ~ (case when strpos({column}, '{secret}') > 0 then '(' || {column} else 'x' end)",
    "sqrt(1 - 2 * sign(strpos({column}, '{secret}'))) > 0",
]
OFF = "set enable_indexscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off"


@pytest.mark.parametrize("relation", TELLING)
@pytest.mark.parametrize("planner", ["select 1", OFF], ids=["as planned", "scans only"])
def test_a_condition_that_fails_on_a_neighbours_value_never_meets_it(arena: Arena, relation: str, planner: str) -> None:
    """The planner must not run a condition of the attacker's before it knows whose row it is: the error would tell the value."""
    assert any(SECRET in repr(row) for row in stored(arena, f"ducklake_{relation}", arena.neighbour.catalog_id))
    view, column = f"ducklake.ducklake_{relation}", TELLING[relation]
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        connection.execute(planner)
        for condition in FAILING:
            failing = condition.format(column=column, secret=SECRET)
            for statement in ("select * from {} where {}", "delete from {} where {} and false", "select v.* from {} v join pg_am on {}"):
                told = connection.execute(statement.format(view, failing))
                assert told.description is None or SECRET not in str(told.fetchall())


@pytest.mark.parametrize(
    "settings",
    [
        "set debug_parallel_query = on; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0",
        "set enable_seqscan = off",
        "set plan_cache_mode = force_generic_plan",
        "set transform_null_equals = on",
        "set default_transaction_isolation = 'serializable'",
        "set search_path = lake, ducklake",
        "set search_path = pg_temp",
        "set search_path = ''",
        "set role none",
        "set session_authorization = default",
        "set constraint_exclusion = on; set from_collapse_limit = 1; set join_collapse_limit = 1",
    ],
)
def test_no_setting_shows_more(arena: Arena, settings: str) -> None:
    if arena.server.version < 16:
        settings = settings.replace("debug_parallel_query", "force_parallel_mode")
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        connection.execute(settings)
        assert connection.execute("select table_name from ducklake.ducklake_table").fetchall() == [(OWN,)]
        assert connection.execute("select distinct value from ducklake.ducklake_tag").fetchall() == [(OWN,)]


def test_turning_row_security_off_shows_no_more(arena: Arena) -> None:
    arena.refused("set row_security = off; select * from ducklake.ducklake_table", DENIED)


def test_prepared_statements_and_cursors_show_the_own_rows(arena: Arena) -> None:
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        connection.execute("prepare spy (text) as select value from ducklake.ducklake_tag where value = $1 or value <> $1")
        for _ in range(7):
            assert connection.execute(f"execute spy ('{SECRET}')").fetchall() == [(OWN,)]
        connection.execute("declare spy cursor with hold for select table_name from ducklake.ducklake_table")
        assert connection.execute("fetch all from spy").fetchall() == [(OWN,)]
        with connection.cursor().copy("copy (select * from ducklake.ducklake_table) to stdout") as copy:
            told = b"".join(bytes(block) for block in copy).decode()
        assert OWN in told
        assert SECRET not in told
    assert arena.rows_holding(SECRET)


def test_a_plan_does_not_say_what_values_a_neighbour_has(own_arena: Arena) -> None:
    """Estimates come from statistics over all catalogs: a frequent value of a neighbour's must not show in them."""
    with own_arena.lake.tenant(own_arena.neighbour) as connection:
        connection.execute(f"insert into ducklake.ducklake_tag select 1, 0, null, 'k', '{SECRET}' from generate_series(1, 3000)")
        connection.execute(f"insert into ducklake.ducklake_tag select 1, 0, null, 'k', '{SECRET}' || i from generate_series(1, 3000) i")
    own_arena.root.execute("analyze")
    with own_arena.lake.tenant(own_arena.attacker) as attacker:
        for operator in ("=", "<", ">="):
            plans = {
                str(attacker.execute(f"explain select * from ducklake.ducklake_tag where value {operator} '{guess}'").fetchone())
                for guess in (SECRET, SECRET[::-1], "a" + SECRET, SECRET + "2", "zzz")
            }
            assert len(plans) == 1


def test_an_analyzed_plan_shows_no_values_of_others(arena: Arena) -> None:
    for relation in READABLE:
        plan = arena.answers(f"explain (analyze, verbose, costs, settings, summary) select * from ducklake.ducklake_{relation}")
        assert plan


@pytest.mark.parametrize(
    "statement",
    [
        "select * from pg_stats where schemaname = 'lake'",
        "select * from pg_stats_ext where schemaname = 'lake'",
        "select * from pg_prepared_xacts",
        "select * from pg_prepared_statements where statement like '%insert%'",
        "select * from pg_cursors where name = 'neighbours'",
        "select * from pg_sequences where schemaname = 'lake' and last_value is not null",
        "select * from information_schema.tables where table_schema = 'lake'",
        "select * from information_schema.columns where table_schema = 'lake'",
    ],
)
def test_a_view_of_postgres_shows_nothing_of_ours(arena: Arena, statement: str) -> None:
    arena.root.execute("analyze")
    assert arena.root.execute("select count(*) from pg_stats where schemaname = 'lake'").fetchone() != (0,)
    assert arena.answers(statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from pg_stat_activity",
        "select pg_stat_get_activity(null)",
        "select pg_stat_get_backend_activity(b) from pg_stat_get_backend_idset() b",
        "select * from pg_locks",
        "select * from pg_stat_user_tables",
        "select * from pg_settings",
        "select * from pg_db_role_setting",
        "select * from pg_roles",
    ],
)
def test_the_neighbours_running_query_is_not_to_be_seen(arena: Arena, statement: str) -> None:
    with arena.lake.tenant(arena.neighbour) as neighbour:
        neighbour.execute(f"begin; select count(*) from ducklake.ducklake_tag where value = '{SECRET}'")
        query = "select count(*) from pg_stat_activity where strpos(query, %s) > 0 and usename = %s"
        assert arena.root.execute(query, [SECRET, arena.role(arena.neighbour)]).fetchone() == (1,)
        assert arena.answers(statement)


def test_two_catalogs_of_one_tenant_do_not_see_each_other(arena: Arena) -> None:
    for relation, column in TELLING.items():
        query = f"select {column} from ducklake.ducklake_{relation}"
        assert "siblings-word" not in str(arena.answers(query))
        seen = str(arena.answers(query, by=arena.sibling))
        assert "siblings-word" in seen
        assert OWN not in seen


def test_a_fork_sees_nothing_of_its_parent_after_the_fork_nor_the_parent_of_the_fork(arena: Arena) -> None:
    for relation, column in TELLING.items():
        query = f"select {column} from ducklake.ducklake_{relation}"
        of_child, of_parent = str(arena.answers(query, by=arena.child)), str(arena.answers(query, by=arena.shared))
        assert CHILD in of_child
        assert LATE in of_parent
        assert LATE not in of_child
        assert CHILD not in of_parent
        # an option has one value, which both have replaced
        assert relation == "metadata" or EARLY in of_child


@pytest.mark.parametrize("function", ["catalogs()", "lineage()", "usage()", "changes()", "changes(-1, null)", "changes(null, null)"])
def test_the_functions_for_tenants_answer_for_the_own_tenant_only(arena: Arena, function: str) -> None:
    told = str(arena.answers(f"select * from forklake.{function}"))
    assert arena.neighbour.data_path not in told
    assert str(arena.neighbour.uuid) not in told
    assert "'sales'" not in told


def test_a_role_without_a_catalog_sees_and_writes_nothing(own_arena: Arena) -> None:
    own_arena.root.execute(f"create role stranger_{own_arena.words()['database']} login")
    user = f"stranger_{own_arena.words()['database']}"
    for relation in READABLE:
        assert own_arena.answers(f"select * from ducklake.ducklake_{relation}", user=user) == []
    own_arena.refused("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')", "FL001", user=user)
    own_arena.refused("select * from forklake.catalogs()", "FL001", user=user)
    own_arena.refused("select * from forklake.fork_catalog('team-a/shared', 'x')", "FL001", user=user)


def test_a_role_of_one_store_finds_nothing_in_another(arena: Arena, own_arena: Arena) -> None:
    role = arena.role(arena.attacker)
    for relation in READABLE:
        assert own_arena.answers(f"select * from ducklake.ducklake_{relation}", user=role) == []
    own_arena.refused("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')", "FL001", user=role)


def test_a_mistaken_grant_on_the_base_tables_shows_nothing(own_arena: Arena) -> None:
    role = own_arena.role(own_arena.attacker)
    own_arena.lake.store.connection.execute(f"grant usage on schema lake to {role}; grant all on all tables in schema lake to {role}")
    tables = own_arena.root.execute("select relname from pg_class where relnamespace = 'lake'::regnamespace and relkind = 'r'").fetchall()
    assert len(tables) > 28
    for (table,) in tables:
        assert own_arena.answers(f"select * from lake.{table}") == []
    own_arena.refused("insert into lake.lineage values ({attacker_id}, {neighbour_id}, 9)", DENIED)
    own_arena.answers("update lake.login set catalog_id = {neighbour_id}")
    own_arena.answers("delete from lake.catalog")


def test_a_stock_duckdb_reaches_nothing_below_the_views(arena: Arena) -> None:
    dsn = arena.lake.tenant_dsn(arena.attacker)
    duck = arena.lake.duck(mine=arena.attacker)
    duck.execute("ATTACH '" + dsn.replace("'", "''") + "' AS below (TYPE postgres, READ_ONLY)")
    attempts = [
        "FROM below.lake.catalog",
        "FROM below.lake.ducklake_table",
        "FROM postgres_query('below', 'select * from lake.catalog')",
        "FROM postgres_query('below', 'select * from lake.ducklake_tag')",
        "CALL postgres_execute('below', 'update lake.login set catalog_id = 0')",
        "FROM postgres_scan('" + dsn.replace("'", "''") + "', 'lake', 'ducklake_tag')",
        "FROM below.ducklake.ducklake_files_scheduled_for_deletion",
    ]
    for attempt in attempts:
        with arena.unchanged(), pytest.raises(Exception, match=r"ermission denied|may not remove|read-only") as caught:
            duck.execute(attempt).fetchall()
        assert SECRET not in str(caught.value)
    assert SECRET not in str(duck.execute("FROM below.ducklake.ducklake_tag").fetchall())
    assert OWN in str(duck.execute("FROM below.ducklake.ducklake_tag").fetchall())


def test_a_stock_duckdb_cannot_attach_the_base_tables_as_a_catalog(arena: Arena) -> None:
    duck = arena.lake.duck()
    quoted = arena.lake.tenant_dsn(arena.attacker).replace("'", "''")
    with arena.unchanged(), pytest.raises(Exception, match="ermission denied"):
        duck.execute(f"ATTACH 'ducklake:postgres:{quoted}' AS spy (METADATA_SCHEMA 'lake', META_SCHEMA 'lake', DATA_PATH '/tmp/x/')")


def test_a_stock_duckdb_that_names_the_neighbours_catalog_gets_none(arena: Arena) -> None:
    duck = arena.lake.duck()
    with arena.unchanged():
        attach(duck, "spy", arena.lake.tenant_dsn(arena.attacker, options="-c forklake.catalog=sales"))
        assert duck.execute("FROM ducklake_snapshots('spy')").fetchall() == []
        for statement in ("FROM duckdb_tables()", f'FROM spy."{SECRET}"."{SECRET}"', "CREATE TABLE spy.mine (i INTEGER)"):
            with pytest.raises(duckdb.Error, match="No snapshot found"):
                duck.execute(statement)
