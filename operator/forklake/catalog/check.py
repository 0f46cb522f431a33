"""Looking for what should not be in a store: what foreign keys would have caught, had they been cheap enough (001_store.sql)."""

from __future__ import annotations

from dataclasses import dataclass

from forklake.catalog.store import Store

# Each query gives rows of: catalog, what is wrong.
_QUERIES: dict[str, str] = {
    "live catalogs have a head": """
        select c.tenant || '/' || c.name, 'has no head: nobody can commit to it'
        from lake.catalog c where c.condemned is null and not exists (select from lake.head h where h.catalog_id = c.catalog_id)""",
    "heads belong to catalogs": """
        select h.catalog_id::text, 'has a head, but is no catalog'
        from lake.head h where not exists (select from lake.catalog c where c.catalog_id = h.catalog_id)""",
    "live catalogs see themselves": """
        select c.tenant || '/' || c.name, 'has no lineage entry of its own: it sees nothing'
        from lake.catalog c where c.condemned is null
            and not exists (
                select from lake.lineage l where l.catalog_id = c.catalog_id and l.ancestor_id = c.catalog_id and l.upto = 9223372036854775806)""",
    "live catalogs have a snapshot": """
        select c.tenant || '/' || c.name, 'has no snapshot: it cannot be attached'
        from lake.catalog c where c.condemned is null
            and not exists (select from lake.ducklake_snapshot s where s.catalog_id = c.catalog_id and s.died = 9223372036854775807)""",
    "forks see their parent": """
        select c.tenant || '/' || c.name, 'is a Reference fork without a lineage entry of its parent'
        from lake.catalog c where c.condemned is null and c.mode = 'Reference'
            and not exists (
                select from lake.lineage l where l.catalog_id = c.catalog_id and l.ancestor_id = c.parent_id and l.upto <= c.fork_upto)""",
    "forks see no more than their parent": """
        select c.tenant || '/' || c.name, format('sees %s of ancestor %s, more than its parent''s %s', l.upto, l.ancestor_id, p.upto)
        from lake.catalog c
        join lake.lineage l on l.catalog_id = c.catalog_id and l.ancestor_id <> c.catalog_id
        join lake.lineage p on p.catalog_id = c.parent_id and p.ancestor_id = l.ancestor_id
        where l.upto > p.upto""",
    "lineage names catalogs": """
        select l.catalog_id::text, format('has lineage of %s, but one of the two is no catalog', l.ancestor_id)
        from lake.lineage l
        where not exists (select from lake.catalog c where c.catalog_id = l.catalog_id)
            or not exists (select from lake.catalog c where c.catalog_id = l.ancestor_id)""",
    "logins are roles": """
        select l.role_name::text, 'is listed as a login, but there is no such role'
        from lake.login l where not exists (select from pg_catalog.pg_roles r where r.rolname = l.role_name)""",
    "logins reach live catalogs": """
        select l.role_name::text, format('is a login of catalog %s, which is not alive', l.catalog_id)
        from lake.login l where not exists (select from lake.catalog c where c.catalog_id = l.catalog_id and c.end_at is null)""",
    "makers are roles": """
        select m.maker::text, 'is listed as a maker of logins, but there is no such role'
        from lake.maker m where not exists (select from pg_catalog.pg_roles r where r.rolname = m.maker)""",
    # roles are the whole server's: those that our makers administer are this store's (before Postgres 16 none are)
    "roles are logins": """
        select r.rolname::text, 'is a login role of ours that reaches no catalog'
        from lake.maker k
        join pg_catalog.pg_roles o on o.rolname = k.maker
        join pg_catalog.pg_auth_members m on m.member = o.oid
        join pg_catalog.pg_roles r on r.oid = m.roleid
        where r.rolname like 'lake\\_%' and not exists (select from lake.login l where l.role_name = r.rolname)""",
    "paths lie apart": """
        select c.tenant || '/' || c.name, format('has a path that overlaps that of catalog %s: %s', o.catalog_id, o.data_path)
        from lake.catalog c join lake.catalog o on o.catalog_id > c.catalog_id and o.span && c.span
        where c.purged is null and o.purged is null""",
    "rows belong to catalogs": """
        select b.catalog_id::text, 'has data files, but is no catalog'
        from (select distinct f.catalog_id from lake.ducklake_data_file f) b
        where not exists (select from lake.catalog c where c.catalog_id = b.catalog_id)""",
    "removed files are not needed": """
        select d.owner_id::text, format('has lost %L: it was removed, but a catalog can still see it', d.full_path)
        from lake.deletion d where d.removed is not null and lake._file_is_needed(d.full_path)""",
}


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Something that should not be."""

    rule: str
    subject: str
    problem: str

    def __str__(self) -> str:
        return f"{self.subject} {self.problem} (rule: {self.rule})"


def find_inconsistencies(store: Store) -> list[Inconsistency]:
    """All that is wrong, as of one moment."""
    with store.transaction():
        store.connection.execute("set transaction isolation level repeatable read, read only")
        return [
            Inconsistency(rule, subject, problem)
            for rule, query in _QUERIES.items()
            for subject, problem in store.connection.execute(query).fetchall()
        ]
