-- Forks.
--
-- Purpose: a catalog that begins as another one was at some moment.
-- Invariants:
-- * A fork is O(depth): lineage, one snapshot, one row each in catalog, head and commit. No payload row is copied.
-- * It locks the parent's row in lake.catalog (shared): clean-up, which locks it exclusively to raise the floor, cannot
--   run past it. It does not lock lake.head: writers never wait for a fork, nor forks for writers. That is sound because
--   the parent's numbers grow in the order of its commits, so everything up to the head that is seen is committed.

create or replace function lake._check_fresh(parent bigint) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if current_setting('transaction_isolation') = 'read committed' then
        return;
    end if;
    -- A snapshot taken earlier may show an older head than the one there is by now: taking the lock tells (40001), and
    -- rolling back to before it gives it up, so that the parent's writers never wait for this transaction.
    begin
        perform from lake.head h where h.catalog_id = parent for share skip locked;
        raise exception using errcode = 'FL000', message = 'seen';
    exception when sqlstate 'FL000' then
        null;
    end;
exception when serialization_failure then
    raise exception using errcode = '40001', message = 'the parent was written to since this transaction began',
        hint = 'end the transaction and fork again';
end $$;
comment on function lake._check_fresh(bigint) is 'refuses to fork from a head that is older than the lock on its catalog';

create or replace function lake._visible_snapshots(catalog bigint)
returns table (home bigint, born bigint, snapshot_id bigint, snapshot_time timestamptz, schema_version bigint)
language sql stable set search_path = pg_catalog, pg_temp as $$
    select b.catalog_id, b.born, b.snapshot_id, b.snapshot_time, b.schema_version
    from lake.ducklake_snapshot b where b.catalog_id = catalog and b.died = 9223372036854775807
    union all
    select b.catalog_id, b.born, b.snapshot_id, b.snapshot_time, b.schema_version
    from lake.lineage l join lake.ducklake_snapshot b on b.catalog_id = l.ancestor_id and b.born <= l.upto and b.died > l.upto
    where l.catalog_id = catalog and l.ancestor_id <> catalog
        and not exists (select from lake.lineage tl join lake.tombstone t on t.catalog_id = tl.ancestor_id and t.born <= tl.upto
            where tl.catalog_id = catalog and t.rid = b.rid)
$$;

create or replace function lake._latest(catalog bigint) returns lake._fork_point
language sql stable set search_path = pg_catalog, pg_temp as $$
    select h.g, s.snapshot_id, s.schema_version
    from lake.head h cross join lateral (
        select b.snapshot_id, b.schema_version from lake.ducklake_snapshot b
        where b.catalog_id = h.catalog_id and b.died = 9223372036854775807 order by b.snapshot_id desc limit 1) s
    where h.catalog_id = catalog
$$;
comment on function lake._latest(bigint) is 'the present of a catalog as a point to fork at';

create or replace function lake._past(parent lake.catalog, at_snapshot bigint, at_time timestamptz) returns lake._fork_point
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    head lake._fork_point := lake._latest(parent.catalog_id);
    point lake._fork_point;
    home lake.catalog;
    seen record;
begin
    if at_snapshot > head.snapshot_id or at_time > clock_timestamp() then
        raise exception using errcode = 'FL007', message = format('catalog %L has no %s yet', parent.name, coalesce('snapshot ' || at_snapshot, at_time::text)),
            hint = format('its latest snapshot is %s', head.snapshot_id);
    end if;
    select s.* into seen from lake._visible_snapshots(parent.catalog_id) s
    where s.snapshot_id = at_snapshot or s.snapshot_time <= at_time order by s.snapshot_id desc limit 1;
    if not found then
        raise exception using errcode = 'FL006', message = format('catalog %L has no %s any more', parent.name, coalesce('snapshot ' || at_snapshot, 'snapshot of ' || at_time::text)),
            hint = 'it has expired, or is older than the catalog: choose a later one';
    end if;
    if seen.snapshot_id = head.snapshot_id then
        return head;
    end if;
    point := row(seen.born, seen.snapshot_id, seen.schema_version);
    -- what the fork will read of each ancestor must not have been cleaned up, nor be while we are at it
    for home in
        select c.* from lake.lineage l join lake.catalog c on c.catalog_id = l.ancestor_id
        where l.catalog_id = parent.catalog_id and l.upto > point.upto order by c.catalog_id for share of c
    loop
        if point.upto < home.floor and home.begin_at <= point.upto or (home.catalog_id = seen.home and home.mode = 'Copy' and seen.snapshot_id <= home.fork_snapshot) then
            raise exception using errcode = 'FL008', message = format('the history of catalog %L no longer reaches back to snapshot %s', parent.name, seen.snapshot_id),
                hint = 'clean-up has passed, or it was copied without its history: choose a later snapshot';
        end if;
    end loop;
    return point;
end $$;
comment on function lake._past(lake.catalog, bigint, timestamptz) is 'a past moment of a catalog as a point to fork at';

create or replace function lake._check_limits(parent lake.catalog) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    label text := parent.tenant || '/' || parent.name;
begin
    if parent.end_at is not null then
        raise exception using errcode = 'FL013', message = format('catalog %L has been dropped', label), hint = 'undelete it, or fork another';
    elsif parent.depth + 1 > parent.max_depth then
        raise exception using errcode = 'FL014', message = format('a fork of %L would be %s deep, more than its owner allows', label, parent.depth + 1),
            hint = 'fork from an ancestor, or raise forks.maxDepth';
    elsif parent.max_forks is not null and parent.max_forks <= (select count(*) from lake.catalog c where c.parent_id = parent.catalog_id and c.end_at is null) then
        raise exception using errcode = 'FL014', message = format('catalog %L has %s forks, as many as its owner allows', label, parent.max_forks),
            hint = 'drop one, or raise forks.maxForks';
    end if;
end $$;

create or replace function lake.fork_catalog(
    parent bigint, tenant text, name text, data_path text, mode text default 'Reference',
    at_snapshot bigint default null, at_time timestamptz default null, settings jsonb default '{}')
returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    low bigint := lake._before_xid();
    origin lake.catalog;
    point lake._fork_point;
    made lake.catalog;
    first_id bigint;
begin
    if (select c.max_forks is null from lake.catalog c where c.catalog_id = parent) then
        select c.* into origin from lake.catalog c where c.catalog_id = parent for share;
    else
        -- one at a time, or two would each be the last that is allowed
        select c.* into origin from lake.catalog c where c.catalog_id = parent for no key update;
    end if;
    if not found then
        raise exception using errcode = 'FL001', message = format('catalog %s does not exist', parent), hint = 'look at the list of catalogs';
    end if;
    perform lake._check_limits(origin);
    perform lake._check_fresh(parent);
    if at_snapshot is null and at_time is null then
        point := lake._latest(parent);
    else
        point := lake._past(origin, at_snapshot, at_time);
    end if;
    if point.upto is null then
        raise exception using errcode = 'FL006', message = format('catalog %L has no snapshot to fork', origin.name), hint = 'commit to it first';
    end if;
    made.catalog_id := nextval('lake.block');
    made.tenant := tenant;
    made.name := name;
    made.data_path := lake.normalize_folder(data_path);
    made.encrypted := origin.encrypted;
    made.parent_id := parent;
    made.mode := 'Reference';
    made.fork_upto := point.upto;
    made.fork_snapshot := point.snapshot_id;
    made.depth := origin.depth + 1;
    made.max_depth := origin.max_depth;
    made := lake._add_catalog(made, settings, 'fork', low);
    insert into lake.lineage (catalog_id, ancestor_id, upto)
    select made.catalog_id, l.ancestor_id, least(l.upto, point.upto) from lake.lineage l where l.catalog_id = parent;
    first_id := lower(lake.block_of(made.catalog_id));
    insert into lake.ducklake_snapshot (catalog_id, born, snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
    values (made.catalog_id, made.begin_at, point.snapshot_id + 1, now(), point.schema_version, first_id, first_id);
    insert into lake.ducklake_snapshot_changes (catalog_id, born, snapshot_id, changes_made, commit_message)
    values (made.catalog_id, made.begin_at, point.snapshot_id + 1, '', format('forked from %s/%s at snapshot %s', origin.tenant, origin.name, point.snapshot_id));
    if mode = 'Copy' then
        made := lake._materialize(made.catalog_id, made.begin_at);
    elsif mode <> 'Reference' then
        raise exception using errcode = 'FL020', message = format('%L is not a mode of a fork', mode), hint = 'use Reference or Copy';
    end if;
    return made;
end $$;
comment on function lake.fork_catalog(bigint, text, text, text, text, bigint, timestamptz, jsonb) is
'a fork of a catalog as it is, or as it was at a snapshot or a time. Reference shares every row with its ancestors, Copy has its own';

create or replace function lake._materialize(catalog bigint, now_g bigint) returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    r lake._relation;
    made lake.catalog;
begin
    for r in select * from lake._relation loop
        execute format('insert into lake.%1$I (catalog_id, born, %3$s%2$s) %4$s', r.name, r.columns,
            case when r.has_files then 'full_path, owner_id, ' else '' end,
            lake._inherited(r.name, '$1, $2, ' || case when r.has_files then 'b.full_path, b.owner_id, ' else '' end || r.inherited_columns, '$1'))
        using catalog, now_g;
    end loop;
    delete from lake.lineage l where l.catalog_id = catalog and l.ancestor_id <> catalog;
    -- before this moment there are no rows of its own to see the past by
    update lake.catalog c set mode = 'Copy', floor = now_g where c.catalog_id = catalog returning c.* into made;
    return made;
end $$;
comment on function lake._materialize(bigint, bigint) is 'gives a catalog rows of its own for all that it inherits';

create or replace function lake.detach_fork(catalog bigint) returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    made lake.catalog;
begin
    select c.* into made from lake.catalog c where c.catalog_id = catalog for update;
    if made.end_at is not null then
        raise exception using errcode = 'FL013', message = format('catalog %L has been dropped', made.tenant || '/' || made.name), hint = 'undelete it first';
    elsif made.mode is distinct from 'Reference' then
        return made;
    end if;
    return lake._materialize(catalog, lake._write_to(catalog, 'detach'));
end $$;
comment on function lake.detach_fork(bigint) is 'turns a Reference fork into a Copy: it no longer depends on what its ancestors keep, nor do they keep anything for it but files';
