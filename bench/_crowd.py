"""A store with very many forks of one parent, half of them named in order and half at random: an index may mind."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from bench._lakes import Ours
from forklake.catalog import ForkRequest

_BATCH = 1000
_FORK_EACH = "select count(*) from jsonb_to_recordset(%s) r (name text, path text), lateral lake.fork_catalog(%s, %s, r.name, r.path) f"
NAMINGS = ("names in order", "random names")


@dataclass
class Crowd:
    """The store, its parent, and how many catalogs there are."""

    ours: Ours
    size: int = 1
    _numbers: count[int] = field(default_factory=count)
    _dice: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        self.parent, self.login = self.ours.catalog_with_table("parent")

    def request(self, naming: str) -> ForkRequest:
        """A fork that is wanted next."""
        name = f"agent-{next(self._numbers):06}" if naming == NAMINGS[0] else f"{self._dice.getrandbits(64):016x}"
        self.size += 1
        return self.ours.request(self.parent, name)

    def grow(self, to: int, *, most_seconds: float) -> int:
        """Makes forks by fork_many, a thousand in a transaction, until there are so many catalogs or time is up. Returns how many."""
        before, start = self.size, monotonic()
        while self.size < to and monotonic() - start < most_seconds:
            self.ours.store.fork_many([self.request(NAMINGS[number % 2]) for number in range(min(_BATCH, to - self.size))])
        if self.size > before:
            self.ours.server.settle(self.ours.dbname)
        return self.size - before

    def grow_without_logins(self, to: int) -> int:
        """The same without roles: for when those took too long."""
        before = self.size
        while self.size < to:
            wanted = [self.request(NAMINGS[number % 2]) for number in range(min(_BATCH, to - self.size))]
            rows = json.dumps([{"name": request.name, "path": request.data_path} for request in wanted])
            self.ours.store.connection.execute(_FORK_EACH, [rows, self.parent.catalog_id, self.parent.tenant])
        if self.size > before:
            self.ours.server.settle(self.ours.dbname)
        return self.size - before

    def bytes(self) -> int:
        """What the database takes on disk."""
        row = self.ours.store.connection.execute("select pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0
