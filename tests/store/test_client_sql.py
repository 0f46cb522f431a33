"""forklake's functions for tenants, called from DuckDB through the connection that it has."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from tests.fixtures.client import Place
from tests.fixtures.lake import attach


def ask(place: Place, query: str) -> list[tuple[Any, ...]]:
    return place.rows(f"FROM postgres_query('__ducklake_metadata_lake', $${query}$$)")


def test_a_tenant_forks_in_sql_attaches_the_fork_and_drops_it(place: Place) -> None:
    name = f"agent-of-{place.catalog.name}"
    [(_, _, snapshot, path, choose)] = ask(place, f"SELECT * FROM forklake.fork_catalog('{place.catalog.name}', '{name}')")
    assert snapshot == place.latest() + 1
    agent = place.lake.duck()
    place.others.append(agent)
    attach(agent, "agent", place.lake.tenant_dsn(place.catalog, options=choose))
    agent.execute("DELETE FROM agent.base WHERE i < 50")
    agent.execute("INSERT INTO agent.base VALUES (5000, 'agent', NULL)")
    assert agent.execute("SELECT count(*) FROM agent.base").fetchall() == [(53,)]
    assert agent.execute("SELECT value FROM agent.options() WHERE option_name = 'data_path'").fetchall() == [(path,)]
    assert place.fresh("SELECT count(*) FROM lake.base") == [(92,)]
    agent.execute("DETACH agent")
    ask(place, f"SELECT forklake.drop_fork('{name}')")
    assert name not in [row[0] for row in ask(place, "SELECT name FROM forklake.catalogs()")]


def test_a_fork_of_the_past_is_made_in_sql(fork: Place) -> None:
    [(choose,)] = ask(fork, f"SELECT choose FROM forklake.fork_catalog('{fork.catalog.name}', 'past-of-{fork.catalog.name}', at_snapshot => 2)")
    past = fork.lake.duck()
    fork.others.append(past)
    attach(past, "past", fork.lake.tenant_dsn(fork.catalog, options=choose))
    assert past.execute("SELECT count(*) FROM past.base").fetchall() == [(100,)]


def test_lineage_usage_and_changes_tell_about_the_sessions_catalog(place: Place) -> None:
    place.run("BEGIN", "INSERT INTO lake.base VALUES (1, 'x', NULL)", "CALL lake.set_commit_message('me', 'why')", "COMMIT")
    line = [row[0] for row in ask(place, "SELECT name FROM forklake.lineage()")]
    assert line == [place.catalog.name, *reversed([neighbour.name for neighbour in place.neighbours[:-1]])]
    [(own, inherited)] = ask(place, "SELECT own_files, inherited_files FROM forklake.usage()")
    assert (own > 1, inherited) == (True, 0) if place.name == "catalog" else (own, inherited > 1) == (1, True)
    latest = place.latest()
    assert ask(place, f"SELECT author, commit_message FROM forklake.changes({latest}, {latest})") == [("me", "why")]


def test_a_catalog_that_one_may_not_fork_is_refused_and_the_client_goes_on(fork: Place) -> None:
    with pytest.raises(duckdb.Error, match="may not fork"):
        ask(fork, "SELECT * FROM forklake.fork_catalog('team-b/theirs', 'mine')")
    fork.run("INSERT INTO lake.base VALUES (1, 'x', NULL)")
    assert fork.fresh("SELECT count(*) FROM lake.base") == [(93,)]
