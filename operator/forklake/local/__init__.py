"""The embedded forklake: Postgres from a wheel, resources in files, the same reconcile as in a cluster."""

from __future__ import annotations

from forklake.local.home import Home
from forklake.local.postgres import LocalPostgres
from forklake.local.runtime import Change, Runtime, in_order

__all__ = ["Change", "Home", "LocalPostgres", "Runtime", "in_order"]
