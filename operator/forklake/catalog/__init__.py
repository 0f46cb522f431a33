"""The metadata store: catalogs and forks in Postgres. The SQL in sql/ does the work; this package calls it."""

from __future__ import annotations

from forklake.catalog._install import STORE_VERSION, install, store_version
from forklake.catalog._logins import Login, new_login
from forklake.catalog._models import Catalog, Deletion, ForkPoint, ForkRequest, TreeNode, Usage
from forklake.catalog.store import Store

__all__ = [
    "STORE_VERSION",
    "Catalog",
    "Deletion",
    "ForkPoint",
    "ForkRequest",
    "Login",
    "Store",
    "TreeNode",
    "Usage",
    "install",
    "new_login",
    "store_version",
]
