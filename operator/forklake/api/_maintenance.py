"""MaintenancePolicy."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator
from pydantic.config import JsonDict

from forklake.api._base import Resource, Status, Strict
from forklake.api._cron import check_cron
from forklake.api._quantities import Duration, Size

_OPEN_OBJECT: JsonDict = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class SelectorRequirement(Strict):
    """A condition on a label."""

    key: str = Field(description="name of the label")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="In, NotIn, Exists or DoesNotExist")
    values: list[str] = Field(default_factory=list, description="values, for In and NotIn")

    @model_validator(mode="after")
    def _values_where_needed(self) -> Self:
        if (self.operator in ("In", "NotIn")) != bool(self.values):
            raise ValueError("values go with In and NotIn, and only with them")
        return self


class Selector(Strict):
    """LakeCatalogs and CatalogForks of the policy's namespace; an empty one selects all."""

    match_labels: dict[str, str] = Field(default_factory=dict, description="labels that must be there")
    match_expressions: list[SelectorRequirement] = Field(default_factory=list, description="conditions that must hold")


class Compaction(Strict):
    """Merging small files and applying deletes."""

    target_file_size: Size = Field(default="512Mi", description="size of the files to write", validate_default=True)
    min_input_files: int = Field(default=5, description="merge at least so many files", ge=2)
    small_file_ratio: float = Field(default=0.75, description="a file below this share of the target size is small", gt=0, le=1)
    delete_ratio: float = Field(default=0.3, description="rewrite a file when this share of its rows is deleted", gt=0, le=1)
    max_bytes: Size | None = Field(default=None, description="most bytes to rewrite in one run")
    max_files: int | None = Field(default=None, description="most files to rewrite in one run", ge=1)


class Expiry(Strict):
    """Expiring snapshots."""

    older_than: Duration = Field(default="5d", description="expire snapshots older than this", validate_default=True)
    retain_last: int = Field(default=1, description="but keep at least so many", ge=1)


class Cleanup(Strict):
    """Removing files that nobody can see."""

    grace: Duration = Field(default="2d", description="how long a file that nobody sees any more stays", validate_default=True)


class Orphans(Strict):
    """Removing files that no catalog knows."""

    older_than: Duration = Field(default="3d", description="only files older than this, at least 24h", validate_default=True)
    max_share: float = Field(default=0.1, description="stop when more than this share of the files look orphaned", ge=0, le=1)

    @model_validator(mode="after")
    def _old_enough(self) -> Self:
        if self.older_than.total_seconds() < 86_400:
            raise ValueError("olderThan must be at least 24h: younger files may belong to a commit under way")
        return self


class SparkPod(Strict):
    """Driver or executors."""

    cores: int | None = Field(default=None, description="cores", ge=1)
    memory: str | None = Field(default=None, description="memory, as Spark writes it: 2g")
    instances: int | None = Field(default=None, description="how many executors", ge=0)
    labels: dict[str, str] = Field(default_factory=dict, description="labels of the pods")


class Spark(Strict):
    """Merged over the operator's defaults into the SparkApplication."""

    image: str | None = Field(default=None, description="image of driver and executors")
    driver: SparkPod | None = Field(default=None, description="the driver")
    executor: SparkPod | None = Field(default=None, description="the executors")
    spark_conf: dict[str, str] = Field(default_factory=dict, description="Spark's configuration")


class MaintenancePolicySpec(Strict):
    """What is done to catalogs, and when."""

    selector: Selector = Field(
        default_factory=Selector, description="which LakeCatalogs and CatalogForks of this namespace; the most specific policy wins, then the oldest"
    )
    schedule: str = Field(description="when, as a cron expression: */30 * * * *")
    time_zone: str | None = Field(default=None, description="time zone of the schedule; default: UTC")
    jitter: Duration = Field(default="0s", description="start up to this much later, so that not all start at once", validate_default=True)
    suspend: bool = Field(default=False, description="start nothing")
    dry_run: bool = Field(default=False, description="only say what would be done")
    concurrency: int = Field(default=1, description="how many catalogs at a time", ge=1)
    starting_deadline: Duration | None = Field(default=None, description="skip a run that is later than this")
    active_deadline: Duration | None = Field(default=None, description="stop a run that takes longer than this")
    compaction: Compaction | None = Field(default=None, description="merge small files; not done if not set")
    expiry: Expiry | None = Field(default=None, description="expire snapshots; not done if not set")
    cleanup: Cleanup | None = Field(default=None, description="remove files that nobody can see; not done if not set")
    orphans: Orphans | None = Field(default=None, description="remove files that no catalog knows; not done if not set")
    spark: Spark | None = Field(default=None, description="how its jobs run")

    @field_validator("schedule")
    @classmethod
    def _cron(cls, schedule: str) -> str:
        return check_cron(schedule)

    @field_validator("time_zone")
    @classmethod
    def _zone(cls, name: str | None) -> str | None:
        try:
            return name and ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is not a time zone: write it like Europe/Berlin") from None


class MaintenancePolicyStatus(Status):
    """What was done, and what comes next."""

    catalogs: list[dict[str, Any]] = Field(
        default_factory=list,
        description="per catalog the last run of each kind, the next one, and why one was skipped",
        json_schema_extra={"items": _OPEN_OBJECT},
    )
    selected: int | None = Field(default=None, description="how many catalogs it selects")


class MaintenancePolicy(Resource):
    """Keeps catalogs tidy: compaction, expiry, clean-up, orphans."""

    kind_name: ClassVar[str] = "MaintenancePolicy"
    plural: ClassVar[str] = "maintenancepolicies"
    short: ClassVar[str] = "mp"

    kind: Literal["MaintenancePolicy"] = Field(description="MaintenancePolicy")
    spec: MaintenancePolicySpec = Field(description="what is done, and when")
    status: MaintenancePolicyStatus | None = Field(default=None, description="what was done; written by forklake")
