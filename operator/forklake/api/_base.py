"""What all kinds have in common: strict models, metadata, conditions."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from forklake.api._quantities import Time

GROUP = "forklake.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
NAMESPACE_PATTERN = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


def immutable(description: str, **options: Any) -> Any:
    """A field that cannot be changed once it is set: by CEL in a cluster, by `check_immutable` everywhere."""
    return Field(description=description, json_schema_extra={"immutable": True}, **options)


class Strict(BaseModel):
    """camelCase on the wire, snake_case in Python, nothing that is not declared, nothing converted silently."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        strict=True,
        frozen=True,
    )

    def wire(self) -> dict[str, Any]:
        """As it is written in YAML: only what was said."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


class Metadata(Strict):
    """Kubernetes' ObjectMeta, as far as it matters here; what only the API server writes is taken and left alone."""

    name: str = Field(description="name of the resource; LakeCatalogs and CatalogForks of a namespace share one set of names", pattern=NAME_PATTERN)
    namespace: str | None = Field(default=None, description="namespace, that is tenant, of the resource", pattern=NAMESPACE_PATTERN)
    labels: dict[str, str] = Field(default_factory=dict, description="labels, for selectors")
    annotations: dict[str, str] = Field(default_factory=dict, description="annotations")
    uid: str | None = Field(default=None, description="identity of the resource, given at creation")
    generation: int | None = Field(default=None, description="how often the spec was changed")
    creation_timestamp: Time | None = Field(default=None, description="when the resource was made")
    deletion_timestamp: Time | None = Field(default=None, description="when its deletion was asked for")
    deletion_grace_period_seconds: int | None = Field(default=None, description="written by the API server")
    resource_version: str | None = Field(default=None, description="written by the API server")
    finalizers: list[str] | None = Field(default=None, description="written by controllers")
    owner_references: list[dict[str, Any]] | None = Field(default=None, description="written by controllers")
    managed_fields: list[dict[str, Any]] | None = Field(default=None, description="written by the API server")
    self_link: str | None = Field(default=None, description="written by old API servers")


class Condition(Strict):
    """metav1.Condition."""

    type: str = Field(description="Ready, Reconciling or Stalled")
    status: Literal["True", "False", "Unknown"] = Field(description="whether it holds")
    reason: str = Field(description="why, in one CamelCase word", min_length=1)
    message: str = Field(description="why, for people")
    last_transition_time: Time = Field(description="when the status last changed")
    observed_generation: int | None = Field(default=None, description="the generation this was said of", ge=0)


class Status(Strict):
    """What every kind's status has."""

    conditions: list[Condition] = Field(
        default_factory=list,
        description="Ready, and Reconciling or Stalled",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    observed_generation: int | None = Field(default=None, description="the generation this status speaks of")


class Resource(Strict):
    """A document: one of our kinds."""

    kind_name: ClassVar[str]
    plural: ClassVar[str]
    short: ClassVar[str]

    api_version: Literal["forklake.dev/v1alpha1"] = Field(description=API_VERSION)
    metadata: Metadata = Field(description="name, namespace, labels")

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or "default"

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def generation(self) -> int:
        return self.metadata.generation or 1

    @property
    def key(self) -> str:
        """As people write it: lakecatalog/sales."""
        return f"{self.kind_name.lower()}/{self.name}"

    def with_metadata(self, **changes: Any) -> Self:
        """The same with other metadata."""
        kept = {name: getattr(self.metadata, name) for name in self.metadata.model_fields_set}
        return self.model_copy(update={"metadata": Metadata(**(kept | changes))})

    def condition(self, kind: str) -> Condition | None:
        """A condition of the status."""
        status: Status | None = getattr(self, "status", None)
        return next((c for c in status.conditions if c.type == kind), None) if status else None
