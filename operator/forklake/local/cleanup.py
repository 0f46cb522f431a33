"""Clean-up on one machine: the store decides what may go, this removes it and says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forklake.catalog import Catalog, Deletion, Store
from forklake.errors import InvalidPath

# As many as fit into one transaction comfortably; killed in between, the next run carries on.
_BATCH = 1000


@dataclass(slots=True)
class CleanUpReport:
    """What one run did."""

    catalog: str
    removed: int = 0
    bytes: int = 0
    kept: list[str] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    rows: int = 0


def clean_up(store: Store, catalog: Catalog, progress: Callable[[CleanUpReport], None] = lambda _: None) -> CleanUpReport:
    """Gives up history that is over its retention and removes the files that nobody can see any more."""
    report = CleanUpReport(f"{catalog.tenant}/{catalog.name}")
    if "://" in catalog.data_path:
        raise InvalidPath(f"the files of {report.catalog!r} are not on this machine", hint="clean-up of object stores comes with the Spark jobs")
    if catalog.end_at is None:
        store.raise_floor(catalog.catalog_id)
    while claims := [claim for claim in store.claim_files(catalog.catalog_id, _BATCH + len(report.kept)) if claim.full_path not in report.kept]:
        store.record_removed(_remove(claims, report))
        progress(report)
    report.rows = store.prune_rows(catalog.catalog_id)
    return report


def clean_up_dropped(store: Store, tenant: str | None = None) -> Sequence[CleanUpReport]:
    """The same for catalogs that were dropped longer ago than their retention: they are given up for good. Retired logins go, too."""
    store.drop_retired_logins()
    store.condemn_dropped()
    return [clean_up(store, catalog) for catalog in store.list_condemned(tenant) if "://" not in catalog.data_path]


def _remove(claims: Sequence[Deletion], report: CleanUpReport) -> list[int]:
    gone = []
    for claim in claims:
        try:
            Path(claim.full_path).unlink(missing_ok=True)
        except OSError:
            # whatever is wrong with it, it stays claimed and the next run tries again
            report.kept.append(claim.full_path)
            continue
        gone.append(claim.deletion_id)
        report.removed += 1
        report.bytes += claim.size_bytes or 0
        report.reasons[claim.reason] = report.reasons.get(claim.reason, 0) + 1
    return gone
