"""Resources in files: one each, spec and status, replaced whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from forklake.api import KINDS, AnyResource, parse_documents
from forklake.local._files import remove, sync_folder, write_whole


class ResourceFiles:
    """A folder of resources by namespace, kind and name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, kind: type[AnyResource], namespace: str, name: str) -> Path:
        return self._folder / namespace / kind.plural / f"{name}.yaml"

    def load(self, kind: type[AnyResource], namespace: str, name: str) -> AnyResource | None:
        """A resource, or None."""
        path = self._path(kind, namespace, name)
        return _read(path) if path.is_file() else None

    def list(self, kind: type[AnyResource] | None = None, namespace: str | None = None) -> Iterator[AnyResource]:
        """Resources of a kind and namespace, or all, in order of namespace, kind and name."""
        for place in sorted(self._folder.glob(namespace or "*")):
            for each in KINDS:
                if kind in (None, each):
                    # a draft that a killed process left begins with a dot
                    yield from map(_read, sorted(p for p in (place / each.plural).glob("*.yaml") if not p.name.startswith(".")))

    def names(self, kind: type[AnyResource] | None = None) -> Iterator[str]:
        """Names only, without reading anything: for completion."""
        for each in KINDS:
            if kind in (None, each):
                yield from (p.stem for p in self._folder.glob(f"*/{each.plural}/*.yaml") if not p.name.startswith("."))

    def save(self, resource: AnyResource) -> None:
        """Keeps a resource in the place of what was kept of it."""
        path = self._path(type(resource), resource.namespace, resource.name)
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True)
            sync_folder(path.parent.parent)
        write_whole(path, yaml.safe_dump(resource.wire(), sort_keys=False, allow_unicode=True))

    def remove(self, resource: AnyResource) -> None:
        """Forgets a resource."""
        remove(self._path(type(resource), resource.namespace, resource.name))


def _read(path: Path) -> AnyResource:
    [document] = parse_documents(path.read_text(encoding="utf-8"), str(path))
    return document.resource
