"""Files of a lake on any filesystem that pyarrow knows. What says how to reach them can be sent to another process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from pyarrow import NativeFile, fs

from forklake.errors import InvalidPath

_S3 = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True, slots=True)
class Found:
    """A file and its size."""

    path: str
    size: int
    modified: float | None


@dataclass(frozen=True, slots=True)
class Storage:
    """How to reach files. Local ones need nothing; `s3` holds arguments of pyarrow's S3FileSystem, never shown."""

    s3: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def open_input(self, path: str) -> NativeFile:
        """A file for reading at any place."""
        where, name = self._resolve(path)
        return where.open_input_file(name)

    def open_output(self, path: str) -> NativeFile:
        """A new file; its folder is made if need be."""
        where, name = self._resolve(path)
        if isinstance(where, fs.LocalFileSystem):
            where.create_dir(str(PurePosixPath(name).parent), recursive=True)
        return where.open_output_stream(name)

    def size(self, path: str) -> int | None:
        """The size of a file, or None if there is none."""
        where, name = self._resolve(path)
        info = where.get_file_info(name)
        return info.size if info.type == fs.FileType.File else None

    def remove(self, path: str) -> bool:
        """Removes a file; False if it was gone already."""
        where, name = self._resolve(path)
        try:
            where.delete_file(name)
        except FileNotFoundError:
            return False
        return True

    def walk(self, folder: str) -> Iterator[Found]:
        """All files in a folder and below, one folder at a time. A folder that is not there has none."""
        where, name = self._resolve(folder)
        prefix = folder[: len(folder) - len(name)] if folder.endswith(name) else ""
        pending = [name]
        while pending:
            for info in where.get_file_info(fs.FileSelector(pending.pop(), allow_not_found=True)):
                if info.type == fs.FileType.Directory:
                    pending.append(info.path)
                elif info.type == fs.FileType.File:
                    yield Found(f"{prefix}{info.path}", info.size, info.mtime.timestamp() if info.mtime else None)

    def _resolve(self, path: str) -> tuple[fs.FileSystem, str]:
        if path.startswith("/"):
            return _local(), path
        if path.startswith("file://"):
            return _local(), path.removeprefix("file://")
        scheme = next((scheme for scheme in _S3 if path.startswith(scheme)), None)
        if scheme is None:
            raise InvalidPath(f"cannot reach {path!r}", hint="use an absolute local path or s3://")
        return _s3(tuple(sorted(self.s3.items()))), path.removeprefix(scheme)


@cache
def _local() -> fs.LocalFileSystem:
    return fs.LocalFileSystem()


@cache
def _s3(settings: tuple[tuple[str, Any], ...]) -> fs.FileSystem:
    return fs.S3FileSystem(**dict(settings))
