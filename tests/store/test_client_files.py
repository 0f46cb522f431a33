"""A stock client registers files that it did not write: inside the DATA_PATH or under externalPaths, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.fixtures.client import Place


def parquet(place: Place, folder: str, first: int) -> str:
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = f"{folder}/some {first}.parquet"
    place.run(f"COPY (SELECT i::INTEGER AS i, 'file' AS s, NULL::DATE AS d FROM range({first}, {first + 10}) r (i)) TO '{path}' (FORMAT parquet)")
    return path


def test_files_in_the_data_path_and_under_external_paths_are_added(place: Place) -> None:
    inside = parquet(place, f"{place.catalog.data_path}brought", 1000)
    external = parquet(place, f"{place.lake.folder}/external/feed", 2000)
    if place.name != "catalog":
        place.lake.store.configure(place.catalog.catalog_id, {"external_paths": [f"{place.lake.folder}/external/"]})
    bytes_before = Path(external).read_bytes()
    place.run(f"CALL ducklake_add_data_files('lake', 'base', '{inside}')", f"CALL ducklake_add_data_files('lake', 'base', '{external}')")
    assert place.fresh("SELECT count(*), max(i) FROM lake.base") == [(112, 2009)]
    place.run("DELETE FROM lake.base WHERE i = 2005", "CALL ducklake_rewrite_data_files('lake', 'base', delete_threshold => 0)")
    assert place.fresh("SELECT count(*) FROM lake.base WHERE s = 'file'") == [(19,)]
    assert Path(external).read_bytes() == bytes_before


@pytest.mark.parametrize("where", ["elsewhere", "team-a/seeded/main/base", "team-a/forks/nobody", "external-too"])
def test_files_elsewhere_are_refused_with_their_path_and_the_rule(fork: Place, where: str) -> None:
    before = fork.latest()
    path = parquet(fork, f"{fork.lake.folder}/{where}", 3000)
    with pytest.raises(duckdb.TransactionException, match="is outside of the catalog's DATA_PATH") as refused:
        fork.run(f"CALL ducklake_add_data_files('lake', 'base', '{path}')")
    Path(path).unlink()
    assert path in str(refused.value)
    assert "externalPaths" in str(refused.value)
    assert fork.latest() == before
    assert fork.fresh("SELECT count(*) FROM lake.base") == [(92,)]


def test_a_file_of_the_parent_is_not_to_be_added_again_by_its_path(fork: Place) -> None:
    path = fork.value("SELECT data_file FROM ducklake_list_files('lake', 'base') LIMIT 1")
    fork.lake.store.configure(fork.catalog.catalog_id, {"external_paths": [f"{fork.lake.folder}/"]})
    with pytest.raises(duckdb.TransactionException, match="belongs to another catalog"):
        fork.run(f"CALL ducklake_add_data_files('lake', 'base', '{path}', allow_missing => true)")
    assert fork.fresh("SELECT count(*) FROM lake.base") == [(92,)]


def test_an_encrypted_catalog_and_its_fork_read_and_write_encrypted_files(place_encrypted: Place) -> None:
    place_encrypted.run("INSERT INTO lake.secret VALUES (2)", "DELETE FROM lake.secret WHERE i = 1", "INSERT INTO lake.secret VALUES (3), (4)")
    assert place_encrypted.fresh("SELECT i FROM lake.secret ORDER BY i") == [(2,), (3,), (4,)]
    place_encrypted.run("CALL ducklake_merge_adjacent_files('lake')")
    assert place_encrypted.fresh("SELECT i FROM lake.secret ORDER BY i") == [(2,), (3,), (4,)]
    for path in place_encrypted.files():
        with pytest.raises(duckdb.Error, match="encrypted"):
            place_encrypted.run(f"FROM '{path}'")
    with pytest.raises(duckdb.Error, match=r"(?i)encrypt"):
        place_encrypted.another(", ENCRYPTED false")
