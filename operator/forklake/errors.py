"""All errors that forklake raises on purpose, and which SQLSTATE becomes which."""

from __future__ import annotations

from typing import Any

import psycopg


class ForklakeError(Exception):
    """Base of everything forklake raises on purpose. `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}; {self.hint}" if self.hint else message


class InvalidResource(ForklakeError):
    """A resource, a file or an option that cannot be understood."""


class StoreUnavailable(ForklakeError):
    """The store does not answer."""


class StoreNotInstalled(ForklakeError):
    """The database holds no forklake store."""


class StoreTooNew(ForklakeError):
    """The store was made by a newer forklake than this one."""


class StoreTooOld(ForklakeError):
    """The store has to be upgraded before this forklake can use it."""


class StoreFull(ForklakeError):
    """The store has no space left, or no more connections."""


class CatalogNotFound(ForklakeError):
    """No such catalog."""


class CatalogExists(ForklakeError):
    """The name is taken."""


class CatalogDropped(ForklakeError):
    """The catalog has been dropped."""


class TableNotFound(ForklakeError):
    """No such table in that snapshot."""


class CatalogProtected(ForklakeError):
    """The catalog must not be dropped, or not yet."""


class PathOverlap(ForklakeError):
    """The path equals, contains or lies inside another catalog's."""


class InvalidPath(ForklakeError):
    """A path in a form that forklake does not know."""


class PathOutside(ForklakeError):
    """A path outside of where the catalog or tenant may write."""


class SnapshotExpired(ForklakeError):
    """The snapshot is not there any more."""


class SnapshotInFuture(ForklakeError):
    """The snapshot, or moment, has not come yet."""


class HistoryGone(ForklakeError):
    """The history does not reach back that far."""


class NotAllowed(ForklakeError):
    """The tenant may not do this."""


class IdOutsideBlock(ForklakeError):
    """An id that does not belong to the catalog."""


class OptionRefused(ForklakeError):
    """An option that is not the tenant's to set."""


class QueueRefused(ForklakeError):
    """Clients may not remove files."""


class ForkLimit(ForklakeError):
    """Deeper, or more forks, than the owner allows."""


class ImmutableField(ForklakeError):
    """A value that cannot be changed."""


class InvalidName(ForklakeError):
    """Not a name for a catalog."""


class BreakerTripped(ForklakeError):
    """A clean-up would remove more than it was allowed to."""


class StoreBusy(ForklakeError):
    """Somebody else holds what is needed; trying again later is right."""


class CommitCollision(ForklakeError):
    """Somebody else wrote first; trying again is right."""


# The store's own SQLSTATEs (class FL), and those of Postgres that mean something to our users.
BY_SQLSTATE: dict[str, type[ForklakeError]] = {
    "FL001": CatalogNotFound,
    "FL002": CatalogExists,
    "FL003": PathOverlap,
    "FL004": InvalidPath,
    "FL005": PathOutside,
    "FL006": SnapshotExpired,
    "FL007": SnapshotInFuture,
    "FL008": HistoryGone,
    "FL009": NotAllowed,
    "FL010": IdOutsideBlock,
    "FL011": OptionRefused,
    "FL012": QueueRefused,
    "FL013": CatalogDropped,
    "FL014": ForkLimit,
    "FL015": ImmutableField,
    "FL018": CatalogProtected,
    "FL019": InvalidName,
    "FL020": InvalidResource,
    "FL021": BreakerTripped,
    "40001": CommitCollision,
    "40P01": CommitCollision,
    "55P03": StoreBusy,
    "53100": StoreFull,
    "53200": StoreFull,
    "53300": StoreFull,
    "57P01": StoreUnavailable,
    "57P02": StoreUnavailable,
    "57P03": StoreUnavailable,
}

# Two that made the same thing at once: the loser meets the constraint instead of the check before it.
BY_CONSTRAINT: dict[str, type[ForklakeError]] = {
    "catalog_name_taken": CatalogExists,
    "catalog_paths_apart": PathOverlap,
}

_CONSTRAINT_HINT = "somebody else was first: choose another"


def from_postgres(error: psycopg.Error) -> ForklakeError:
    """The error of ours that stands for one of Postgres."""
    diagnosis = error.diag
    named = BY_CONSTRAINT.get(diagnosis.constraint_name or "")
    known = named or BY_SQLSTATE.get(error.sqlstate or "")
    if known is None and isinstance(error, psycopg.OperationalError):
        known = StoreUnavailable
    if known is StoreUnavailable:
        return StoreUnavailable("the store does not answer", hint="check that Postgres runs (forklake status) and try again", detail=str(error))
    if known is None:
        raise error
    details: dict[str, Any] = {"hint": diagnosis.message_hint or (_CONSTRAINT_HINT if named else None), "detail": diagnosis.message_detail}
    return known(diagnosis.message_primary or str(error), **details)
