"""Attempts of a tenant to have files, folders or forks where they are not its own."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from tests.fixtures.attack import EARLY, SECRET, Arena, commit, said

from forklake.errors import PathOverlap

FILE = "({id}, {first} + 2, 2, null, null, '{path}', {relative}, 'parquet', 1, 1, 1, 0, null, null, null, null)"
DELETES = "({id}, {first} + 2, 2, null, {first} + 99, '{path}', {relative}, 'parquet', 1, 1, 1, null, null)"
TABLE = "({id}, gen_random_uuid(), 2, null, {first}, 't', '{path}', {relative})"
SCHEMA = "({id}, gen_random_uuid(), 2, null, 's', '{path}', {relative})"

RELATIVE = {
    "up": "../f.parquet",
    "up and over": "../../../../team-a/sales/f.parquet",
    "up in the middle": "a/../../f.parquet",
    "up at the end": "a/..",
    "here": "./f.parquet",
    "here in the middle": "a/./f.parquet",
    "empty segment": "a//f.parquet",
    "absolute": "/etc/passwd",
    "a url": "s3://bucket/f.parquet",
    "a url inside": "a/s3://bucket/f.parquet",
    "backslashes": "..\\\\..\\\\f.parquet",
    "a newline": "a\nb.parquet",
    "a tab": "a\tb.parquet",
    "a delete character": "a\x7fb.parquet",
    "empty": "",
    "a setting for the client": "f.parquet?s3_endpoint=evil.example",
    "a wildcard": "*.parquet",
}

ABSOLUTE = {
    "a neighbour's file": "{neighbour_path}main/f.parquet",
    "a sibling with the same beginning": "{attacker_bare}2/f.parquet",
    "a sibling longer by a letter": "{attacker_bare}x",
    "the folder itself": "{attacker_bare}",
    "the folder with its slash": "{attacker_path}",
    "up from the own folder": "{attacker_path}../../team-a/sales/f.parquet",
    "through a neighbour's into the own": "{neighbour_path}../../team-b/mine/f.parquet",
    "here": "{attacker_path}./f.parquet",
    "another case": "{attacker_upper}f.parquet",
    "the root": "/f.parquet",
    "above the root": "/../f.parquet",
    "relative after all": "main/f.parquet",
    "wildcards of LIKE": "{attacker_underscored}f.parquet",
    "percent": "{attacker_percent}f.parquet",
    "percent-encoded": "{attacker_encoded}f.parquet",
    "another scheme": "s3:/{attacker_path}f.parquet",
    "an unknown scheme": "evil://{attacker_path}f.parquet",
    "a file url of a neighbour": "file://{neighbour_path}f.parquet",
    "a file url with a host": "file://evil.example{attacker_path}f.parquet",
    "a file url in capitals": "FILE://LOCALHOST{neighbour_path}f.parquet",
    "backslashes": "{attacker_path}..\\\\..\\\\team-a\\\\f.parquet",
    "a newline": "{attacker_path}a\nb.parquet",
    "a leading blank": " {attacker_path}f.parquet",
    "a setting for the client": "{attacker_path}f.parquet?s3_endpoint=evil.example",
    "a wildcard": "{attacker_path}*.parquet",
}


def spelled(arena: Arena, path: str) -> str:
    """A path with the arena's folders filled in, as a literal of SQL."""
    own = arena.attacker.data_path
    spellings = arena.words() | {
        "attacker_bare": own.rstrip("/"),
        "attacker_upper": own.upper(),
        "attacker_underscored": own.replace("mine", "min_"),
        "attacker_percent": own.replace("mine", "%"),
        "attacker_encoded": own.replace("mine", "%6dine"),
    }
    return path.format(**spellings).replace("\\\\", "\\")


def attempt(arena: Arena, relation: str, row: str, path: str, relative: str) -> psycopg.Error:
    """Inserts a row with a path; it must be refused with an error of a path."""
    shown = spelled(arena, path)
    filled = row.replace("{id}", "{first} + 50").replace("{path}", shown.replace("{", "{{").replace("}", "}}")).replace("{relative}", relative)
    return arena.refused(f"insert into ducklake.ducklake_{relation} values {filled}", "FL004", "FL005")


@pytest.mark.parametrize("trick", RELATIVE)
@pytest.mark.parametrize(("relation", "row"), [("data_file", FILE), ("delete_file", DELETES)], ids=["data file", "delete file"])
def test_a_relative_path_that_leads_elsewhere_is_refused(arena: Arena, relation: str, row: str, trick: str) -> None:
    attempt(arena, relation, row, RELATIVE[trick], "true")


@pytest.mark.parametrize("trick", ABSOLUTE)
@pytest.mark.parametrize(("relation", "row"), [("data_file", FILE), ("delete_file", DELETES)], ids=["data file", "delete file"])
def test_an_absolute_path_that_is_not_plainly_ones_own_is_refused(arena: Arena, relation: str, row: str, trick: str) -> None:
    attempt(arena, relation, row, ABSOLUTE[trick], "false")


@pytest.mark.parametrize("relative", ["null", "true", "false"])
def test_a_path_that_is_null_or_neither_relative_nor_absolute_is_refused(arena: Arena, relative: str) -> None:
    row = FILE.replace("'{path}'", "null").replace("{relative}", relative).replace("{id}", "{first} + 50")
    arena.refused(f"insert into ducklake.ducklake_data_file values {row}", "FL004", "FL005")
    attempt(arena, "data_file", FILE, "../f.parquet", relative)


@pytest.mark.parametrize(
    "path", ["../", "..", "a/../", "./", "a//", "//", "/", "/etc/", "s3://bucket/", "a\\\\b/", "a\nb/", "{neighbour_path}", "a?b/", "*/"]
)
@pytest.mark.parametrize(("relation", "row"), [("table", TABLE), ("schema", SCHEMA)], ids=["table", "schema"])
def test_a_relative_folder_that_leads_elsewhere_is_refused(arena: Arena, relation: str, row: str, path: str) -> None:
    attempt(arena, relation, row, path, "true")


@pytest.mark.parametrize(
    "path",
    [
        "{neighbour_path}",
        "{neighbour_path}main/",
        "{attacker_bare}x/",
        "{attacker_path}../sales/",
        "/",
        "{attacker_upper}a/",
        "s3://bucket/",
        "file://{neighbour_path}",
        "{attacker_encoded}a/",
        "{attacker_underscored}a/",
        "main/",
        "{attacker_path}a*/",
        "",
    ],
)
@pytest.mark.parametrize(("relation", "row"), [("table", TABLE), ("schema", SCHEMA)], ids=["table", "schema"])
def test_an_absolute_folder_that_is_not_ones_own_is_refused(arena: Arena, relation: str, row: str, path: str) -> None:
    attempt(arena, relation, row, path, "false")


@pytest.mark.parametrize(
    "change",
    [
        "ducklake_data_file set path = '{neighbour_path}f.parquet', path_is_relative = false",
        "ducklake_data_file set path = '../f.parquet'",
        "ducklake_data_file set path_is_relative = false",
        "ducklake_delete_file set path = '{neighbour_path}f.parquet'",
        "ducklake_delete_file set path_is_relative = null",
        "ducklake_table set path = '{neighbour_path}', path_is_relative = false",
        "ducklake_table set path_is_relative = false",
        "ducklake_schema set path = '../../team-a/sales/'",
        "ducklake_schema set path = null",
    ],
)
def test_a_path_cannot_be_changed_afterwards(arena: Arena, change: str) -> None:
    arena.refused(f"update ducklake.{change}", "FL015")


def test_what_a_copy_brings_is_checked_as_well(arena: Arena) -> None:
    first = arena.first_id(arena.attacker)
    columns = "data_file_id, table_id, path, path_is_relative"
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection, pytest.raises(psycopg.Error) as caught:  # noqa: SIM117
        with connection.cursor().copy(f"copy ducklake.ducklake_data_file ({columns}) from stdin") as copy:
            copy.write_row((first + 50, first + 2, f"{arena.neighbour.data_path}f.parquet", False))
    assert caught.value.sqlstate == "FL005"


@pytest.mark.parametrize(
    "setting", ["standard_conforming_strings = off", "transform_null_equals = on", "backslash_quote = on", "escape_string_warning = off"]
)
def test_settings_that_change_how_sql_is_read_do_not_open_a_way(arena: Arena, setting: str) -> None:
    """The functions of forklake are parsed in the attacker's session, with its settings."""
    first = arena.first_id(arena.attacker)
    with arena.unchanged(), arena.lake.tenant(arena.attacker) as connection:
        connection.execute("set client_min_messages = error")
        connection.execute(f"set {setting}")
        for path, relative in (("../f.parquet", "true"), ("a/../../f", "true"), (f"{arena.neighbour.data_path}f", "false")):
            row = FILE.replace("{id}", f"{first + 50}").replace("{first}", str(first)).replace("{path}", path).replace("{relative}", relative)
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"insert into ducklake.ducklake_data_file values {row}")
            # 2201B: the check itself cannot be read any more, and so nothing passes it
            assert caught.value.sqlstate in ("FL004", "FL005", "2201B")


def test_percent_encoding_in_the_own_folder_stays_what_it_is(own_arena: Arena) -> None:
    """To an object store %2e%2e is a name like any other: it is kept byte for byte and never leads anywhere."""
    first = own_arena.first_id(own_arena.attacker)
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        row = (
            FILE.replace("{id}", str(first + 50))
            .replace("{first}", str(first))
            .replace("{path}", "%2e%2e/%2e%2e/f.parquet")
            .replace("{relative}", "true")
        )
        connection.execute(f"insert into ducklake.ducklake_data_file values {row}")
    found = own_arena.root.execute("select full_path, owner_id from lake.ducklake_data_file where data_file_id = %s", [first + 50]).fetchone()
    assert found is not None
    assert found[0].startswith(own_arena.attacker.data_path)
    assert found[0].endswith("/%2e%2e/%2e%2e/f.parquet")
    assert found[1] == own_arena.attacker.catalog_id


@pytest.mark.parametrize(
    "path",
    [
        "{neighbour_path}secret.parquet",
        "{folder}/team-a/x/../sales/secret.parquet",
        "file://{neighbour_path}secret.parquet",
        "{shared_path}secret.parquet",
    ],
)
def test_an_external_path_that_contains_another_catalog_does_not_give_its_files(own_arena: Arena, path: str) -> None:
    own_arena.lake.store.configure(own_arena.attacker.catalog_id, {"external_paths": [f"{own_arena.lake.folder}/"]})
    shown = path.format(neighbour_path=own_arena.neighbour.data_path, shared_path=own_arena.shared.data_path, folder=own_arena.lake.folder)
    attempt(own_arena, "data_file", FILE, shown, "false")


def test_a_dropped_neighbours_files_are_not_up_for_taking(own_arena: Arena) -> None:
    own_arena.lake.store.drop(own_arena.neighbour.catalog_id)
    own_arena.lake.store.configure(own_arena.attacker.catalog_id, {"external_paths": [f"{own_arena.lake.folder}/"]})
    attempt(own_arena, "data_file", FILE, "{neighbour_path}f.parquet", "false")
    own_arena.refused("select * from forklake.fork_catalog('mine', 'x', '{neighbour_path}')", "FL005")


def test_a_fork_cannot_put_files_into_its_parents_folder_through_an_inherited_table(own_arena: Arena) -> None:
    """A table with an absolute path is legal in the parent; what a fork adds to it must still be the fork's own."""
    first = own_arena.first_id(own_arena.shared)
    home = own_arena.shared.data_path
    with own_arena.lake.tenant(own_arena.shared) as parent:
        parent.execute(f"insert into ducklake.ducklake_schema values ({first + 61}, gen_random_uuid(), 3, null, 'abs', '{home}abs/', false)")
        for number, schema in ((62, 1), (63, 61)):
            path, relative = (f"{home}abs/t/", "false") if schema == 1 else ("t/", "true")
            row = f"({first + number}, gen_random_uuid(), 3, null, {first + schema}, 'abs', '{path}', {relative})"
            parent.execute(f"insert into ducklake.ducklake_table values {row}")
    fork = own_arena.lake.fork(own_arena.shared, "late", tenant="team-b")
    for table in (first + 62, first + 63):
        row = FILE.replace("{id}", str(own_arena.first_id(fork) + 1)).replace("{first} + 2", str(table))
        row = row.replace("{path}", "f.parquet").replace("{relative}", "true")
        own_arena.refused(f"insert into ducklake.ducklake_data_file values {row}", "FL005", by=fork)


@pytest.mark.parametrize("path", ["abfs://box@host/lake/", "ABFSS://box@HOST/lake/a/", "abfss://box@host//lake/./b/", "abfs://box@host/"])
def test_two_spellings_of_one_container_overlap(own_arena: Arena, path: str) -> None:
    own_arena.lake.store.create_catalog("team-c", "one", "abfss://box@host/lake/")
    with own_arena.unchanged(), pytest.raises(PathOverlap):
        own_arena.lake.store.create_catalog("team-d", "two", path)


@pytest.mark.parametrize("path", ["s3a://Bucket/team/", "S3://bucket/team/a/", "s3n://bucket//team/./", "s3://bucket/x/../team/b/"])
def test_two_spellings_of_one_bucket_overlap(own_arena: Arena, path: str) -> None:
    own_arena.lake.store.create_catalog("team-c", "one", "s3://bucket/team/")
    with own_arena.unchanged(), pytest.raises(PathOverlap):
        own_arena.lake.store.create_catalog("team-d", "two", path)
    own_arena.lake.store.create_catalog("team-d", "beside", "s3://bucket/team-b/")
    own_arena.lake.store.create_catalog("team-d", "like", "s3://bucket/tea_/")


@pytest.mark.parametrize("path", ["../sales/f.parquet", "../../team-a/sales/f.parquet", "a\nb", "/etc/passwd", "a/../../b", "", "a//b", "*"])
def test_a_relative_path_that_leads_elsewhere_cannot_be_scheduled_for_deletion(arena: Arena, path: str) -> None:
    arena.refused(f"insert into ducklake.ducklake_files_scheduled_for_deletion values (1, '{path}', true, now())", "FL004", "FL005")


@pytest.mark.parametrize("path", ["evil://x/y", "relative/after/all", "/a\nb", "/../x", "s3:///x"])
def test_what_is_no_path_cannot_be_scheduled_for_deletion(arena: Arena, path: str) -> None:
    """It would stop clean-up, which has to read it later."""
    for relative in ("false", "null"):
        arena.refused(f"insert into ducklake.ducklake_files_scheduled_for_deletion values (1, '{path}', {relative}, now())", "FL004", "FL005")


def test_a_neighbours_files_scheduled_for_deletion_are_passed_over(own_arena: Arena) -> None:
    """A fork's client schedules files of the parent's, so the queue takes them; clean-up must not."""
    secret = f"{own_arena.neighbour.data_path}{SECRET}/{SECRET}/{SECRET}.parquet"
    store = own_arena.lake.store
    store.configure(own_arena.attacker.catalog_id, {"history_retention": "0 seconds"})
    own = own_arena.attacker.data_path
    paths = [secret, f"file://{secret}", f"{own}../../team-a/sales/x.parquet", "/etc/passwd", f"{own}mine.parquet"]
    with own_arena.unchanged(own_arena.attacker), own_arena.lake.tenant(own_arena.attacker) as connection:
        for path in paths:
            connection.execute(f"insert into ducklake.ducklake_files_scheduled_for_deletion values (1, '{path}', false, now())")
        commit(connection, own_arena.attacker, "later", offset=40)
    store.raise_floor(own_arena.attacker.catalog_id, timedelta(0))
    claimed = [found.full_path for found in store.claim_files(own_arena.attacker.catalog_id)]
    assert all(path.startswith(own_arena.attacker.data_path) for path in claimed)
    assert paths[-1] in claimed


S3 = {
    "a neighbour's": "s3://lake/them/f",
    "a neighbour's in another scheme": "s3a://lake/them/f",
    "a neighbour's in capitals": "S3N://LAKE/them/f",
    "up": "s3://lake/me/../them/f",
    "a key in the neighbour's prefix": "s3://lake/them/../me/f",
    "a key that is another than it seems": "s3://lake/me//f",
    "here": "s3://lake/me/./f",
    "a sibling with the same beginning": "s3://lake/me2/f",
    "another case of the key": "s3://lake/ME/f",
    "percent-encoded": "s3://lake/%6de/f",
    "LIKE": "s3://lake/m_/f",
    "a user before the bucket": "s3://lake@evil/me/f",
    "a bucket that ends alike": "s3://evil-lake/me/f",
    "a port": "s3://lake:99/me/f",
    "no bucket": "s3:///lake/me/f",
    "one slash": "s3:/lake/me/f",
    "a setting": "s3://lake/me/f?s3_endpoint=evil.example",
    "another service": "gs://lake/me/f",
    "https": "https://lake.s3.amazonaws.com/me/f",
}


@pytest.mark.parametrize("trick", S3)
def test_a_url_that_is_not_plainly_ones_own_is_refused(own_arena: Arena, trick: str) -> None:
    lake = own_arena.lake
    lake.store.create_catalog("team-c", "them", "s3://lake/them/")
    mine = lake.store.create_catalog("team-d", "me", "s3://lake/me/")
    lake.logins[mine.catalog_id] = lake.store.create_login(mine.catalog_id)
    row = FILE.replace("{id}", str(own_arena.first_id(mine) + 1)).replace("{path}", S3[trick]).replace("{relative}", "false")
    own_arena.refused(f"insert into ducklake.ducklake_data_file values {row}", "FL004", "FL005", by=mine)
    # the same row is taken where it is right
    with lake.tenant(mine) as connection:
        connection.execute(f"insert into ducklake.ducklake_data_file values {row}".replace(S3[trick], "S3A://Lake/me/f").format(**own_arena.words()))


def test_scheduling_the_files_that_a_fork_reads_does_not_get_them_claimed(own_arena: Arena) -> None:
    """The parent schedules every file it ever had; its fork keeps them, and so do its neighbours keep theirs."""
    store = own_arena.lake.store
    for catalog in (own_arena.shared, own_arena.attacker, own_arena.neighbour):
        store.configure(catalog.catalog_id, {"history_retention": "0 seconds"})
    with own_arena.lake.tenant(own_arena.shared) as parent:
        parent.execute("delete from ducklake.ducklake_data_file")
        parent.execute(f"insert into ducklake.ducklake_files_scheduled_for_deletion values (1, '{EARLY}/{EARLY}/{EARLY}.parquet', true, now())")
        parent.execute("insert into ducklake.ducklake_files_scheduled_for_deletion values (1, 'main/really-nobodys.parquet', true, now())")
        commit(parent, own_arena.shared, "later", offset=40)
    claimed: list[str] = []
    for catalog in (own_arena.shared, own_arena.attacker, own_arena.neighbour):
        store.raise_floor(catalog.catalog_id, timedelta(0))
        claimed += [found.full_path for found in store.claim_files(catalog.catalog_id)]
    assert not [path for path in claimed if path.endswith((f"{EARLY}.parquet", f"{SECRET}.parquet"))]
    # and what is nobody's does go, or this test would prove nothing
    assert [path for path in claimed if path.endswith("really-nobodys.parquet")]


@pytest.mark.parametrize(
    "parent", ["team-a/sales", "team-a/none", "team-c/none", "sales", "none", "team-a/sales/x", "team-a/", "/", "/sales", "", "TEAM-A/SALES"]
)
def test_a_catalog_that_was_not_granted_and_one_that_does_not_exist_give_one_answer(arena: Arena, parent: str) -> None:
    error = arena.refused(f"select * from forklake.fork_catalog('{parent}', 'spy')", "FL009")
    assert said(error).replace(repr(parent), "…") == said(arena.refused("select * from forklake.fork_catalog('nowhere', 'spy')", "FL009")).replace(
        "'nowhere'", "…"
    )


@pytest.mark.parametrize(
    ("arguments", "sqlstates"),
    [
        ("'mine', 'spy', '{neighbour_path}'", ["FL005"]),
        ("'mine', 'spy', '{neighbour_path}inside/'", ["FL005"]),
        ("'mine', 'spy', '/'", ["FL005"]),
        ("'mine', 'spy', '/tmp/elsewhere/'", ["FL005"]),
        ("'mine', 'spy', '{attacker_path}../../team-a/spy/'", ["FL005"]),
        ("'mine', 'spy', '{attacker_path}../../team-bb/spy/'", ["FL005"]),
        ("'mine', 'spy', 's3://bucket/spy/'", ["FL005"]),
        ("'mine', 'spy', 'file:///etc/'", ["FL005"]),
        ("'mine', 'spy', 'relative/'", ["FL004"]),
        ("'mine', 'spy', ''", ["FL004"]),
        ("'mine', 'spy', '{attacker_path}'", ["FL003"]),
        ("'mine', 'spy', '{attacker_path}inside/'", ["FL003"]),
        ("'mine', 'spy', '{attacker_path}..'", ["FL003"]),
        ("'mine', 'spy', '{child_path}x/'", ["FL003"]),
        ("'mine', 'other'", ["FL002"]),
        ("'mine', 'spy''; drop table lake.catalog; --'", ["FL004", "FL019"]),
        ("'mine', 'spy\\'", ["FL004", "FL019"]),
        ("'mine', '../../team-a/spy'", ["FL004", "FL005", "FL019"]),
        ("'mine', 'SPY'", ["FL019"]),
        ("'mine', ''", ["FL019"]),
        ("'mine', repeat('a', 300)", ["FL019"]),
        ("'mine', null", ["FL005", "FL019"]),
        ("null, 'spy'", ["FL009"]),
        ("null, null", ["FL009"]),
        ("'mine', 'spy', null, -1", ["FL006"]),
        ("'mine', 'spy', null, 999", ["FL007"]),
        ("'mine', 'spy', null, 9223372036854775807", ["FL007"]),
        ("'mine', 'spy', null, null, 'infinity'", ["FL007"]),
        ("'mine', 'spy', null, null, '-infinity'", ["FL006"]),
    ],
)
def test_a_fork_outside_of_the_own_prefixes_or_with_a_bad_name_is_refused(arena: Arena, arguments: str, sqlstates: list[str]) -> None:
    error = arena.refused(f"select * from forklake.fork_catalog({arguments})", *sqlstates)
    assert "lake.catalog;" not in said(error) or "drop table" in arguments


@pytest.mark.parametrize("name", ["sales", "shared", "mine", "other", "child", "none", "", "' or true --", "%"])
def test_a_fork_that_one_did_not_make_cannot_be_dropped(arena: Arena, name: str) -> None:
    quoted = name.replace("'", "''")
    arena.refused(f"select forklake.drop_fork('{quoted}')", "FL001")


def test_a_fork_made_by_another_login_of_the_tenant_cannot_be_dropped(own_arena: Arena) -> None:
    with own_arena.lake.tenant(own_arena.sibling) as connection:
        connection.execute("select forklake.fork_catalog('other', 'theirs')")
    own_arena.refused("select forklake.drop_fork('theirs')", "FL001")


def test_a_tenant_without_prefixes_cannot_fork(own_arena: Arena) -> None:
    own_arena.root.execute("delete from lake.tenant where tenant = 'team-b'")
    own_arena.refused("select * from forklake.fork_catalog('mine', 'spy')", "FL009")
    own_arena.refused("select * from forklake.fork_catalog('mine', 'spy', '{attacker_path}x/')", "FL009")


def test_a_grant_that_was_taken_back_no_longer_lets_fork(own_arena: Arena) -> None:
    own_arena.lake.store.configure(own_arena.shared.catalog_id, {"fork_tenants": ["team-c"]})
    own_arena.refused("select * from forklake.fork_catalog('team-a/shared', 'spy')", "FL009")


def test_the_owners_limits_hold_for_forks_made_at_the_same_time(own_arena: Arena) -> None:
    """One fork exists; the owner allows two; two more are tried, neither of which sees the other."""
    own_arena.lake.store.configure(own_arena.shared.catalog_id, {"max_forks": 2})
    with own_arena.lake.tenant(own_arena.attacker) as one, own_arena.lake.tenant(own_arena.sibling) as two:
        one.execute("begin; select forklake.fork_catalog('team-a/shared', 'first')")
        two.execute("set lock_timeout = '2s'")
        with pytest.raises(psycopg.Error) as caught:
            two.execute("select forklake.fork_catalog('team-a/shared', 'second')")
        one.execute("commit")
    assert caught.value.sqlstate in ("FL014", "55P03")
    count = "select count(*) from lake.catalog where parent_id = %s"
    assert own_arena.root.execute(count, [own_arena.shared.catalog_id]).fetchone() == (2,)
