"""Whether a text is a cron expression."""

from __future__ import annotations

import re

_NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_MACROS = {"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}


def check_cron(text: str) -> str:
    """The text itself, or ValueError: five fields, or a macro such as @daily."""
    parts = text.split()
    if parts and parts[0] in _MACROS and len(parts) == 1:
        return text
    if len(parts) != len(_FIELDS):
        raise ValueError(f"{text!r} is not a cron expression: it has five fields, like */30 * * * *")
    for part, (name, low, high) in zip(parts, _FIELDS, strict=True):
        if not all(_is_item(item, name, low, high) for item in part.split(",")):
            raise ValueError(f"{part!r} is not a {name} of a cron expression: {low} to {high}, *, a-b, a,b or */n")
    return text


def _is_item(item: str, name: str, low: int, high: int) -> bool:
    spans, _, step = item.partition("/")
    if "/" in item and not re.fullmatch(r"[1-9][0-9]*", step):
        return False
    if spans == "*":
        return True
    ends = [_number(end, name) for end in spans.split("-")]
    return len(ends) <= 2 and all(low <= end <= high for end in ends) and ends == sorted(ends)


def _number(text: str, name: str) -> int:
    names = _NAMES.get(name, [])
    if text.lower() in names:
        return names.index(text.lower()) + (name == "month")
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) else -1
