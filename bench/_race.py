"""Many clients at once, each a process of its own: who gets how much done in a while."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from bench._measure import Bar, Result

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

Client = TypeVar("Client")
Work = Callable[[Client, float, Callable[[], Any]], "Tally"]
"""Commits for so many seconds, after calling what waits for the others."""

RIVALS = (("plain", "plain schemas", 0.7), ("shared", "one shared sequence", 1.0))


@dataclass(slots=True)
class Tally:
    """What clients got done."""

    commits: int = 0
    retries: int = 0
    failed: int = 0

    def add(self, other: Tally) -> None:
        """Counts another's in."""
        self.commits, self.retries, self.failed = self.commits + other.commits, self.retries + other.retries, self.failed + other.failed


def race(clients: list[Client], seconds: float, work: Work[Client]) -> Tally:
    """Lets all clients work at the same time; they come back as their work left them."""
    # spawned, not forked: this process holds connections and DuckDB's threads
    world = multiprocessing.get_context("spawn")
    ready = world.Barrier(len(clients))
    done: Queue[tuple[int, Client, Tally]] = world.Queue()
    runners = [world.Process(target=_run, args=(number, client, seconds, work, ready, done)) for number, client in enumerate(clients)]
    for runner in runners:
        runner.start()
    total = Tally()
    for _ in runners:
        number, clients[number], tally = done.get(timeout=120 + 2 * seconds)
        total.add(tally)
    for runner in runners:
        runner.join()
    return total


def _run(number: int, client: Client, seconds: float, work: Work[Client], ready: Barrier, done: Queue[tuple[int, Client, Tally]]) -> None:
    tally = work(client, seconds, ready.wait)
    done.put((number, client, tally))


def results(name: str, what: str, seconds: float, clients: int, tallies: dict[str, list[Tally]]) -> list[Result]:
    """A row for each rival."""
    rates = {side: median(tally.commits for tally in each) / seconds for side, each in tallies.items()}
    failed = {side: sum(tally.failed for tally in each) for side, each in tallies.items()}
    return [
        Result(
            name=name,
            what=what,
            rival_is=f"{clients} {rival_is}" if rival == "plain" else rival_is,
            unit="commits/s",
            ours=rates["ours"],
            rival=rates[rival],
            bar=Bar("at least", least),
            sound=failed["ours"] == 0,
            note=f"failed commits: ours {failed['ours']}, rival {failed[rival]}",
            detail={side: [asdict(tally) for tally in each] for side, each in tallies.items()},
        )
        for rival, rival_is, least in RIVALS
    ]
