"""100,000 forks of one parent, each with its login: the last hundred against the first hundred.

The timed ones are made one at a time; those between are made by fork_many, a thousand in a transaction. Half are named in
order and half at random. When making those between takes longer than its share of the run, it stops there: the row then
says how many forks there were, and is not passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench._context import Context
from bench._crowd import NAMINGS, Crowd
from bench._measure import Bar, Result, timed
from forklake.catalog import new_login


def run(context: Context) -> Iterator[Result]:
    """A row for each way of naming."""
    size, crowd = context.sizes, context.crowd
    _sample(crowd, size.forks_sample)  # does not count: the server warms up
    first = _sample(crowd, size.forks_sample)
    before = crowd.bytes()
    made = crowd.grow(size.forks - 2 * size.forks_sample, most_seconds=size.grow_seconds)
    bytes_each = (crowd.bytes() - before) / made
    last = _sample(crowd, size.forks_sample)
    complete = crowd.size >= size.forks
    shortfall = "" if complete else f"; stopped at {crowd.size:,} of {size.forks:,} forks after {size.grow_seconds:g} s"
    for naming in NAMINGS:
        yield Result(
            name="many_forks",
            what=f"{crowd.size:,} forks of one parent, {naming}: the last {size.forks_sample}",
            rival_is=f"the first {size.forks_sample}",
            unit="ms",
            ours=last[naming],
            rival=first[naming],
            bar=Bar("at most", 1.3),
            note=f"on disk, indexes included: {bytes_each:,.0f} bytes a fork{shortfall}",
            sound=complete,
        )


def _sample(crowd: Crowd, rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {naming: [] for naming in NAMINGS}
    for _ in range(rounds):
        for naming, taken in times.items():
            request, login = crowd.request(naming), new_login()
            taken.append(timed(lambda r=request, n=login: crowd.ours.store.fork_with_login(r, n)))  # type: ignore[misc]
    return {naming: median(taken) for naming, taken in times.items()}
