"""How things look: tables, ages, sizes, colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def is_coloured() -> bool:
    """Colours on a terminal only, and not where NO_COLOR asks for none."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """The text in a colour, or as it is."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if is_coloured() else text


def table(header: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str | None] = ()) -> str:
    """Columns as wide as they need to be; the widths are counted before anything is coloured."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    hues = [*colours, *[None] * (len(header) - len(colours))]
    lines = [paint("   ".join(cell.ljust(width) for cell, width in zip(header, widths, strict=True)).rstrip(), "bold")]
    for row in rows:
        cells = [_cell(cell, width, hue) for cell, width, hue in zip(row, widths, hues, strict=True)]
        lines.append("   ".join(cells).rstrip())
    return "\n".join(lines)


def _cell(text: str, width: int, colour: str | None) -> str:
    padded = text.ljust(width)
    return paint(padded, colour) if colour else padded


def age(since: datetime | None) -> str:
    """How long ago, in one unit or two: 45s, 12m, 3h, 2d."""
    return span(datetime.now(UTC) - since) if since else "-"


def span(length: timedelta) -> str:
    """A length of time in one unit."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size or (seconds >= size and unit != "m"):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def size(count: int | None) -> str:
    """Bytes for people: 1.2 MiB."""
    if count is None:
        return "-"
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def number(value: int | None) -> str:
    """A number, or a dash for none."""
    return "-" if value is None else str(value)
