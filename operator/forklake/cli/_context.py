"""What most commands begin with: an open runtime, and a name in a namespace."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from forklake.api import parse_duration
from forklake.errors import InvalidResource
from forklake.local import Home, Runtime


@contextmanager
def opened(options: Namespace) -> Iterator[Runtime]:
    """The runtime; forks whose ttl is over are gone by the time it is there."""
    with Runtime.open(Home.find(options.home)) as runtime:
        runtime.expire()
        yield runtime


def located(name: str, options: Namespace) -> tuple[str, str]:
    """Namespace and name: `name` with -n, or namespace/name."""
    namespace, _, plain = name.rpartition("/")
    return namespace or options.namespace or "default", plain


def duration(text: str, option: str) -> timedelta:
    """A duration that was given as an option."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InvalidResource(f"{option}: {str(error).partition(': ')[0]}", hint="write it like 4h, 90s or 7d") from None
