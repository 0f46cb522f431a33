"""What is generated is what is kept, and is what an API server takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tools.crds import crd
from tools.generate import ROOT, generated

from forklake.api import KINDS, Resource


@pytest.mark.parametrize("name", sorted(generated()))
def test_the_kept_file_is_as_generated(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == generated()[name]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


def schema_of(model: type[Resource]) -> dict[str, Any]:
    schema: dict[str, Any] = crd(model)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("model", KINDS)
def test_schemas_are_structural(model: type[Resource]) -> None:
    for path, node in nodes(schema_of(model)):
        assert "type" in node or node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields"), path
        assert not {"$ref", "$defs", "anyOf", "oneOf", "title", "const", "immutable"} & set(node), path
        assert node.get("type") != "null", path
        assert not ("properties" in node and "additionalProperties" in node), path
        assert not isinstance(node.get("exclusiveMinimum"), int) or isinstance(node["exclusiveMinimum"], bool), path


@pytest.mark.parametrize("model", KINDS)
def test_every_field_of_ours_is_described(model: type[Resource]) -> None:
    undescribed = [
        path
        for path, node in nodes(schema_of(model))
        if path.startswith((".spec", ".status")) and not path.endswith("[]") and not node.get("description")
    ]
    assert undescribed == []


@pytest.mark.parametrize("model", KINDS)
def test_conditions_are_a_map_by_type_and_the_status_a_subresource(model: type[Resource]) -> None:
    version = crd(model)["spec"]["versions"][0]
    conditions = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"]
    assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])
    assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("model", KINDS)
def test_printer_columns_begin_with_ready_and_end_with_age(model: type[Resource]) -> None:
    columns = [column["name"] for column in crd(model)["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert (columns[0], columns[-1]) == ("Ready", "Age")


def test_fields_that_cannot_be_changed_say_so_in_cel() -> None:
    rules = {
        path: [rule["rule"] for rule in node["x-kubernetes-validations"]]
        for model in KINDS
        for path, node in nodes(schema_of(model))
        if "x-kubernetes-validations" in node
    }
    assert {path for path, said in rules.items() if said == ["self == oldSelf"]} == {
        ".spec.store", ".spec.dataPath", ".spec.parent", ".spec.at", ".spec.mode",
    }  # fmt: skip
    assert "!has(oldSelf.dataPath) || has(self.dataPath)" in rules[".spec"]
