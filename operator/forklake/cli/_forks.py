"""fork, detach, tree, log."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence

from forklake.catalog import TreeNode
from forklake.cli._context import duration, located, opened
from forklake.cli._describe import changes_table
from forklake.cli._output import age, number, size, table
from forklake.errors import InvalidResource
from forklake.local import Runtime
from forklake.local.sessions import fork_at, fork_resource, make_fork


def fork(options: Namespace) -> None:
    """Forks a catalog: the same as applying a CatalogFork."""
    namespace, name = located(options.name, options)
    ttl = duration(options.ttl, "--ttl") if options.ttl else None
    with opened(options) as runtime:
        try:
            fork_at(options.at)
        except ValueError as error:
            raise InvalidResource(
                f"--at: {str(error).partition(': ')[0]}", hint="give a snapshot's number or a time such as 2026-01-31T12:00:00Z"
            ) from None
        wanted = fork_resource(runtime, options.parent, name, namespace, at=options.at, copy=options.copy, ttl=ttl)
        began = time.perf_counter()
        made = make_fork(runtime, wanted)
    took = (time.perf_counter() - began) * 1000
    assert made.status is not None
    point = made.status.fork_point.snapshot if made.status.fork_point else None
    print(f"{made.key} created: {made.status.parent} at snapshot {point}, in {took:.0f} ms")


def detach(options: Namespace) -> None:
    """Turns a Reference fork into a Copy."""
    namespace, name = located(options.name, options)
    with opened(options) as runtime:
        before = runtime.store.find(namespace, name)
        after = runtime.store.detach(before.catalog_id)
    if after.parent_id is None:
        raise InvalidResource(f"{f'{namespace}/{name}'!r} is not a fork", hint="only forks can be detached")
    print(f"{namespace}/{name} {'detached' if before.mode != after.mode else 'is a copy already'}")


def log(options: Namespace) -> None:
    """Who did what in a catalog."""
    with opened(options) as runtime:
        print(changes_table(runtime, runtime.store.find(*located(options.name, options)).catalog_id, options.most))


def tree(options: Namespace) -> None:
    """Catalogs and their forks."""
    with opened(options) as runtime:
        print(draw_tree(runtime, options.namespace))


def draw_tree(runtime: Runtime, namespace: str | None = None) -> str:
    """The tree of forks as a table."""
    nodes = runtime.store.tree(namespace)
    if not nodes:
        return "no catalogs"
    several = len({node.tenant for node in nodes}) > 1
    rows = [_row(runtime, node, branch, several=several) for node, branch in _branches(nodes)]
    return table(["CATALOG", "AGE", "SNAPSHOT", "FORKED AT", "OWN", "INHERITED", "MODE"], rows, ["cyan", "dim", "yellow"])


def _row(runtime: Runtime, node: TreeNode, branch: str, *, several: bool) -> list[str]:
    usage = runtime.store.usage(node.catalog_id)
    label = f"{node.tenant}/{node.name}" if several else node.name
    inherited = size(usage.inherited_bytes) if node.parent_id is not None else "-"
    return [
        branch + label,
        age(node.created),
        number(node.snapshot_id),
        number(node.fork_snapshot),
        size(usage.own_bytes),
        inherited,
        node.mode or "-",
    ]


def _branches(nodes: Sequence[TreeNode]) -> Iterator[tuple[TreeNode, str]]:
    """Each node with the lines that lead to it, parents before their forks."""
    known = {node.catalog_id for node in nodes}
    below: dict[int | None, list[TreeNode]] = defaultdict(list)
    for node in nodes:
        below[node.parent_id if node.parent_id in known else None].append(node)
    middle, last, down, blank = _glyphs()
    stack = [(node, "", "") for node in reversed(below[None])]
    while stack:
        node, branch, inner = stack.pop()
        yield node, branch
        children = below[node.catalog_id]
        ends = [(middle, down)] * (len(children) - 1) + [(last, blank)]
        stack += [(child, inner + turn, inner + rest) for child, (turn, rest) in reversed(list(zip(children, ends, strict=False)))]


def _glyphs() -> tuple[str, str, str, str]:
    glyphs = ("├─ ", "└─ ", "│  ", "   ")
    try:
        "".join(glyphs).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return "|- ", "`- ", "|  ", "   "
    return glyphs
