"""YAML becomes models, or an error that names the field, the place and the remedy."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from forklake.api import CatalogFork, LakeCatalog, MaintenancePolicy, check_immutable, kind_called, parse_documents, read_documents
from forklake.errors import ImmutableField, InvalidResource

ROOT = Path(__file__).resolve().parents[2]


def resource(kind: str, spec: str = "{}", name: str = "sales") -> str:
    return f"apiVersion: forklake.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def parse(kind: str, spec: str = "{}") -> LakeCatalog | CatalogFork | MaintenancePolicy:
    [document] = parse_documents(resource(kind, spec), "f.yaml")
    return document.resource


def test_the_wire_is_camel_case_and_python_is_not() -> None:
    catalog = parse("LakeCatalog", "{historyRetention: 4h, forks: {maxDepth: 3, namespaces: [team-b]}}")
    assert isinstance(catalog, LakeCatalog)
    assert catalog.spec.history_retention == timedelta(hours=4)
    assert catalog.wire()["spec"] == {"historyRetention": "4h", "forks": {"maxDepth": 3, "namespaces": ["team-b"]}}


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("LakeCatalog", "{dataPth: /x}", "f.yaml: unknown field spec.dataPth; did you mean 'dataPath'?"),
        ("LakeCatalog", "{data_path: /x}", "f.yaml: unknown field spec.data_path; did you mean 'dataPath'?"),
        ("LakeCatalog", "{forks: {maxdepth: 3}}", "f.yaml: unknown field spec.forks.maxdepth; did you mean 'maxDepth'?"),
        ("LakeCatalog", "{forks: {xyz: 3}}", "f.yaml: unknown field spec.forks.xyz; use one of: namespaces, maxDepth, maxForks, protected"),
        ("LakeCatalog", "{forks: {maxDepth: three}}", "f.yaml: spec.forks.maxDepth must be a whole number"),
        ("LakeCatalog", "{forks: {namespaces: [a, B]}}", "f.yaml: spec.forks.namespaces[1] cannot be 'B'; use lower case letters, digits and -"),
        ("LakeCatalog", "{historyRetention: 7x}", "f.yaml: spec.historyRetention: '7x' is not a duration; write it like 7d, 4h or 1h30m"),
        ("LakeCatalog", "{deletionPolicy: Keep}", "f.yaml: spec.deletionPolicy cannot be 'Keep'; use 'Retain' or 'Delete'"),
        ("LakeCatalog", "{options: {target_file_size: 1}}", "f.yaml: spec.options.target_file_size must be a text; put it in quotes"),
        (
            "LakeCatalog",
            "{options: {target_filesize: 1MB}}",
            "f.yaml: spec.options: 'target_filesize' is not an option of DuckLake's that can be set; did you mean 'target_file_size'?",
        ),
        ("LakeCatalog", "{options: {parquet_compression: zip}}", "f.yaml: spec.options: 'parquet_compression' cannot be 'zip'; use one of"),
        ("CatalogFork", "{}", "f.yaml: spec.parent is missing"),
        ("CatalogFork", "{parent: {nam: x}}", "f.yaml: unknown field spec.parent.nam; did you mean 'name'?"),
        ("CatalogFork", "{parent: {name: x}, at: {}}", "f.yaml: spec.at is not right: give either snapshot or timestamp"),
        ("CatalogFork", "{parent: {name: x}, at: {snapshot: 1, timestamp: 2026-01-01T00:00:00Z}}", "give either snapshot or timestamp"),
        ("CatalogFork", "{parent: {name: x}, at: {snapshot: '1'}}", "f.yaml: spec.at.snapshot must be a whole number"),
        ("CatalogFork", "{parent: {name: x}, ttl: 0s}", "ttl must be longer than nothing"),
        (
            "MaintenancePolicy",
            "{schedule: '* * * *'}",
            "f.yaml: spec.schedule: '* * * *' is not a cron expression; it has five fields, like */30 * * * *",
        ),
        ("MaintenancePolicy", "{schedule: '61 * * * *'}", "'61' is not a minute of a cron expression"),
        ("MaintenancePolicy", "{schedule: '@daily', timeZone: Europe/Berln}", "'Europe/Berln' is not a time zone"),
        ("MaintenancePolicy", "{schedule: '@daily', orphans: {olderThan: 1h}}", "olderThan must be at least 24h"),
        ("MaintenancePolicy", "{schedule: '@daily', selector: {matchLables: {a: b}}}", "spec.selector.matchLables; did you mean 'matchLabels'?"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_remedy(kind: str, spec: str, message: str) -> None:
    with pytest.raises(InvalidResource) as error:
        parse(kind, spec)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: LakeCatalog", "write apiVersion: forklake.dev/v1alpha1"),
        (resource("LakeCatalogue"), "there is no kind 'LakeCatalogue'; did you mean 'LakeCatalog'?"),
        (resource("LakeCatalog", name="Sales"), "metadata.name cannot be 'Sales'; use lower case letters"),
        (resource("LakeCatalog", name="../x"), "metadata.name cannot be '../x'"),
        ("- a\n- b", "not a resource"),
        ("a: [", "in line 1: not YAML"),
        (resource("LakeCatalog") + "---\n" + resource("LakeCatalog", "{x: 1}"), "f.yaml, document 2: unknown field spec.x"),
    ],
)
def test_a_document_that_is_no_resource_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidResource) as error:
        list(parse_documents(text, "f.yaml"))
    assert message in str(error.value)


def test_folders_are_read_in_order_and_empty_documents_left_out(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("---\n" + resource("LakeCatalog", name="b") + "---\n")
    (tmp_path / "a.yml").write_text(resource("LakeCatalog", name="a"))
    (tmp_path / "readme.txt").write_text("not ours")
    assert [d.resource.name for d in read_documents([str(tmp_path)])] == ["a", "b"]


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidResource, match=r"missing\.yaml"):
        read_documents([str(tmp_path / "missing.yaml")])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidResource, match="nothing to read"):
        read_documents([str(tmp_path)])


def test_the_examples_are_right() -> None:
    kinds = [d.resource.kind for d in read_documents([str(ROOT / "examples")])]
    assert sorted(kinds) == ["CatalogFork", "LakeCatalog", "MaintenancePolicy"]


@pytest.mark.parametrize(
    ("kind", "old", "new", "field"),
    [
        ("LakeCatalog", "{dataPath: /a}", "{dataPath: /b}", "spec.dataPath"),
        ("LakeCatalog", "{dataPath: /a}", "{}", "spec.dataPath"),
        ("LakeCatalog", "{}", "{store: other}", "spec.store"),
        ("CatalogFork", "{parent: {name: a}}", "{parent: {name: b}}", "spec.parent"),
        ("CatalogFork", "{parent: {name: a}, at: {snapshot: 1}}", "{parent: {name: a}, at: {snapshot: 2}}", "spec.at"),
        ("CatalogFork", "{parent: {name: a}}", "{parent: {name: a}, mode: Copy}", "spec.mode"),
    ],
)
def test_what_cannot_be_changed_is_refused_by_name(kind: str, old: str, new: str, field: str) -> None:
    with pytest.raises(ImmutableField, match=field):
        check_immutable(parse(kind, old), parse(kind, new), "f.yaml")


def test_what_was_not_set_may_be_set_and_the_rest_may_be_changed() -> None:
    check_immutable(parse("LakeCatalog", "{}"), parse("LakeCatalog", "{dataPath: /a, historyRetention: 1d}"), "f.yaml")
    check_immutable(parse("CatalogFork", "{parent: {name: a}}"), parse("CatalogFork", "{parent: {name: a}, ttl: 1h}"), "f.yaml")


@pytest.mark.parametrize("name", ["lc", "LakeCatalog", "lakecatalog", "lakecatalogs", "lakecatalogs.forklake.dev"])
def test_a_kind_has_many_names(name: str) -> None:
    assert kind_called(name) is LakeCatalog


def test_a_kind_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidResource, match="did you mean 'CatalogFork'"):
        kind_called("catalogfrk")
