"""The table and the JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from bench._measure import Result
from bench._server import Server

_RESULTS = Path(__file__).parent / "results"
_HEADINGS = ("what", "ours", "rival", "", "ratio", "bar", "limit", "")


def machine(server: Server) -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cpu": _first_of("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "duckdb": duckdb.__version__,
        "store_sql": store_sql(),
        "postgres": server.settings("server_version", "fsync", "synchronous_commit", "shared_buffers"),
    }


def store_sql() -> str:
    """A fingerprint of the SQL that the store is installed from: which of its versions was measured."""
    scripts = sorted(Path(str(files("forklake.catalog") / "sql")).glob("**/*.sql"))
    return sha256(b"".join(script.read_bytes() for script in scripts)).hexdigest()[:12]


def _first_of(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)


def table(results: Sequence[Result], *, headings: bool = True) -> str:
    """All rows, aligned."""
    rows = [*([_HEADINGS] if headings else []), *(_cells(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _cells(result: Result) -> tuple[str, ...]:
    return (
        result.what,
        f"{_number(result.ours)} {result.unit}",
        f"{_number(result.rival)} {result.unit}",
        result.rival_is,
        _number(result.ratio),
        str(result.bar),
        f"{_number(result.limit)} {result.unit}" if result.limit else "",
        "ok" if result.passed else "MISSED",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def notes(results: Sequence[Result]) -> list[str]:
    """What a row has to add, once each."""
    return list(dict.fromkeys(f"{result.name}: {result.note}" for result in results if result.note))


def write(results: Sequence[Result], measured_on: dict[str, Any], *, reduced: bool) -> Path:
    """bench/results/<time>.json, and the same as latest.json; a run of reduced sizes goes to quick.json and nowhere else."""
    now = datetime.now(UTC)
    said = {"at": now.isoformat(timespec="seconds"), "reduced": reduced, "machine": measured_on, "rows": [_row(result) for result in results]}
    _RESULTS.mkdir(exist_ok=True)
    names = ["quick.json"] if reduced else [f"{now:%Y%m%dT%H%M%SZ}.json", "latest.json"]
    for name in names:
        (_RESULTS / name).write_text(json.dumps(said, indent=2) + "\n")
    return _RESULTS / names[-1]


def _row(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "what": result.what,
        "rival_is": result.rival_is,
        "unit": result.unit,
        "ours": result.ours,
        "rival": result.rival,
        "ratio": result.ratio,
        "bar": str(result.bar),
        "limit": result.limit,
        "passed": result.passed,
        "note": result.note,
        "detail": result.detail,
    }
