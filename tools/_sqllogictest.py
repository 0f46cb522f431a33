"""DuckDB's dialect of sqllogictest files: parsing them, and comparing what came with what was expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_NUMBERED = re.compile(r"^\d+ values hashing to ")
_IGNORED = {"tags", "hash-threshold", "sleep", "set", "reset", "continue", "test-env-default"}


class NotRunnable(Exception):
    """A file that needs what we do not have."""


class Failed(Exception):
    """A statement that did not do what the file expects."""

    def __init__(self, command: Command, why: str) -> None:
        super().__init__(f"line {command.line}: {command.sql[:160]} -- {why}")


@dataclass
class Command:
    """One record of a file."""

    kind: str
    words: list[str]
    line: int
    sql: str = ""
    expected: list[str] = field(default_factory=list)
    compares: bool = False
    conditions: list[tuple[str, str]] = field(default_factory=list)
    body: list[Command] = field(default_factory=list)


def parse(text: str) -> list[Command]:
    """The records of a file, loops with their bodies."""
    lines = text.splitlines()
    stack: list[list[Command]] = [[]]
    conditions: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        words = lines[at].split("#")[0].split() if lines[at].startswith("#") else lines[at].split()
        at += 1
        if not words:
            continue
        if words[0] in ("onlyif", "skipif"):
            conditions.append((words[0], words[1]))
            continue
        if words[0] == "endloop":
            body = stack.pop()
            stack[-1][-1].body = body
            continue
        command = _command(words, at)
        command.conditions, conditions = conditions, []
        if command.kind in ("statement", "query"):
            at = _take_sql(command, lines, at)
        stack[-1].append(command)
        if command.kind == "loop" or words[0] in ("concurrentloop", "concurrentforeach"):
            stack.append([])
    return stack[0]


def _command(words: list[str], line: int) -> Command:
    kind, rest = words[0], words[1:]
    if kind in ("statement", "query", "require", "load", "restart", "reconnect", "mode"):
        return Command(kind, rest, line)
    if kind in ("test-env", "set-env"):
        return Command("env", rest, line)
    if kind == "loop":
        return Command("loop", [rest[0], *(str(i) for i in range(int(rest[1]), int(rest[2])))], line)
    if kind == "foreach":
        return Command("loop", rest, line)
    return Command("ignored" if kind in _IGNORED else "unsupported", words, line)


def _take_sql(command: Command, lines: list[str], at: int) -> int:
    start = at
    while at < len(lines) and lines[at].strip() and lines[at].strip() != "----":
        at += 1
    command.sql = "\n".join(lines[start:at])
    if at < len(lines) and lines[at].strip() == "----":
        command.compares = True
        start = at + 1
        at = start
        while at < len(lines) and lines[at].strip("\n") != "":
            at += 1
        command.expected = lines[start:at]
    return at


def text_of(value: Any, kind: str = "") -> str:
    """A value of a type as DuckDB prints it."""
    if isinstance(value, dict) and kind.startswith("MAP"):
        return f"{{{', '.join(f'{_inner(k)}={_inner(v)}' for k, v in value.items())}}}"
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return repr(value) if value == value and abs(value) != float("inf") else str(value)
        case bytes():
            return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02X}" for b in value)
        case list() | tuple():
            return f"[{', '.join(_inner(v) for v in value)}]"
        case dict():
            fields = ", ".join(f"'{k}': {_inner(v)}" for k, v in value.items())
            return f"{{{fields}}}"
        case datetime():
            return value.isoformat(" ").removesuffix(":00") if value.tzinfo else value.isoformat(" ")
        case timedelta() | date() | time() | Decimal():
            return str(value)
    return str(value) if value != "" else "(empty)"


def _inner(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'" if value == "" or re.search(r"[\s,'{}\[\]()=]", value) or value.upper() == "NULL" else value
    return text_of(value)


def matches_error(message: str, expected: list[str]) -> bool:
    """Whether an error says what is expected: a part of it, or a pattern."""
    wanted = "\n".join(expected).strip()
    if wanted.startswith("<REGEX>:"):
        return re.search(wanted.removeprefix("<REGEX>:"), message, re.S) is not None
    if wanted.startswith("<!REGEX>:"):
        return re.search(wanted.removeprefix("<!REGEX>:"), message, re.S) is None
    return wanted.lower() in message.lower()


def same_rows(rows: list[list[str]], expected: list[str], sort: str, columns: int) -> bool:
    """Whether rows are the expected ones, written as rows or one value a line."""
    if expected and _NUMBERED.match(expected[0]):
        return len(rows) * columns == int(expected[0].split()[0])
    if columns > 1 and len(expected) == len(rows) * columns and all("\t" not in line for line in expected):
        wanted = [expected[i : i + columns] for i in range(0, len(expected), columns)]
    else:
        wanted = [line.split("\t") for line in expected]
    if sort == "valuesort":
        rows, wanted = [[v] for v in sorted(v for row in rows for v in row)], [[v] for v in sorted(v for row in wanted for v in row)]
    elif sort == "rowsort":
        rows, wanted = sorted(rows), sorted(wanted)
    return len(rows) == len(wanted) and all(_same_row(row, want) for row, want in zip(rows, wanted, strict=True))


def _same_row(row: Sequence[str], wanted: Sequence[str]) -> bool:
    return len(row) == len(wanted) and all(_same(a, b) for a, b in zip(row, wanted, strict=True))


def _same(value: str, wanted: str) -> bool:
    if wanted.startswith("<REGEX>:"):
        return re.fullmatch(wanted.removeprefix("<REGEX>:"), value, re.S) is not None
    if wanted.startswith("<!REGEX>:"):
        return re.fullmatch(wanted.removeprefix("<!REGEX>:"), value, re.S) is None
    if value == wanted or {value, wanted} in ({"true", "1"}, {"false", "0"}):
        return True
    try:
        return abs(float(value) - float(wanted)) <= 1e-9 * max(1.0, abs(float(wanted)))
    except ValueError:
        return value.replace("'", "") == wanted.replace("'", "")
