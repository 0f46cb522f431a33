-- What a tenant may do in SQL, with the connection it already has.
--
-- Every function answers for the session's catalog and its tenant only. They are SECURITY DEFINER: what they may not do,
-- they must check themselves.

create schema if not exists forklake;
comment on schema forklake is 'forklake: functions for tenants';

create or replace function forklake._session() returns lake.catalog
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    mine lake.catalog;
begin
    select c.* into mine from lake.catalog c where c.catalog_id = lake.session_catalog() and c.end_at is null;
    if not found then
        raise exception using errcode = 'FL001', message = format('role %I has no catalog', session_user),
            hint = 'connect with the credentials of a catalog';
    end if;
    return mine;
end $$;

create or replace function forklake._may_fork(parent lake.catalog, tenant text) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp
return parent.tenant = tenant or tenant = any (parent.fork_tenants) or '*' = any (parent.fork_tenants);

create or replace function forklake.fork_catalog(parent text, name text, data_path text default null, at_snapshot bigint default null, at_time timestamptz default null)
returns table (catalog text, uuid uuid, snapshot_id bigint, path text, choose text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    mine lake.catalog := forklake._session();
    origin lake.catalog;
    prefix text;
    made lake.catalog;
begin
    select c.* into origin from lake.catalog c
    where c.end_at is null and (c.tenant, c.name) = (case when strpos(parent, '/') > 0 then split_part(parent, '/', 1) else mine.tenant end,
        case when strpos(parent, '/') > 0 then split_part(parent, '/', 2) else parent end);
    -- one answer for "there is none" and "not for you": names of others are not to be found out here
    if not found or not forklake._may_fork(origin, mine.tenant) then
        raise exception using errcode = 'FL009', message = format('tenant %L may not fork %L, or it does not exist', mine.tenant, parent),
            hint = 'ask its owner to allow your tenant in forks.namespaces';
    end if;
    select t.prefixes[1] into prefix from lake.tenant t where t.tenant = mine.tenant and cardinality(t.prefixes) > 0;
    if not found then
        raise exception using errcode = 'FL009', message = format('tenant %L was given no prefix to put forks in', mine.tenant),
            hint = 'ask the operator for one';
    end if;
    made := lake.fork_catalog(origin.catalog_id, mine.tenant, fork_catalog.name,
        coalesce(fork_catalog.data_path, prefix || 'forks/' || fork_catalog.name || '-' || left(gen_random_uuid()::text, 8) || '/'),
        'Reference', at_snapshot, at_time);
    insert into lake.login (role_name, catalog_id, name, is_default) values (session_user, made.catalog_id, made.name, false);
    return query select made.tenant || '/' || made.name, made.uuid, made.fork_snapshot + 1, made.data_path, format('-c forklake.catalog=%s', made.name);
end $$;
comment on function forklake.fork_catalog(text, text, text, bigint, timestamptz) is
'forks a catalog that this tenant may fork, into its own prefix. Attach the fork with the same credentials and the option in column choose';

create or replace function forklake.drop_fork(name text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    gone bigint;
begin
    select l.catalog_id into gone from lake.login l where l.role_name = session_user and l.name = drop_fork.name and not l.is_default;
    if not found then
        raise exception using errcode = 'FL001', message = format('this role made no fork %L', name), hint = 'look at forklake.catalogs()';
    end if;
    perform lake.drop_catalog(gone);
end $$;
comment on function forklake.drop_fork(text) is 'drops a fork that this role made with fork_catalog';

create or replace function forklake.catalogs() returns table (name text, uuid uuid, data_path text, parent text, snapshot_id bigint, created timestamptz, reachable boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select c.name, c.uuid, c.data_path, p.tenant || '/' || p.name, (lake._latest(c.catalog_id)).snapshot_id, c.created,
        exists (select from lake.login l where l.role_name = session_user and l.catalog_id = c.catalog_id)
    from lake.catalog c left join lake.catalog p on p.catalog_id = c.parent_id
    where c.tenant = (forklake._session()).tenant and c.end_at is null
    order by c.name
$$;
comment on function forklake.catalogs() is 'the live catalogs of this session''s tenant; reachable: with this login';

create or replace function forklake.lineage() returns table (name text, depth integer, fork_snapshot bigint, forked timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    with recursive up as (
        select c.* from lake.catalog c where c.catalog_id = (forklake._session()).catalog_id
        union all
        select p.* from up u join lake.catalog p on p.catalog_id = u.parent_id)
    select case when u.tenant = (forklake._session()).tenant then u.name else u.tenant || '/' || u.name end, u.depth, u.fork_snapshot, u.created
    from up u order by u.depth desc
$$;
comment on function forklake.lineage() is 'this session''s catalog and where it comes from, nearest first';

create or replace function forklake.usage() returns table (own_files bigint, own_bytes bigint, inherited_files bigint, inherited_bytes bigint, metadata_rows bigint, tables bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select * from lake.usage((forklake._session()).catalog_id)
$$;
comment on function forklake.usage() is 'what this session''s catalog takes up';

create or replace function forklake.changes(from_snapshot bigint default 0, to_snapshot bigint default 9223372036854775807)
returns table (snapshot_id bigint, snapshot_time timestamptz, author text, commit_message text, changes_made text, commit_extra_info text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select s.snapshot_id, s.snapshot_time, h.author, h.commit_message, h.changes_made, h.commit_extra_info
    from ducklake.ducklake_snapshot s left join ducklake.ducklake_snapshot_changes h using (snapshot_id)
    where s.snapshot_id between from_snapshot and to_snapshot
    order by s.snapshot_id
$$;
comment on function forklake.changes(bigint, bigint) is 'who did what in this session''s catalog between two snapshots, both included';
