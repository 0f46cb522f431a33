"""maintain: files that nobody can see go, everything else stays, and whoever is killed is carried on for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.local.conftest import Cli, resource


def _files(cli: Cli, name: str) -> set[Path]:
    with cli.runtime() as runtime:
        return set(Path(runtime.store.find(cli.namespace, name).data_path).rglob("*.parquet"))


def _filled(cli: Cli, retention: str = "0s") -> None:
    cli.apply(resource("LakeCatalog", "sales", f"{{deletionPolicy: Delete, historyRetention: {retention}}}"))
    cli.ok("sql", "sales", "CREATE TABLE t (i INTEGER)")
    for number in range(4):
        cli.ok("sql", "sales", f"INSERT INTO t VALUES ({number})")


def test_compacted_files_go_once_no_fork_sees_them(cli: Cli) -> None:
    _filled(cli)
    cli.ok("fork", "sales", "fork")
    cli.ok("sql", "sales", "CALL ducklake_merge_adjacent_files('sales')")
    assert "0 files" in cli.ok("maintain", "sales")
    assert len(_files(cli, "sales")) == 5
    cli.ok("delete", "catalogfork", "fork")
    with cli.runtime() as runtime:
        (dropped,) = runtime.store.list_catalogs(cli.namespace, dropped=True)
        runtime.store.condemn(dropped.catalog_id)
    report = json.loads(cli.ok("maintain", "sales", "-o", "json"))
    assert (report["removed"], report["reasons"], report["kept"]) == (4, {"compacted": 4}, [])
    assert len(_files(cli, "sales")) == 1
    assert "4" in cli.ok("sql", "sales", "SELECT count(*) AS n FROM t")
    assert "0 files" in cli.ok("maintain", "sales")


def test_dropped_catalogs_are_removed_when_their_retention_is_over(cli: Cli) -> None:
    _filled(cli)
    files = _files(cli, "sales")
    assert len(files) == 4
    cli.ok("delete", "lakecatalog", "sales")
    assert "4 files" in cli.ok("maintain")
    assert not any(file.exists() for file in files)


def test_within_its_retention_a_dropped_catalog_keeps_its_files(cli: Cli) -> None:
    _filled(cli, "7d")
    files = _files(cli, "sales")
    cli.ok("delete", "lakecatalog", "sales")
    assert "undeleted" in cli.ok("maintain")
    assert all(file.exists() for file in files)


def test_a_file_that_cannot_be_removed_is_kept_and_tried_again(cli: Cli) -> None:
    _filled(cli)
    before = _files(cli, "sales")
    cli.ok("sql", "sales", "CALL ducklake_merge_adjacent_files('sales')")
    stubborn = sorted(before)[0]
    stubborn.unlink()
    stubborn.mkdir()
    assert "1 could not be removed" in cli.ok("maintain", "sales")
    stubborn.rmdir()
    assert "1 files" in cli.ok("maintain", "sales")
