"""apply, plan, get, describe, delete, undelete."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace

from forklake.api import Document, kind_called, read_documents
from forklake.cli._context import duration, located, opened
from forklake.cli._describe import describe_resource, print_resources
from forklake.cli._output import paint
from forklake.errors import InvalidResource
from forklake.local import Change, Home, Runtime, in_order

_MARKS = {"created": ("+", "green"), "configured": ("~", "yellow"), "unchanged": ("=", "dim")}


def apply(options: Namespace) -> int:
    """Applies all documents, also when one of them cannot be made so."""
    documents = _documents(options)
    timeout = duration(options.timeout, "--timeout")
    with opened(options) as runtime:
        failed = 0
        for document in in_order(documents):
            change = runtime.apply(document.resource, document.source)
            if options.wait:
                change = runtime.wait(change, timeout)
            failed += _tell(change)
    return 1 if failed else 0


def _tell(change: Change) -> bool:
    verb = change.verb if change.verb != "unchanged" or not change.actions else "configured"
    print(f"{change.resource.key} {'expired' if change.expired else verb}")
    if change.error is not None:
        print(f"forklake: {change.resource.key}: {change.error}", file=sys.stderr)
    return change.error is not None


def plan(options: Namespace) -> int:
    """Says what apply would do."""
    documents = _documents(options)
    with Runtime.open(Home.find(options.home)) as runtime:
        changes = runtime.plan(documents)
    for change in changes:
        mark, colour = _MARKS[change.verb if change.verb != "unchanged" or not change.actions else "configured"]
        print(paint(f"{mark} {change.resource.key}", colour))
        for action in change.actions:
            print(f"    {action}")
    count = sum(change.is_change for change in changes)
    print(f"{count} of {len(changes)} would change")
    return 2 if count else 0


def get(options: Namespace) -> None:
    """Lists resources, or prints them whole."""
    with opened(options) as runtime:
        if options.name is None:
            namespace = None if options.all_namespaces else options.namespace or "default"
            kind = None if options.kind == "all" else kind_called(options.kind)
            found = runtime.list_resources(kind, namespace)
        else:
            found = [runtime.find(kind_called(options.kind), *located(options.name, options))]
    print_resources(found, options.output, one=options.name is not None, everywhere=options.all_namespaces)


def describe(options: Namespace) -> None:
    """Tells all about one resource."""
    with opened(options) as runtime:
        print(describe_resource(runtime.find(kind_called(options.kind), *located(options.name, options)), runtime))


def delete(options: Namespace) -> None:
    """Deletes what was named, or all that is in the files; forks before their parents."""
    by_name = options.kind is not None and options.name is not None
    if by_name == bool(options.filename) or (options.kind is not None and options.name is None):
        raise InvalidResource("delete needs either KIND NAME or -f FILE", hint="look at: forklake delete --help")
    wanted = [] if by_name else [d.resource for d in reversed(in_order(_documents(options)))]
    with opened(options) as runtime:
        if by_name:
            wanted = [runtime.find(kind_called(options.kind), *located(options.name, options))]
        for resource in wanted:
            actions = runtime.delete(resource)
            kept = resource.kind != "MaintenancePolicy" and not any("drop catalog" in str(action) for action in actions)
            print(f"{resource.key} deleted{' (its catalog stays in the store: deletionPolicy Retain)' if kept else ''}")


def undelete(options: Namespace) -> int:
    """Brings a dropped catalog back."""
    with Runtime.open(Home.find(options.home)) as runtime:
        return int(_tell(runtime.undelete(*located(options.name, options))))


def _documents(options: Namespace) -> list[Document]:
    documents = read_documents(options.filename)
    if options.namespace is None:
        return documents
    return [
        replace(d, resource=d.resource if d.resource.metadata.namespace else d.resource.with_metadata(namespace=options.namespace)) for d in documents
    ]
