"""LakeCatalog, CatalogFork and MaintenancePolicy as typed models. crds/ and the reference page are generated from them."""

from __future__ import annotations

from forklake.api._base import API_VERSION, GROUP, VERSION, Condition, Metadata, Resource, Status
from forklake.api._catalogs import (
    CatalogFork,
    CatalogForkSpec,
    CatalogForkStatus,
    CatalogStatus,
    ForkAt,
    ForkPointStatus,
    ForkRules,
    LakeCatalog,
    LakeCatalogSpec,
    ParentRef,
)
from forklake.api._documents import Document, parse_documents, read_documents
from forklake.api._kinds import KINDS, AnyResource, CatalogResource, kind_called
from forklake.api._maintenance import MaintenancePolicy, MaintenancePolicySpec, MaintenancePolicyStatus, Selector
from forklake.api._options import stored_options
from forklake.api._parse import check_immutable, parse_resource
from forklake.api._quantities import format_duration, format_size, format_time, parse_duration, parse_size, parse_time

__all__ = [
    "API_VERSION",
    "GROUP",
    "KINDS",
    "VERSION",
    "AnyResource",
    "CatalogFork",
    "CatalogForkSpec",
    "CatalogForkStatus",
    "CatalogResource",
    "CatalogStatus",
    "Condition",
    "Document",
    "ForkAt",
    "ForkPointStatus",
    "ForkRules",
    "LakeCatalog",
    "LakeCatalogSpec",
    "MaintenancePolicy",
    "MaintenancePolicySpec",
    "MaintenancePolicyStatus",
    "Metadata",
    "ParentRef",
    "Resource",
    "Selector",
    "Status",
    "check_immutable",
    "format_duration",
    "format_size",
    "format_time",
    "kind_called",
    "parse_documents",
    "parse_duration",
    "parse_resource",
    "parse_size",
    "parse_time",
    "read_documents",
    "stored_options",
]
