-- Whose session this is.
--
-- Purpose: the one place that says which catalog a connection shows. It is the login role's (session_user, which neither
-- SET ROLE nor a SECURITY DEFINER function changes); among several catalogs granted to one role the setting
-- forklake.catalog chooses, and can choose nothing else.

--
-- The functions here run several times in every query. They are functions because clients discard all plans after every
-- transaction: a call is planned in no time, the queries in them once for each transaction and not once for each view. Setting
-- a search_path would cost more than all they do, so they name every operator's schema instead.

-- (a body of standard SQL is resolved when it is made, and inlined)
create or replace function lake._chosen() returns text
language sql stable parallel safe
return coalesce(pg_catalog.current_setting('forklake.catalog', true), '');
comment on function lake._chosen() is 'which of its catalogs the session wants; empty for the default';

create or replace function lake.session_catalog() returns bigint
language plpgsql stable parallel safe security definer as $$
declare
    chosen text := lake._chosen();
    mine bigint;
    until timestamptz;
begin
    if chosen operator(pg_catalog.=) '' then
        select l.catalog_id, l.retires into mine, until from lake.login l where l.role_name operator(pg_catalog.=) session_user and l.is_default;
    else
        select l.catalog_id, l.retires into mine, until from lake.login l
        where l.role_name operator(pg_catalog.=) session_user and l.name operator(pg_catalog.=) chosen;
    end if;
    if until operator(pg_catalog.<=) pg_catalog.clock_timestamp() then
        return null;
    end if;
    return mine;
end $$;
comment on function lake.session_catalog() is 'the catalog of this session, or null for a role without one';

create or replace function lake.session_is_fork() returns boolean
language plpgsql stable parallel safe security definer as $$
declare
    me bigint := lake.session_catalog();
begin
    perform from lake.lineage l where l.catalog_id operator(pg_catalog.=) me and l.ancestor_id operator(pg_catalog.<>) me limit 1;
    return found;
end $$;
comment on function lake.session_is_fork() is 'whether this session''s catalog sees anything of others';

create or replace function lake.session_ancestors() returns table (ancestor_id bigint, upto bigint)
language plpgsql stable parallel safe security definer rows 2 as $$
#variable_conflict use_column
declare
    me bigint := lake.session_catalog();
begin
    return query select l.ancestor_id, l.upto from lake.lineage l where l.catalog_id operator(pg_catalog.=) me and l.ancestor_id operator(pg_catalog.<>) me;
end $$;
comment on function lake.session_ancestors() is 'the ancestors that this session''s catalog sees, each up to its global snapshot';

create or replace function lake.session_tombstones() returns setof bigint
language plpgsql stable parallel safe security definer as $$
declare
    me bigint := lake.session_catalog();
begin
    return query
    select t.rid from lake.lineage l join lake.tombstone t on t.catalog_id operator(pg_catalog.=) l.ancestor_id and t.born operator(pg_catalog.<=) l.upto
    where l.catalog_id operator(pg_catalog.=) me;
end $$;
comment on function lake.session_tombstones() is 'rows of ancestors that this session''s catalog, or an ancestor before it was forked, has deleted or replaced';

-- DuckDB's planner deletes by ctid, so the views carry one; it must not show among their columns, or clients insert and
-- print a column too many. Clients read pg_attribute unqualified: the login roles' search_path finds this one first.
create schema if not exists ducklake_client;
comment on schema ducklake_client is 'forklake: what DuckLake clients see in place of pg_attribute';

create or replace view ducklake_client.pg_attribute as
select attrelid, attname, atttypid, attlen, attnum, atttypmod, attndims, attbyval, attalign, attstorage, attnotnull, atthasdef,
    atthasmissing, attidentity, attgenerated, attisdropped, attislocal, attinhcount, attcollation, attacl, attoptions
from pg_catalog.pg_attribute
where not (attnum > 0 and attname = 'ctid');
comment on view ducklake_client.pg_attribute is 'pg_catalog.pg_attribute without the ctid of our views';
