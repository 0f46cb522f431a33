"""What the topics share: the two servers, the sizes, and the one big catalog that takes long to fill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import psycopg

from bench._crowd import Crowd
from bench._fill import Load, fill_ours, fill_plain
from bench._lakes import Ours, Plain
from bench._server import Server
from forklake.catalog import Catalog, Login


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of everything."""

    files: int = 100_000
    snapshots: int = 1_000
    neighbours: int = 200
    rounds: int = 15
    forks_timed: int = 300
    copies: int = 3
    attaches: int = 25
    commit_files: int = 10_000
    commits: int = 7
    clients: int = 24
    seconds: float = 10
    repeats: int = 2
    forks: int = 100_000
    forks_sample: int = 100
    grow_seconds: float = 300
    depths: tuple[int, ...] = (1, 10, 100)


QUICK = Sizes(
    files=2_000,
    snapshots=100,
    neighbours=10,
    rounds=3,
    forks_timed=30,
    copies=1,
    attaches=3,
    commit_files=200,
    commits=2,
    clients=4,
    seconds=1,
    repeats=1,
    forks=400,
    forks_sample=20,
    depths=(1, 10),
)


@dataclass(frozen=True, slots=True)
class Filled:
    """The same big table in a catalog of ours, with neighbours, and in a plain one."""

    ours: Ours
    catalog: Catalog
    login: Login
    plain: Plain
    schema: str
    table_id: int
    last_snapshot: int


@dataclass
class Context:
    """Two servers, so that neither side's tables are in the other's memory."""

    our_server: Server
    plain_server: Server
    sizes: Sizes

    @cached_property
    def filled(self) -> Filled:
        """Made on first use; fills both sides and lets them settle."""
        size = self.sizes
        ours, plain = Ours(self.our_server, "filled"), Plain(self.plain_server, "filled")
        catalog, login = ours.catalog_with_table("big")
        load = Load(files=size.files, snapshots=size.snapshots, table_id=ours.first_table(catalog), first_id=catalog.catalog_id << 36)
        fill_ours(ours.store.connection, catalog.catalog_id, load)
        _add_neighbours(ours, size)
        schema = plain.schema_with_tables("big")
        with psycopg.connect(plain.dsn, autocommit=True) as connection:
            fill_plain(connection, schema, load)
        self.our_server.settle(ours.dbname)
        self.plain_server.settle(plain.dbname)
        return Filled(ours, catalog, login, plain, schema, load.table_id, load.last_snapshot)

    @cached_property
    def crowd(self) -> Crowd:
        """A store for very many forks of one parent; with none yet."""
        return Crowd(Ours(self.our_server, "crowd"))


def _add_neighbours(ours: Ours, size: Sizes) -> None:
    for number in range(size.neighbours):
        neighbour, _ = ours.catalog(f"neighbour-{number}")
        first = neighbour.catalog_id << 36
        share = size.files // size.neighbours
        fill_ours(ours.store.connection, neighbour.catalog_id, Load(files=share, snapshots=10, table_id=first + 1, first_id=first))
