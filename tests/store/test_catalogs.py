"""Catalogs: made, found, renamed, configured, dropped and brought back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from tests.fixtures.lake import TENANT, Lake

from forklake.catalog import Catalog, Store
from forklake.errors import (
    CatalogExists,
    CatalogNotFound,
    CatalogProtected,
    ForklakeError,
    HistoryGone,
    InvalidName,
    InvalidPath,
    InvalidResource,
    PathOutside,
    PathOverlap,
)


def _count(store: Store, table: str) -> int:
    row = store.connection.execute(f"select count(*) from lake.{table}").fetchone()
    assert row is not None
    return int(row[0])


def test_the_first_catalog_counts_as_a_stock_catalog_does(lake: Lake) -> None:
    first, second = lake.catalog("first"), lake.catalog("second")
    assert (first.catalog_id, second.catalog_id) == (0, 1)
    duck = lake.duck(c=first)
    duck.execute("CREATE TABLE c.t (i INTEGER)")
    assert duck.execute("SELECT table_id FROM __ducklake_metadata_c.ducklake_table").fetchall() == [(1,)]


def test_a_catalog_is_found_listed_and_described(lake: Lake) -> None:
    made = lake.catalog("sales")
    assert lake.store.find(TENANT, "sales") == lake.store.get(made.catalog_id) == made
    assert [c.name for c in lake.store.list_catalogs(TENANT)] == ["sales"]
    assert lake.store.list_catalogs("nobody") == []


def test_a_renamed_catalog_is_still_itself(lake: Lake) -> None:
    made = lake.catalog("sales")
    duck = lake.duck(c=made)
    duck.execute("CREATE TABLE c.t AS SELECT 1 AS i")
    lake.store.rename(made.catalog_id, "orders")
    found = lake.store.find(TENANT, "orders")
    assert (found.uuid, found.data_path) == (made.uuid, made.data_path)
    assert duck.execute("SELECT i FROM c.t").fetchall() == [(1,)]
    with pytest.raises(CatalogNotFound):
        lake.store.find(TENANT, "sales")


def test_a_taken_name_is_refused_and_changes_nothing(lake: Lake) -> None:
    lake.catalog("sales")
    other = lake.catalog("other")
    before = _count(lake.store, "catalog")
    with pytest.raises(CatalogExists, match="team-a/sales"):
        lake.store.create_catalog(TENANT, "sales", f"{lake.folder}/{TENANT}/elsewhere/")
    with pytest.raises(CatalogExists):
        lake.store.rename(other.catalog_id, "sales")
    assert _count(lake.store, "catalog") == before


def test_one_name_may_be_used_by_two_tenants(lake: Lake) -> None:
    assert lake.catalog("sales").uuid != lake.catalog("sales", tenant="team-b").uuid


@pytest.mark.parametrize("name", ["", "Sales", "a b", "-a", "a/b", "a'; drop table lake.catalog; --", "x" * 300])
def test_a_bad_name_is_refused(lake: Lake, name: str) -> None:
    with pytest.raises(InvalidName):
        lake.store.create_catalog(TENANT, name, f"{lake.folder}/{TENANT}/x/")


@pytest.mark.parametrize("other", ["", "/deeper/", "/../sales", "//", "/./"])
def test_an_overlapping_path_is_refused_however_it_is_spelled(lake: Lake, other: str) -> None:
    lake.catalog("sales")
    with pytest.raises(PathOverlap, match="overlaps") as caught:
        lake.store.create_catalog(TENANT, "other", f"{lake.folder}/{TENANT}/sales{other}")
    assert "sales" in str(caught.value.detail)


def test_a_path_that_contains_another_is_refused(lake: Lake) -> None:
    lake.catalog("sales")
    with pytest.raises(PathOverlap):
        lake.store.create_catalog(TENANT, "all", f"{lake.folder}/{TENANT}/")


@pytest.mark.parametrize(("one", "other"), [("b", "bc"), ("b_", "bx"), ("b%", "bb"), ("B", "b"), ("b", "b%2F"), ("b ", "b")])
def test_siblings_with_the_same_beginning_do_not_overlap(store: Store, one: str, other: str) -> None:
    store.create_catalog("t", "one", f"/a/{one}/")
    store.create_catalog("t", "other", f"/a/{other}/")


@pytest.mark.parametrize(
    ("one", "other"), [("s3://b/x", "s3a://B/x/"), ("s3://b/x/", "s3n://b//x/y"), ("/a/x", "file:///a/x/"), ("gs://b/x", "gcs://b/x")]
)
def test_two_spellings_of_one_place_overlap(store: Store, one: str, other: str) -> None:
    store.create_catalog("t", "one", one)
    with pytest.raises(PathOverlap):
        store.create_catalog("t", "other", other)


@pytest.mark.parametrize(
    "path", ["", "relative/", "ftp://h/x", "s3:///x", "/a/../../b", "/a/*/", "/a/'/", '/a/"/', "/a\\b/", "/a\nb/", "file://host/x", "~/x", "C:\\x"]
)
def test_a_path_in_a_form_we_do_not_know_is_refused(store: Store, path: str) -> None:
    with pytest.raises(InvalidPath):
        store.create_catalog("t", "c", path)
    assert _count(store, "catalog") == 0


def test_a_path_outside_of_the_tenants_prefixes_is_refused(lake: Lake) -> None:
    with pytest.raises(PathOutside, match="team-a"):
        lake.store.create_catalog(TENANT, "x", "/somewhere/else/")


def test_of_twenty_that_want_one_place_at_once_one_gets_it(lake: Lake) -> None:
    def attempt(number: int) -> Catalog | type[ForklakeError]:
        with Store.connect(lake.dsn) as mine:
            try:
                return mine.create_catalog(TENANT, f"c{number}", f"{lake.folder}/{TENANT}/place/{'deep/' * (number % 3)}")
            except ForklakeError as error:
                return type(error)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, range(20)))
    assert sum(isinstance(r, Catalog) for r in results) == 1
    assert {r for r in results if not isinstance(r, Catalog)} == {PathOverlap}


def test_an_unknown_setting_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidResource, match="retention"):
        lake.store.create_catalog(TENANT, "x", f"{lake.folder}/{TENANT}/x/", {"retention": "1d"})


def test_a_dropped_catalog_ends_and_comes_back_with_everything(lake: Lake) -> None:
    made = lake.catalog()
    lake.duck(c=made).execute("CREATE TABLE c.t AS SELECT 7 AS i")
    login = lake.logins[made.catalog_id]
    ended = lake.store.drop(made.catalog_id)
    assert ended.end_at is not None
    assert ended.end_at > made.begin_at
    assert lake.store.list_catalogs(TENANT) == []
    assert [c.name for c in lake.store.list_catalogs(TENANT, dropped=True)] == ["sales"]
    with pytest.raises(psycopg.OperationalError, match=f'role "{login.role}" does not exist'):
        lake.tenant(made)
    with pytest.raises(CatalogNotFound, match="undeleted"):
        lake.store.find(TENANT, "sales")
    assert lake.store.undelete(made.catalog_id).end_at is None
    lake.logins[made.catalog_id] = lake.store.create_login(made.catalog_id)
    assert lake.duck(c=made).execute("SELECT i FROM c.t").fetchall() == [(7,)]


def test_dropping_twice_is_once(lake: Lake) -> None:
    made = lake.catalog()
    assert lake.store.drop(made.catalog_id) == lake.store.drop(made.catalog_id)


def test_a_name_that_was_taken_meanwhile_blocks_the_undelete(lake: Lake) -> None:
    made = lake.catalog()
    lake.store.drop(made.catalog_id)
    lake.store.create_catalog(TENANT, "sales", f"{lake.folder}/{TENANT}/sales-2/")
    with pytest.raises(CatalogExists):
        lake.store.undelete(made.catalog_id)


def test_after_clean_up_there_is_no_undelete(lake: Lake) -> None:
    made = lake.catalog()
    lake.store.drop(made.catalog_id)
    lake.store.condemn(made.catalog_id)
    with pytest.raises(HistoryGone, match="clean-up has passed"):
        lake.store.undelete(made.catalog_id)


def test_a_protected_catalog_is_not_dropped(lake: Lake) -> None:
    made = lake.catalog(protected=True)
    with pytest.raises(CatalogProtected):
        lake.store.drop(made.catalog_id)
    lake.store.configure(made.catalog_id, {"protected": False})
    assert lake.store.drop(made.catalog_id).end_at is not None


def test_a_session_that_was_open_cannot_write_to_a_dropped_catalog(lake: Lake) -> None:
    made = lake.catalog()
    tenant = lake.tenant(made)
    lake.store.drop(made.catalog_id)
    with pytest.raises(psycopg.Error) as caught:
        tenant.execute("insert into ducklake.ducklake_snapshot values (1, now(), 0, 1, 0)")
    # its role is gone, or, had Postgres not noticed yet, its right to the catalog
    assert caught.value.sqlstate in ("42704", "FL001")


def test_rotated_credentials_work_at_once_and_the_old_ones_for_a_while(lake: Lake) -> None:
    made = lake.catalog()
    duck = lake.duck(c=made)
    old = lake.logins[made.catalog_id]
    new = lake.store.rotate_login(made.catalog_id, retire_after=timedelta(hours=1))
    assert (new.role, new.password) != (old.role, old.password)
    duck.execute("CREATE TABLE c.t AS SELECT 1 AS i")
    lake.logins[made.catalog_id] = new
    assert lake.duck(c=made).execute("SELECT i FROM c.t").fetchall() == [(1,)]
    assert lake.store.drop_retired_logins() == []
    lake.store.connection.execute("update lake.login set retires = now() - interval '1 minute' where retires is not null")
    assert lake.store.drop_retired_logins() == [old.role]
    assert lake.duck(c=made).execute("SELECT i FROM c.t").fetchall() == [(1,)]


def test_a_login_never_shows_its_password(lake: Lake) -> None:
    made = lake.catalog()
    login = lake.logins[made.catalog_id]
    assert login.password not in repr(login)
    assert login.verifier not in repr(login)
    with pytest.raises(ForklakeError) as caught:
        lake.store._execute("select lake.create_login(%s, %s)", [made.catalog_id, "hunter2"])
    assert "hunter2" not in str(caught.value)


def test_options_of_the_operator_are_kept_and_inherited(lake: Lake) -> None:
    made = lake.catalog()
    lake.store.set_options(made.catalog_id, {"target_file_size": "1000000", "parquet_compression": "zstd"})
    fork = lake.fork(made, "fork")
    lake.store.set_options(fork.catalog_id, {"target_file_size": "2000000"})
    assert lake.store.options(made.catalog_id) == {"target_file_size": "1000000", "parquet_compression": "zstd"}
    assert lake.store.options(fork.catalog_id) == {"target_file_size": "2000000", "parquet_compression": "zstd"}
    shown = dict(lake.duck(f=fork).execute("SELECT option_name, value FROM f.options()").fetchall())
    assert shown["target_file_size"] == "2000000"


def test_setting_an_option_to_what_it_is_draws_no_number(lake: Lake) -> None:
    made = lake.catalog()
    lake.store.set_options(made.catalog_id, {"target_file_size": "1000000"})
    before = lake.store.horizon()
    lake.store.set_options(made.catalog_id, {"target_file_size": "1000000"})
    assert lake.store.horizon() == before
