"""Writes crds/ and docs/reference/ from the code; with --check, only says what differs and fails if something does."""

from __future__ import annotations

import sys
from pathlib import Path

from forklake.api import GROUP, KINDS
from tools.crds import crd_text
from tools.reference import cli_page, resources_page
from tools.sql_reference import sql_page

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """Every generated file and what it should hold."""
    files = {f"crds/{GROUP}_{model.plural}.yaml": crd_text(model) for model in KINDS}
    return files | {
        "docs/reference/resources.md": resources_page(),
        "docs/reference/cli.md": cli_page(),
        "docs/reference/sql.md": sql_page(),
    }


def main(arguments: list[str]) -> int:
    """Writes or checks."""
    stale = []
    for name, text in generated().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        print(f"not as generated: {', '.join(stale)}; run: make generate", file=sys.stderr)
        return 1
    print(f"{'written' if stale else 'up to date'}: {', '.join(stale or generated())}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
