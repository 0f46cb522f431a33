"""What a killed server leaves behind."""

from __future__ import annotations

from pathlib import Path

import psutil  # type: ignore[import-untyped]


def forget_killed(data: Path, sockets: Path) -> None:
    """Removes the lock files of a server that is gone, so that the next one can start.

    Postgres does so itself, unless the dead process has not been waited for yet or somebody else got its number, as happens in
    containers. It must not be done while a child of the old server lives: two servers would write to the same files.
    """
    if not any(_serves(process, data) for process in psutil.process_iter()):
        for left in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*.lock")):
            left.unlink(missing_ok=True)


def _serves(process: psutil.Process, data: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
            return False
        return Path(process.cwd()) == data
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # somebody else's Postgres, or ours under another user: better wait than be wrong
