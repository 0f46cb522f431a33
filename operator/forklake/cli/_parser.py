"""What can be said on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from forklake import __version__

_EPILOG = """exit codes: 0 done, 1 an error, 2 plan found changes, 64 a usage error, 130 interrupted"""
_OUTPUTS = ("wide", "yaml", "json")
_USAGE = 64

Add = Callable[..., argparse.ArgumentParser]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse would exit with 2, which means something else after `plan`
        print(f"forklake: {message}; look at: {self.prog} --help", file=sys.stderr)
        sys.exit(_USAGE)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. Global options may stand before or after the command."""
    parser = _Parser(prog="forklake", description="Lakehouse catalogs that fork in about a millisecond.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"forklake {__version__}")
    parser.set_defaults(home=None, namespace=None, debug=False)
    _add_globals(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    shared = argparse.ArgumentParser(add_help=False)
    _add_globals(shared)

    def add(name: str, run: tuple[str, str], text: str, into: Any = commands) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = into.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[shared])
        made.set_defaults(run=run)
        return made

    _add_server(add)
    _add_store(add)
    _add_resources(add)
    _add_catalogs(add)
    _add_credentials(add)
    add("completion", ("_completion", "completion"), "print the shell's completion script").add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def _add_globals(parser: argparse.ArgumentParser) -> None:
    hidden: Any = argparse.SUPPRESS
    group = parser.add_argument_group("global options")
    group.add_argument("--home", default=hidden, metavar="FOLDER", help="where everything is kept (FORKLAKE_HOME; default: the user's data folder)")
    group.add_argument("-n", "--namespace", default=hidden, help="namespace, that is tenant (default: default)")
    group.add_argument("--debug", action="store_true", default=hidden, help="show the trace of an error")


def _add_server(add: Add) -> None:
    add("up", ("_server", "up"), "start the embedded store; the first time, make it")
    add("down", ("_server", "down"), "stop the embedded store; the data stays")
    add("status", ("_server", "status"), "say whether the store runs and what is in it")


def _add_store(add: Add) -> None:
    store = add("store", ("_server", "version"), "the metadata store in any Postgres")
    verbs = store.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, text in (
        ("install", "make the store in a database; twice is once"),
        ("upgrade", "bring a store to this version"),
        ("version", "say which version a store is of"),
        ("check", "look for what should not be in a store"),
    ):
        verb = add(name, ("_server", name), text, verbs)
        verb.add_argument("--dsn", help="how to connect as the store's owner (default: the embedded store)")


def _add_resources(add: Add) -> None:
    apply = add("apply", ("_resources", "apply"), "make it so: catalogs, forks and policies from YAML")
    _add_files(apply, required=True)
    _add_wait(apply)
    plan = add("plan", ("_resources", "plan"), "say what apply would change; exits with 2 if something would")
    _add_files(plan, required=True)
    get = add("get", ("_resources", "get"), "list resources")
    get.add_argument("kind", help="lakecatalogs (lc), catalogforks (cf), maintenancepolicies (mp) or all")
    _completed(get.add_argument("name", nargs="?"))
    get.add_argument("-o", "--output", choices=_OUTPUTS, help="more columns, or the whole resources")
    get.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    describe = add("describe", ("_resources", "describe"), "tell all about one resource")
    describe.add_argument("kind", help="lakecatalog (lc), catalogfork (cf) or maintenancepolicy (mp)")
    _completed(describe.add_argument("name"))
    delete = add("delete", ("_resources", "delete"), "delete resources; deletionPolicy decides about their catalogs")
    delete.add_argument("kind", nargs="?", help="lakecatalog (lc), catalogfork (cf) or maintenancepolicy (mp)")
    _completed(delete.add_argument("name", nargs="?"))
    _add_files(delete, required=False)
    _add_wait(delete)
    undelete = add("undelete", ("_resources", "undelete"), "bring a dropped catalog back, until clean-up has passed")
    undelete.add_argument("name")


def _add_catalogs(add: Add) -> None:
    sql = add("sql", ("_clients", "sql"), "a DuckDB with a catalog attached: one statement, or interactive")
    _completed(sql.add_argument("name"))
    sql.add_argument("statement", nargs="?", help="SQL; without it, a prompt (or, in a pipe, the standard input)")
    attach = add("attach", ("_clients", "attach"), "print the ATTACH statement for any DuckLake client, password and all")
    _completed(attach.add_argument("name"))
    attach.add_argument("--no-password", action="store_true", help="print a placeholder in place of the password")
    fork = add("fork", ("_forks", "fork"), "fork a catalog")
    _completed(fork.add_argument("parent", help="catalog or fork; namespace/name for one of another namespace"))
    fork.add_argument("name", help="name of the fork")
    fork.add_argument("--at", metavar="SNAPSHOT|TIME", help="fork the past: a snapshot's number, or a time such as 2026-01-31T12:00:00Z")
    fork.add_argument("--copy", action="store_true", help="copy the metadata instead of sharing it")
    fork.add_argument("--ttl", metavar="DURATION", help="drop it after this long: 4h, 7d")
    _add_wait(fork)
    detach = add("detach", ("_forks", "detach"), "turn a fork into a copy that needs its parent no more")
    _completed(detach.add_argument("name"))
    add("tree", ("_forks", "tree"), "show catalogs and their forks")
    maintain = add("maintain", ("_maintain", "maintain"), "remove files that nobody can see any more; without a name, those of dropped catalogs")
    _completed(maintain.add_argument("name", nargs="?"))
    maintain.add_argument("--only", choices=("cleanup",), default="cleanup", help="which part (default: all there are: cleanup)")
    maintain.add_argument("-o", "--output", choices=("json",), help="a JSON report for each catalog")
    log = add("log", ("_forks", "log"), "show who did what in a catalog, newest first")
    _completed(log.add_argument("name"))
    log.add_argument("--most", type=int, default=100, metavar="N", help="at most so many (default: 100)")


def _add_credentials(add: Add) -> None:
    credentials = add("credentials", ("_clients", "rotate"), "passwords of catalogs")
    verbs = credentials.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    rotate = add("rotate", ("_clients", "rotate"), "give a catalog a new password; the old one works for a while longer", verbs)
    _completed(rotate.add_argument("name"))
    rotate.add_argument("--grace", default="1h", metavar="DURATION", help="how long the old one works (default: 1h)")


def _add_files(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        required=required,
        default=None if required else [],
        metavar="FILE",
        help="a YAML file, a folder of them, or - (repeatable)",
    )


def _add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="wait until it is ready, or cannot become so")
    parser.add_argument("--timeout", default="60s", metavar="DURATION", help="how long to wait (default: 60s)")


def _completed(argument: argparse.Action) -> None:
    argument.completer = _names  # type: ignore[attr-defined]


def _names(**context: Any) -> Iterator[str]:
    from forklake.local._resources import ResourceFiles
    from forklake.local.home import Home

    yield from sorted(set(ResourceFiles(Home.find(getattr(context["parsed_args"], "home", None)).resources).names()))


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers the shell, if it is the shell that asks."""
    import argcomplete

    argcomplete.autocomplete(parser)
