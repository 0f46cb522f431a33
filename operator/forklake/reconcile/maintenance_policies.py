"""MaintenancePolicy: which catalogs it selects. Its jobs are started by whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable

from forklake.api import CatalogResource, MaintenancePolicy, Selector


def selects(selector: Selector, labels: dict[str, str]) -> bool:
    """Whether a selector fits labels, as Kubernetes' selectors do."""
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for rule in selector.match_expressions:
        present, value = rule.key in labels, labels.get(rule.key)
        holds = {
            "In": present and value in rule.values,
            "NotIn": not present or value not in rule.values,
            "Exists": present,
            "DoesNotExist": not present,
        }[rule.operator]
        if not holds:
            return False
    return True


def selected(policy: MaintenancePolicy, catalogs: Iterable[CatalogResource]) -> list[CatalogResource]:
    """The catalogs and forks of the policy's namespace that it selects."""
    return [c for c in catalogs if c.namespace == policy.namespace and selects(policy.spec.selector, c.metadata.labels)]
