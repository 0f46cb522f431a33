"""maintain: what keeps catalogs small. Clean-up for now; compaction and the rest come with the Spark jobs."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from forklake.cli._context import located, opened
from forklake.cli._output import size
from forklake.local.cleanup import CleanUpReport, clean_up, clean_up_dropped


def maintain(options: Namespace) -> None:
    """Runs maintenance on a catalog, or, without a name, on what was dropped."""
    with opened(options) as runtime:
        if options.name:
            reports = [clean_up(runtime.store, runtime.store.find(*located(options.name, options)))]
        else:
            reports = list(clean_up_dropped(runtime.store, options.namespace))
    for report in reports:
        print(json.dumps(asdict(report)) if options.output == "json" else _sentence(report))
    if not reports:
        print("nothing that was dropped is due: it can be undeleted for as long as its historyRetention says")


def _sentence(report: CleanUpReport) -> str:
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(report.reasons.items()))
    kept = f"; {len(report.kept)} could not be removed and are kept for the next run" if report.kept else ""
    return (
        f"{report.catalog}: {report.removed} files of {size(report.bytes)} removed{f' ({why})' if why else ''}, {report.rows} rows of metadata{kept}"
    )
