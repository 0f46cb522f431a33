"""DuckLake's options: which there are, and how DuckLake itself writes their values, so that clients can read what we set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from forklake.api._nearest import suggest
from forklake.api._quantities import parse_size

_CODECS = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
_INTERVAL = r"([0-9]+ (second|minute|hour|day|week|month|year)s? ?)+"


def _truth(value: str) -> str:
    if value.lower() not in ("true", "false"):
        raise ValueError('write it as "true" or "false"')
    return value.lower()


def _count(value: str) -> str:
    if not re.fullmatch(r"[0-9]+", value):
        raise ValueError("write it as a whole number")
    return value


def _bytes(value: str) -> str:
    # DuckDB's units: MB is a million, MiB the other one, as in our own sizes
    return str(parse_size(value))


def _codec(value: str) -> str:
    if value.lower() not in _CODECS:
        raise ValueError(f"use one of {', '.join(_CODECS)}")
    return value.lower()


def _version(value: str) -> str:
    if value.upper().removeprefix("V") not in ("1", "2"):
        raise ValueError("use 1 or 2")
    return f"V{value.upper().removeprefix('V')}"


def _share(value: str) -> str:
    if not re.fullmatch(r"0(\.[0-9]+)?|1(\.0+)?", value):
        raise ValueError("use a share between 0 and 1")
    return f"{float(value):.6f}"


def _interval(value: str) -> str:
    if not re.fullmatch(_INTERVAL, value):
        raise ValueError("write it like 7 days")
    return value


_OPTIONS: dict[str, Callable[[str], str]] = {
    "auto_compact": _truth,
    "delete_older_than": _interval,
    "expire_older_than": _interval,
    "hive_file_pattern": _truth,
    "parquet_compression": _codec,
    "parquet_compression_level": _count,
    "parquet_row_group_size": _count,
    "parquet_row_group_size_bytes": _bytes,
    "parquet_version": _version,
    "per_thread_output": _truth,
    "require_commit_message": _truth,
    "rewrite_delete_threshold": _share,
    "sort_on_insert": _truth,
    "target_file_size": _bytes,
    "write_deletion_vectors": _truth,
}


def stored_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options as DuckLake stores them: 512MB is 512000000. ValueError for one that it does not know."""
    return {name: _stored(name, value) for name, value in options.items()}


def _stored(name: str, value: str) -> str:
    if name not in _OPTIONS:
        raise ValueError(f"{name!r} is not an option of DuckLake's that can be set: {suggest(name, _OPTIONS)}")
    try:
        return _OPTIONS[name](value)
    except ValueError as error:
        remedy = str(error).rpartition(": ")[2]
        raise ValueError(f"{name!r} cannot be {value!r}: {remedy}") from None
