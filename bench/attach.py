"""ATTACH by a stock DuckDB with 100,000 catalogs in the store, against a plain store that holds one.

Each in a DuckDB of its own; only the ATTACH is timed. The store is the one of the topic many_forks.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench._context import Context
from bench._lakes import Plain, duck
from bench._measure import Bar, Result, timed


def run(context: Context) -> Iterator[Result]:
    """A row."""
    crowd, plain = context.crowd, Plain(context.plain_server, "lonely")
    crowd.grow(context.sizes.forks, most_seconds=context.sizes.grow_seconds / 2)
    roleless = crowd.grow_without_logins(context.sizes.forks)
    plain.schema_with_tables("alone")
    times: dict[str, list[float]] = {"ours": [], "rival": []}
    for _ in range(context.sizes.attaches):
        times["ours"].append(_attach(crowd.ours.attach(crowd.login)))
        times["rival"].append(_attach(plain.attach("alone")))
    yield Result(
        name="attach",
        what=f"ATTACH with {crowd.size:,} catalogs in the store",
        rival_is="a plain store with one",
        unit="ms",
        ours=median(times["ours"]),
        rival=median(times["rival"]),
        bar=Bar("at most", 1.3),
        note=f"{roleless:,} of the catalogs have no login, because making them took too long" if roleless else "",
    )


def _attach(statement: str) -> float:
    with duck() as client:
        return timed(lambda: client.execute(statement))
