"""Durations, sizes and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from forklake.api import format_duration, format_size, format_time, parse_duration, parse_size, parse_time


@pytest.mark.parametrize(
    ("text", "length"),
    [("7d", timedelta(days=7)), ("4h", timedelta(hours=4)), ("1h30m", timedelta(minutes=90)), ("2w", timedelta(days=14)), ("0s", timedelta(0))],
)
def test_durations_are_read(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "7", "7x", "-1h", "1.5h", " 1h", "1h ", 7, None, "1h30"])
def test_what_is_no_duration_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match="like 7d, 4h or 1h30m"):
        parse_duration(text)


def test_a_duration_too_long_to_count_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than can be counted"):
        parse_duration("9" * 30 + "d")


@pytest.mark.parametrize("text", ["7d", "4h", "1h30m", "45s", "0s", "1d1s"])
def test_durations_are_written_as_they_were_read(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(("text", "size"), [("512Mi", 512 * 2**20), ("2G", 2 * 10**9), ("512MB", 512 * 10**6), ("1KiB", 1024), ("7", 7), (7, 7)])
def test_sizes_are_read(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "Mi", "5 Mi", "-1", -1, 1.5, True, "5X"])
def test_what_is_no_size_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match="like 512Mi"):
        parse_size(text)


@pytest.mark.parametrize("text", ["512Mi", "1Gi", "1000", "0"])
def test_sizes_are_written_as_they_were_read(text: str) -> None:
    assert format_size(parse_size(text)) == text


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert parse_time("2026-01-31T12:00:00") == parse_time("2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert format_time(parse_time("2026-01-31T13:00:00+01:00")) == "2026-01-31T12:00:00Z"
