-- Looking at the store: lineage, time travel over all catalogs, changes, usage.

create or replace function lake.settled_horizon() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    drawn bigint := lake._drawn();
    -- Whoever drew that much had an id before this one. (A snapshot's xmax would not do: it lags behind those who write.)
    mine xid8 := pg_current_xact_id();
    settled bigint;
begin
    if pg_snapshot_xmin(pg_current_snapshot()) >= mine then
        return drawn;
    end if;
    -- Whoever is still writing got an id no lower than xmin, so later than this commit did, and drew more than its low.
    select c.low into settled from lake.commit c where c.xid < pg_snapshot_xmin(pg_current_snapshot()) and c.low >= 0 order by c.g desc limit 1;
    return coalesce(settled, -1);
end $$;
comment on function lake.settled_horizon() is 'a global snapshot up to which nothing can be added any more. While others write it may lag behind an earlier answer, never run ahead';

create or replace function lake.global_at(moment timestamptz) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select c.g from lake.commit c where c.at <= moment and c.g <= lake.settled_horizon() order by c.at desc, c.g desc limit 1
$$;
comment on function lake.global_at(timestamptz) is 'the global snapshot that was the latest at a time';

create or replace function lake.catalogs_at(moment bigint)
returns table (catalog_id bigint, uuid uuid, tenant text, name text, data_path text, parent_id bigint)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    perform lake._check_settled(moment);
    return query
    select c.catalog_id, c.uuid, c.tenant, c.name, c.data_path, c.parent_id
    from lake.catalog c cross join lateral (
        select m.kind from lake.commit m
        where m.catalog_id = c.catalog_id and m.g <= moment and m.kind in ('create', 'fork', 'end', 'undelete') order by m.g desc limit 1) last
    where last.kind <> 'end'
    order by c.catalog_id;
end $$;
comment on function lake.catalogs_at(bigint) is 'which catalogs existed at a global snapshot (by their names of today)';

create or replace function lake._check_settled(moment bigint) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    deadline timestamptz := clock_timestamp() + interval '5 seconds';
begin
    while moment > lake.settled_horizon() loop
        -- whoever drew up to here had an id before ours: when they are done, so is the past
        if moment > lake._drawn() or clock_timestamp() > deadline then
            exit;
        elsif pg_snapshot_xmin(pg_current_snapshot()) >= pg_current_xact_id() then
            return;
        end if;
        perform pg_sleep(0.005);
    end loop;
    if moment <= lake.settled_horizon() then
        return;
    end if;
    raise exception using errcode = 'FL007', message = format('global snapshot %s is not settled yet', moment),
        hint = format('look at %s or earlier', lake.settled_horizon());
end $$;
comment on function lake._check_settled(bigint) is 'waits a little for commits under way, and refuses a moment to which something may still be added';

create or replace function lake.files_at(catalog bigint, moment bigint)
returns table (data_file_id bigint, table_id bigint, full_path text, record_count bigint, file_size_bytes bigint, owner_id bigint)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    perform lake._check_settled(moment);
    if moment < (select c.floor from lake.catalog c where c.catalog_id = catalog) then
        raise exception using errcode = 'FL008', message = format('the history of catalog %s no longer reaches back to global snapshot %s', catalog, moment),
            hint = 'clean-up has passed: choose a later one';
    end if;
    return query
    select b.data_file_id, b.table_id, b.full_path, b.record_count, b.file_size_bytes, b.owner_id
    from lake.lineage l
    cross join lateral (select least(l.upto, moment) as upto) seen
    join lake.ducklake_data_file b on b.catalog_id = l.ancestor_id and b.born <= seen.upto and b.died > seen.upto
    where l.catalog_id = catalog and b.end_snapshot is null
        and not exists (
            select from lake.lineage tl join lake.tombstone t on t.catalog_id = tl.ancestor_id and t.born <= least(tl.upto, moment)
            where tl.catalog_id = catalog and t.rid = b.rid)
    order by b.data_file_id;
end $$;
comment on function lake.files_at(bigint, bigint) is 'which data files a catalog had at a global snapshot';

create or replace function lake.ancestors(catalog bigint) returns table (catalog_id bigint, tenant text, name text, depth integer, upto bigint)
language sql stable set search_path = pg_catalog, pg_temp as $$
    with recursive up as (
        select c.*, c.fork_upto as seen from lake.catalog c where c.catalog_id = catalog
        union all
        select p.*, u.fork_upto from up u join lake.catalog p on p.catalog_id = u.parent_id)
    select u.catalog_id, u.tenant, u.name, u.depth, u.seen from up u where u.catalog_id <> catalog order by u.depth desc
$$;
comment on function lake.ancestors(bigint) is 'where a catalog comes from, nearest first, each with the global snapshot it was forked at';

create or replace function lake.descendants(catalog bigint) returns table (catalog_id bigint, tenant text, name text, depth integer)
language sql stable set search_path = pg_catalog, pg_temp as $$
    with recursive down as (
        select c.* from lake.catalog c where c.parent_id = catalog
        union all
        select c.* from down d join lake.catalog c on c.parent_id = d.catalog_id)
    select d.catalog_id, d.tenant, d.name, d.depth from down d where d.end_at is null order by d.depth, d.catalog_id
$$;
comment on function lake.descendants(bigint) is 'all forks of a catalog and their forks';

create or replace function lake.tree(of_tenant text default null)
returns table (catalog_id bigint, parent_id bigint, tenant text, name text, level integer, place bigint[], created timestamptz, mode text, fork_snapshot bigint, snapshot_id bigint)
language sql stable set search_path = pg_catalog, pg_temp as $$
    with recursive live as (
        select c.* from lake.catalog c where c.end_at is null and (of_tenant is null or c.tenant = of_tenant)
    ), walk as (
        select c.catalog_id, 0 as level, array[c.catalog_id] as place from live c
        where c.parent_id is null or not exists (select from live p where p.catalog_id = c.parent_id)
        union all
        select c.catalog_id, w.level + 1, w.place || c.catalog_id from walk w join live c on c.parent_id = w.catalog_id
    )
    select c.catalog_id, c.parent_id, c.tenant, c.name, w.level, w.place, c.created, c.mode, c.fork_snapshot, (lake._latest(c.catalog_id)).snapshot_id
    from walk w join live c using (catalog_id) order by w.place
$$;
comment on function lake.tree(text) is 'live catalogs as a tree, parents before their forks; a fork whose parent is gone stands at the top';

create or replace function lake.who_sees(place text) returns table (catalog_id bigint, tenant text, name text)
language sql stable set search_path = pg_catalog, pg_temp as $$
    with rows as (
        select b.catalog_id, b.rid, b.born, b.died from lake.ducklake_data_file b where b.full_path = lake.normalize_path(place)
        union all
        select b.catalog_id, b.rid, b.born, b.died from lake.ducklake_delete_file b where b.full_path = lake.normalize_path(place))
    select c.catalog_id, c.tenant, c.name
    from lake.catalog c
    where c.condemned is null and exists (
        select from rows b join lake.lineage l on l.catalog_id = c.catalog_id and l.ancestor_id = b.catalog_id and b.born <= l.upto and b.died > l.upto
        where not exists (
            select from lake.tombstone t join lake.lineage tl on tl.ancestor_id = t.catalog_id and tl.catalog_id = c.catalog_id and t.born <= tl.upto
            where t.rid = b.rid))
    order by c.catalog_id
$$;
comment on function lake.who_sees(text) is 'which catalogs, live or dropped, can see a file now';

create or replace view lake.changes as
select m.g, m.at, c.tenant, c.name, m.catalog_id, m.kind, b.snapshot_id, b.author, b.commit_message, b.changes_made, b.commit_extra_info,
    array(select distinct split_part(trim(part), ':', 1) from regexp_split_to_table(nullif(b.changes_made, ''), ',(?=[a-z_]+:)') part order by 1) as change_kinds
from lake.commit m
join lake.catalog c using (catalog_id)
left join lake.ducklake_snapshot_changes b on b.catalog_id = m.catalog_id and b.born = m.g;
comment on view lake.changes is 'who did what when, in every catalog: for DBAs';

create or replace function lake.usage(catalog bigint)
returns table (own_files bigint, own_bytes bigint, inherited_files bigint, inherited_bytes bigint, metadata_rows bigint, tables bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    r lake._relation;
    counted bigint;
begin
    select count(*) filter (where f.owner_id is not distinct from catalog), coalesce(sum(f.size) filter (where f.owner_id is not distinct from catalog), 0),
        count(*) filter (where f.owner_id is distinct from catalog), coalesce(sum(f.size) filter (where f.owner_id is distinct from catalog), 0)
    into own_files, own_bytes, inherited_files, inherited_bytes
    from lake._visible_files(catalog) f;
    select count(*) into tables from lake._visible_tables(catalog);
    metadata_rows := 0;
    for r in select * from lake._relation loop
        execute format('select count(*) from lake.%I b where b.catalog_id = $1', r.name) into counted using catalog;
        metadata_rows := metadata_rows + counted;
    end loop;
    return next;
end $$;
comment on function lake.usage(bigint) is 'what a catalog takes up: files and bytes of its own, inherited ones, tables, and rows of metadata';

do $do$
begin
    execute format($f$
create or replace function lake._visible_files(catalog bigint) returns table (owner_id bigint, size bigint)
language sql stable set search_path = pg_catalog, pg_temp as $q$
    select b.owner_id, b.file_size_bytes from lake.ducklake_data_file b where b.catalog_id = catalog and b.died = 9223372036854775807
    union all %s
    union all
    select b.owner_id, b.file_size_bytes from lake.ducklake_delete_file b where b.catalog_id = catalog and b.died = 9223372036854775807
    union all %s
$q$ $f$, lake._inherited('ducklake_data_file', 'b.owner_id, b.file_size_bytes', 'catalog'), lake._inherited('ducklake_delete_file', 'b.owner_id, b.file_size_bytes', 'catalog'));
    execute format($f$
create or replace function lake._visible_tables(catalog bigint) returns setof bigint
language sql stable set search_path = pg_catalog, pg_temp as $q$
    select b.table_id from lake.ducklake_table b where b.catalog_id = catalog and b.died = 9223372036854775807 and b.end_snapshot is null
    union all %s and b.end_snapshot is null
$q$ $f$, lake._inherited('ducklake_table', 'b.table_id', 'catalog'));
end $do$;
