"""Clean-up against a model: random histories over up to eight catalogs, checked after every step.

The model knows nothing of lineage or tombstones. For each catalog it keeps what the catalog could see after each of its
commits; whatever a catalog that is not condemned could see at or after its floor must stay, everything else must go.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from tests.fixtures.postgres import OWNER, Server
from tests.fixtures.writer import Writer

from forklake.catalog import Catalog, ForkPoint, ForkRequest, Login, Store, install, new_login
from forklake.errors import HistoryGone, SnapshotExpired

STEPS_IN_CI = 2000
MOST_CATALOGS = 8
LOGIN: Login = new_login()


@dataclass
class Moment:
    """What a catalog could see after one of its commits."""

    g: int
    snapshot: int
    files: frozenset[str]


@dataclass
class Known:
    """The model of one catalog."""

    catalog: Catalog
    writer: Writer
    history: list[Moment]
    floor: int
    role: str
    ended: bool = False
    condemned: bool = False
    owned: set[str] = field(default_factory=set)

    def protected(self) -> set[str]:
        """Every file that a retained snapshot can see: from the moment that held at the floor on."""
        if self.condemned:
            return set()
        kept = [m for i, m in enumerate(self.history) if i + 1 == len(self.history) or self.history[i + 1].g > self.floor]
        return set().union(*(m.files for m in kept))


class CleanUp(RuleBasedStateMachine):
    """Drives a real store and the model side by side."""

    server: Server
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.dsn = self.server.dsn(OWNER, self.server.new_database())
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            install(connection)
        self.store = Store.connect(self.dsn)
        self.catalogs: list[Known] = []
        self.claimed: set[str] = set()
        self.numbers = iter(range(10**9))

    def teardown(self) -> None:
        self.store.connection.close()
        for known in self.catalogs:
            known.writer.connection.close()

    # helpers

    def pick(self, number: int, *, ended: bool = False) -> Known | None:
        candidates = [k for k in self.catalogs if k.ended == ended and not k.condemned]
        return candidates[number % len(candidates)] if candidates else None

    def adopt(self, catalog: Catalog, role: str, files: frozenset[str]) -> None:
        connection = psycopg.connect(f"{self.dsn} user={role}", autocommit=True)
        writer = Writer(connection)
        moment = Moment(catalog.begin_at, writer.head().snapshot_id, files)
        self.catalogs.append(Known(catalog, writer, [moment], catalog.floor, role))

    def remember(self, known: Known, files: frozenset[str]) -> None:
        row = self.store.connection.execute("select g from lake.head where catalog_id = %s", [known.catalog.catalog_id]).fetchone()
        assert row is not None
        known.history.append(Moment(row[0], known.writer.head().snapshot_id, files))

    def rows(self, known: Known, relation: str = "data_file") -> list[tuple[int, int, str, int | None]]:
        query = f"select data_file_id, table_id, path, end_snapshot from ducklake.ducklake_{relation} order by 1"
        return known.writer.connection.execute(query).fetchall()

    def seen(self, known: Known) -> frozenset[str]:
        """What the catalog's views show, by the names of the files, which are unique."""
        return frozenset(Path(path).name for relation in ("data_file", "delete_file") for _, _, path, _ in self.rows(known, relation))

    # histories

    @initialize()
    def first_catalog(self) -> None:
        self.new_catalog()

    @precondition(lambda self: sum(not k.condemned and k.catalog.parent_id is None for k in self.catalogs) < 2)
    @rule()
    def new_catalog(self) -> None:
        number = next(self.numbers)
        catalog = self.store.create_catalog("team", f"c{number}", f"/lake/c{number}/", {"history_retention": "0"})
        role = self.store.create_login(catalog.catalog_id, LOGIN).role
        self.adopt(catalog, role, frozenset())
        known = self.catalogs[-1]
        with known.writer.commit() as commit:
            commit.add_table("t")
        self.remember(known, frozenset())

    @rule(number=st.integers(0, 99), count=st.integers(1, 3))
    def append(self, number: int, count: int) -> None:
        known = self.pick(number)
        if known is None:
            return
        tables = known.writer.connection.execute("select table_id from ducklake.ducklake_table where end_snapshot is null").fetchall()
        with known.writer.commit() as commit:
            # a fork of the very first snapshot has no table yet
            table_id = tables[0][0] if tables else commit.add_table("t")
            added = {commit.add_file(table_id) for _ in range(count)}
        known.owned |= added
        self.remember(known, known.history[-1].files | added)

    @rule(number=st.integers(0, 99), which=st.integers(0, 99))
    def delete_rows(self, number: int, which: int) -> None:
        known = self.pick(number)
        live = [r for r in self.rows(known) if r[3] is None] if known else []
        if known is None or not live:
            return
        file_id, table_id, _, _ = live[which % len(live)]
        replaced = {Path(p).name for i, _, p, end in self.rows(known, "delete_file") if i == file_id and end is None}
        with known.writer.commit() as commit:
            added = commit.add_delete_file(table_id, file_id)
        known.owned.add(added)
        self.remember(known, known.history[-1].files - replaced | {added})

    @rule(number=st.integers(0, 99), which=st.integers(0, 99))
    def rewrite(self, number: int, which: int) -> None:
        """rewrite_data_files: the old file ends, a new one begins; time travel still sees the old one."""
        known = self.pick(number)
        live = [r for r in self.rows(known) if r[3] is None] if known else []
        if known is None or not live:
            return
        file_id, table_id, _, _ = live[which % len(live)]
        with known.writer.commit() as commit:
            commit.end_files([file_id])
            added = commit.add_file(table_id)
            commit.changes = [f"rewrite_delete:{table_id}"]
        known.owned.add(added)
        self.remember(known, known.history[-1].files | {added})

    @rule(number=st.integers(0, 99), which=st.integers(0, 99))
    def compact(self, number: int, which: int) -> None:
        """merge_adjacent_files: the sources' rows go outright."""
        known = self.pick(number)
        live = [r for r in self.rows(known) if r[3] is None] if known else []
        if known is None or len(live) < 2:
            return
        sources = live[which % (len(live) - 1) :][:3]
        ids = [r[0] for r in sources]
        gone = {Path(r[2]).name for r in sources} | {Path(p).name for i, _, p, _ in self.rows(known, "delete_file") if i in ids}
        with known.writer.commit() as commit:
            added = commit.add_file(sources[0][1])
            commit.remove_files(ids)
            commit.changes = [f"merge_adjacent:{sources[0][1]}"]
        known.owned.add(added)
        self.remember(known, known.history[-1].files - gone | {added})

    @precondition(lambda self: sum(not k.condemned for k in self.catalogs) < MOST_CATALOGS)
    @rule(number=st.integers(0, 99), which=st.integers(0, 99))
    def compact_and_fork_at_once(self, number: int, which: int) -> None:
        """The edge: a fork at the very commit in which rows died."""
        self.compact(number, which)
        self.fork(number, 0, 1)

    @rule(number=st.integers(0, 99), which=st.integers(0, 99))
    def fork_and_parent_both_let_go(self, number: int, which: int) -> None:
        """Both replace the same files, but only the parent gives up its history: the fork's retained past still sees them."""
        forks = [k for k in self.catalogs if not k.ended and k.catalog.parent_id is not None]
        fork = forks[number % len(forks)] if forks else None
        parent = next((k for k in self.catalogs if fork and k.catalog.catalog_id == fork.catalog.parent_id and not k.ended), None)
        if fork is None or parent is None:
            return
        living = [k for k in self.catalogs if not k.ended and not k.condemned]
        for one in (fork, parent):
            self.compact(living.index(one), which)
        parent.floor = self.store.raise_floor(parent.catalog.catalog_id)
        self.clean_up(False)

    @rule(number=st.integers(0, 99), every=st.integers(2, 4))
    def expire(self, number: int, every: int) -> None:
        known = self.pick(number)
        if known is None:
            return
        if known.writer.expire(lambda snapshot: snapshot % every == 0):
            self.remember(known, self.seen(known))

    @precondition(lambda self: sum(not k.condemned for k in self.catalogs) < MOST_CATALOGS)
    @rule(number=st.integers(0, 99), back=st.integers(0, 4), copy=st.integers(0, 5))
    def fork(self, number: int, back: int, copy: int) -> None:
        parent = self.pick(number)
        if parent is None:
            return
        wanted = parent.history[-1] if back == 0 or back >= len(parent.history) else parent.history[-1 - back]
        # several moments may share a snapshot's number (an expiry makes none): a fork is of the first that bore it
        wanted = next(m for m in parent.history if m.snapshot == wanted.snapshot) if back else wanted
        at = ForkPoint(snapshot=wanted.snapshot) if back else ForkPoint()
        if wanted.snapshot == parent.history[-1].snapshot:
            wanted = parent.history[-1]
        request = ForkRequest(
            parent_id=parent.catalog.catalog_id,
            tenant="team",
            name=f"c{(n := next(self.numbers))}",
            data_path=f"/lake/c{n}/",
            mode="Copy" if copy == 0 else "Reference",
            at=at,
        )
        try:
            catalog, login = self.store.fork_with_login(request, LOGIN)
        except HistoryGone:
            assert wanted.g < parent.floor, "history at or after the floor must be there"
            return
        except SnapshotExpired:
            assert at.snapshot not in {s for (s,) in parent.writer.connection.execute("select snapshot_id from ducklake.ducklake_snapshot")}
            return
        assert not wanted.files & self.claimed, "a fork must not see what was given up"
        self.store.configure(catalog.catalog_id, {"history_retention": "0"})
        self.adopt(catalog, login.role, wanted.files)

    @rule(number=st.integers(0, 99))
    def detach(self, number: int) -> None:
        known = self.pick(number)
        if known is None or known.catalog.mode != "Reference":
            return
        self.store.detach(known.catalog.catalog_id)
        detached = self.store.get(known.catalog.catalog_id)
        known.catalog = detached
        if detached.floor > known.floor:
            self.remember(known, known.history[-1].files)
            known.floor = detached.floor

    @precondition(lambda self: sum(not k.condemned for k in self.catalogs) > 3)
    @rule(number=st.integers(0, 99))
    def drop(self, number: int) -> None:
        known = self.pick(number)
        if known is None:
            return
        known.writer.connection.close()
        self.store.drop(known.catalog.catalog_id)
        known.ended = True

    @precondition(lambda self: any(k.ended and not k.condemned for k in self.catalogs))
    @rule(number=st.integers(0, 99))
    def undelete(self, number: int) -> None:
        known = self.pick(number, ended=True)
        if known is None:
            return
        self.store.undelete(known.catalog.catalog_id)
        known.role = self.store.create_login(known.catalog.catalog_id, LOGIN).role
        known.writer = Writer(psycopg.connect(f"{self.dsn} user={known.role}", autocommit=True))
        known.ended = False

    # giving up

    @precondition(lambda self: any(k.ended and not k.condemned for k in self.catalogs))
    @rule(number=st.integers(0, 99))
    def condemn(self, number: int) -> None:
        known = self.pick(number, ended=True)
        if known is None:
            return
        self.store.condemn(known.catalog.catalog_id)
        known.condemned = True

    @rule(number=st.integers(0, 99), all_of_them=st.booleans())
    def raise_floor(self, number: int, all_of_them: bool) -> None:
        known = self.pick(number)
        for one in [k for k in self.catalogs if not k.ended] if all_of_them else [known] if known else []:
            one.floor = self.store.raise_floor(one.catalog.catalog_id)
            assert one.floor >= one.history[-1].g

    @rule(removed=st.booleans())
    def clean_up(self, removed: bool) -> None:
        protected = set().union(*(k.protected() for k in self.catalogs))
        for known in self.catalogs:
            claims = self.store.claim_files(known.catalog.catalog_id)
            names = {Path(claim.full_path).name for claim in claims}
            assert names <= known.owned, "only its owner's clean-up removes a file"
            assert not names & protected, "what a retained snapshot can see was claimed"
            self.claimed |= names
            assert known.owned - protected <= self.claimed, "what nobody can see was not claimed"
            if removed:
                self.store.record_removed([claim.deletion_id for claim in claims])
                self.store.prune_rows(known.catalog.catalog_id)

    # what must hold after every step

    @invariant()
    def every_catalog_sees_what_it_should(self) -> None:
        type(self).steps += 1
        for known in self.catalogs:
            if not known.ended:
                assert self.seen(known) == known.history[-1].files
                assert not known.history[-1].files & self.claimed


def run_steps(server: Server, done: Any) -> None:
    CleanUp.server = server
    CleanUp.steps = 0
    while not done():
        run_state_machine_as_test(
            CleanUp,
            # no shrinking: a step takes milliseconds, and the seed that is printed replays the failure
            settings=settings(
                max_examples=10,
                stateful_step_count=60,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
                phases=[Phase.generate],
                print_blob=True,
            ),
        )


@pytest.fixture(scope="module")
def soak_until() -> float:
    return time.monotonic() + float(os.environ.get("FORKLAKE_SOAK_SECONDS", "0"))


def test_cleanup_keeps_what_anybody_can_see_and_claims_the_rest(server: Server, soak_until: float) -> None:
    run_steps(server, lambda: CleanUp.steps >= STEPS_IN_CI and time.monotonic() >= soak_until)
    assert CleanUp.steps >= STEPS_IN_CI
