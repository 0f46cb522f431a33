"""Measuring: ours and the rival in turns, so that noise falls on both; medians, so that it counts little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Bar:
    """What a ratio has to reach; "under" is about what we take, not about the ratio."""

    kind: Literal["at most", "at least", "under"]
    value: float

    def is_met(self, ratio: float, ours: float) -> bool:
        if self.kind == "under":
            return ours < self.value
        return ratio <= self.value if self.kind == "at most" else ratio >= self.value

    def __str__(self) -> str:
        return f"{ {'at most': '≤', 'at least': '≥', 'under': '<'}[self.kind] } {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A line of the table.

    `ratio` is ours to the rival's, except where the bar says how many times faster we are to be: there more is better.
    """

    name: str
    what: str
    rival_is: str
    unit: str
    ours: float
    rival: float
    bar: Bar
    limit: float | None = None
    note: str = ""
    sound: bool = True
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        times_faster = self.bar.kind == "at least" and self.unit == "ms"
        return self.rival / self.ours if times_faster else self.ours / self.rival

    @property
    def passed(self) -> bool:
        return self.sound and self.bar.is_met(self.ratio, self.ours)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that an action takes."""
    start = perf_counter()
    action()
    return (perf_counter() - start) * 1000


def in_turns(rounds: int, **actions: Callable[[], object]) -> dict[str, float]:
    """The median time of each action in milliseconds: all of them once in each round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            took = timed(action)
            if number:
                times[name].append(took)
    return {name: median(all_of_it) for name, all_of_it in times.items()}
