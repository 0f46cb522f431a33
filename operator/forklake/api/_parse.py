"""From a YAML document to a model, with errors that name the field, the place and the nearest right name."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from forklake.api._base import API_VERSION, Strict
from forklake.api._catalogs import immutable_fields
from forklake.api._kinds import KINDS, AnyResource
from forklake.api._nearest import suggest
from forklake.errors import ImmutableField, InvalidResource

_PLAIN = {
    "missing": "is missing",
    "string_type": "must be a text: put it in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must hold fields",
    "model_type": "must hold fields",
}


def parse_resource(document: Any, source: str) -> AnyResource:
    """A resource from what YAML made of it; `source` says in errors where it was written."""
    model = _model_of(document, source)
    try:
        return model.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _explain(error, model, source) from None


def _model_of(document: Any, source: str) -> type[AnyResource]:
    if not isinstance(document, dict):
        raise InvalidResource(f"{source}: not a resource", hint=f"it begins with apiVersion: {API_VERSION} and kind")
    if document.get("apiVersion") != API_VERSION:
        raise InvalidResource(f"{source}: apiVersion is {document.get('apiVersion')!r}", hint=f"write apiVersion: {API_VERSION}")
    kind = document.get("kind")
    for model in KINDS:
        if model.kind_name == kind:
            return model
    raise InvalidResource(f"{source}: there is no kind {kind!r}", hint=suggest(str(kind), [k.kind_name for k in KINDS]))


def _explain(error: ValidationError, model: type[BaseModel], source: str) -> InvalidResource:
    # of a choice (a word or a list) every branch complains: the one that looked deepest knows best
    details = min(error.errors(include_url=False), key=lambda d: (d["type"] != "extra_forbidden", -len(d["loc"])))
    path = [part for part in details["loc"] if not _is_branch(part)]
    where = _written(path)
    if details["type"] == "extra_forbidden":
        siblings = _fields_at(model, path[:-1])
        return InvalidResource(f"{source}: unknown field {where}", hint=suggest(str(path[-1]), siblings))
    said, remedy = _said(details)
    return InvalidResource(
        f"{source}: {where or 'it'} {said}" if not where or not said.startswith("'") else f"{source}: {where}: {said}", hint=remedy
    )


def _said(details: ErrorDetails) -> tuple[str, str | None]:
    if details["type"] in _PLAIN:
        said, _, remedy = _PLAIN[details["type"]].partition(": ")
        return said, remedy or None
    if details["type"] == "value_error":
        said, _, remedy = str(details["ctx"]["error"]).partition(": ")
        return (said if said.startswith("'") else f"is not right: {said}"), remedy or None
    if details["type"] == "literal_error":
        return f"cannot be {details['input']!r}", f"use {details['ctx']['expected']}"
    if details["type"] == "string_pattern_mismatch":
        return f"cannot be {details['input']!r}", "use lower case letters, digits and -"
    message = details["msg"]
    return f"is not right: {message[0].lower()}{message[1:]}", None


def _is_branch(part: int | str) -> bool:
    # pydantic adds the branch of a choice to the path: literal['Same','All'], list[...]
    return isinstance(part, str) and "[" in part


def _written(path: list[int | str]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _fields_at(model: type[BaseModel], path: list[int | str]) -> list[str]:
    """The names that would have been right at a place."""
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for f in model.model_fields.values() if f.alias == part), None)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for argument in get_args(annotation) if (found := _model_in(argument))), None)


def check_immutable(old: AnyResource, new: AnyResource, source: str) -> None:
    """Refuses a change of a field that cannot be changed, as CEL does in a cluster: one that was not set may be set."""
    spec: type[Strict] = type(new.spec)
    for name in immutable_fields(spec):
        was, wanted = getattr(old.spec, name), getattr(new.spec, name)
        if was is not None and was != wanted:
            alias = spec.model_fields[name].alias
            raise ImmutableField(
                f"{source}: spec.{alias} of {new.key} cannot be changed", hint="put it back, or delete the resource and make a new one"
            )
