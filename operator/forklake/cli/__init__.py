"""The command line: `forklake …`. Exit codes: 0 done, 1 an error, 2 `plan` found changes, 64 a usage error, 130 interrupted."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forklake.cli._parser import build_parser, complete
from forklake.errors import ForklakeError, from_postgres

if TYPE_CHECKING:
    import psycopg

OK, FAILED, CHANGES, USAGE, INTERRUPTED = 0, 1, 2, 64, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs forklake and returns its exit code."""
    parser = build_parser()
    complete(parser)
    options = parser.parse_args(argv)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has had enough; Python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        return _report(error, debug=options.debug)


def _run(options: Namespace) -> int:
    module, function = options.run
    command = getattr(importlib.import_module(f"forklake.cli.{module}"), function)
    code = command(options)
    sys.stdout.flush()
    return OK if code is None else int(code)


def _report(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"forklake: {' '.join(_message(error).split())}", file=sys.stderr)
    return FAILED


def _message(error: Exception) -> str:
    import psycopg

    if isinstance(error, psycopg.Error):
        return _store_message(error)
    if isinstance(error, ForklakeError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {str(error.filename)!r}' if error.filename else ''}; check the path, its space and its permissions"
    if type(error).__module__.startswith(("duckdb", "_duckdb")):
        return f"DuckDB said: {str(error).splitlines()[0]}; correct the statement"
    return f"{type(error).__name__}: {error}; this is a mistake of forklake's: --debug shows where"


def _store_message(error: psycopg.Error) -> str:
    try:
        return str(from_postgres(error))
    except type(error):
        return f"the store said: {error.diag.message_primary or type(error).__name__}; --debug shows more"
