"""Every fixture file has one topic; they are listed here."""

from __future__ import annotations

pytest_plugins = ["tests.fixtures.postgres", "tests.fixtures.lake", "tests.fixtures.attack", "tests.fixtures.client"]
