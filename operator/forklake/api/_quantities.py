"""Durations (7d, 4h, 1h30m) and sizes (512Mi, 2G): what they look like and what they mean."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

DURATION_PATTERN = r"^([0-9]+(w|d|h|m|s))+$"
SIZE_PATTERN = r"^[0-9]+(K|M|G|T|Ki|Mi|Gi|Ti)?B?$"


def parse_duration(text: Any) -> timedelta:
    """7d, 4h, 1h30m, 90s."""
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str) or not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration: write it like 7d, 4h or 1h30m")
    try:
        return timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)([wdhms])", text)))
    except OverflowError:
        raise ValueError(f"{text!r} is longer than can be counted") from None


def format_duration(length: timedelta) -> str:
    """The shortest way to write a duration: 7d, 1h30m."""
    rest = int(length.total_seconds())
    text = ""
    for unit in "dhms":
        count, rest = divmod(rest, _SECONDS[unit])
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def parse_size(text: Any) -> int:
    """512Mi, 2G, 512MB or a number of bytes."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    if not isinstance(text, str) or not re.fullmatch(SIZE_PATTERN, text):
        raise ValueError(f"{text!r} is not a size: write it like 512Mi, 2G or 1048576")
    digits = re.match(r"[0-9]+", text)
    assert digits is not None
    return int(digits[0]) * _BYTES[text[digits.end() :].removesuffix("B")]


def format_size(size: int) -> str:
    """A size in the largest unit that divides it: 512Mi."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if size and size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{unit}"
    return str(size)


def parse_time(text: Any) -> datetime:
    """A moment in RFC 3339; without a zone it is UTC."""
    if isinstance(text, str):
        try:
            text = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a time: write it like 2026-01-31T12:00:00Z") from None
    if not isinstance(text, datetime):
        raise ValueError(f"{text!r} is not a time: write it like 2026-01-31T12:00:00Z")
    return text if text.tzinfo else text.replace(tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """RFC 3339 in UTC, as Kubernetes writes it; fractions of a second only where there are some."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Duration = Annotated[
    timedelta, BeforeValidator(parse_duration), PlainSerializer(format_duration), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
]
Size = Annotated[
    int, BeforeValidator(parse_size), PlainSerializer(format_size), WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": SIZE_PATTERN})
]
Time = Annotated[datetime, BeforeValidator(parse_time), PlainSerializer(format_time), WithJsonSchema({"type": "string", "format": "date-time"})]
