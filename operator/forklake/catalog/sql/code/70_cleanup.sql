-- Deleting files safely: the decision. Whoever deletes only lists, removes and reports.
--
-- A row of catalog a is needed while
--   a itself can see it at or after its floor (a is not condemned, and the row died after the floor), or
--   another catalog c inherits it (born <= upto < died) and neither an ancestor of c had replaced it before c came, nor c
--   itself at or before c's own floor.
-- A file may go when no row of any catalog that names it, by full path, is needed. What is needed only ever shrinks: a new
-- fork sees no more than its parent does at or after the parent's floor, and it holds a lock that keeps the floor where it
-- is. So what has been claimed once stays free to go.

create or replace function lake.raise_floor(catalog bigint, keep interval default null) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    target bigint;
    reached bigint;
    retention interval;
begin
    -- waits for forks under way, and forks wait for this
    select c.floor, c.history_retention into reached, retention from lake.catalog c where c.catalog_id = catalog for update;
    select m.g into target from lake.commit m
    where m.catalog_id = catalog and m.at <= clock_timestamp() - greatest(keep, retention) order by m.g desc limit 1;
    -- The latest commit before the horizon is where the catalog stood then: that state is kept, what it had replaced may go.
    if target > reached then
        update lake.catalog c set floor = target where c.catalog_id = catalog;
        return target;
    end if;
    return reached;
end $$;
comment on function lake.raise_floor(bigint, interval) is 'gives up history that is older than the catalog''s history_retention (or than keep, if that is longer); returns the floor';

create or replace function lake.condemn_catalog(catalog bigint) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    low bigint := lake._before_xid();
    doomed lake.catalog;
    r lake._relation;
    now_g bigint;
begin
    select c.* into doomed from lake.catalog c where c.catalog_id = catalog for update;
    if doomed.end_at is null then
        raise exception using errcode = 'FL018', message = format('catalog %L is alive', doomed.tenant || '/' || doomed.name), hint = 'drop it first';
    elsif doomed.condemned is not null then
        return;
    end if;
    now_g := lake._log(catalog, 'condemn', low);
    for r in select * from lake._relation loop
        execute format('update lake.%I b set died = $1 where b.catalog_id = $2 and b.died = 9223372036854775807', r.name) using now_g, catalog;
    end loop;
    delete from lake.lineage l where l.catalog_id = catalog;
    update lake.catalog c set condemned = clock_timestamp(), floor = now_g where c.catalog_id = catalog;
end $$;
comment on function lake.condemn_catalog(bigint) is 'gives a dropped catalog up: no undelete any more; its files go when no fork sees them';

create or replace function lake.condemn_dropped(grace interval default interval '0') returns setof bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    doomed bigint;
begin
    for doomed in
        select c.catalog_id from lake.catalog c
        where c.end_at is not null and c.condemned is null and c.ended <= clock_timestamp() - greatest(grace, c.history_retention)
        order by c.catalog_id
    loop
        perform lake.condemn_catalog(doomed);
        return next doomed;
    end loop;
end $$;
comment on function lake.condemn_dropped(interval) is 'condemns what was dropped longer ago than its history_retention and the grace';

create or replace function lake._is_needed(home bigint, row_id bigint, row_born bigint, row_died bigint) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return exists (select from lake.catalog c where c.catalog_id = home and c.condemned is null and row_died > c.floor)
    or exists (
        select from lake.lineage l join lake.catalog c on c.catalog_id = l.catalog_id
        where l.ancestor_id = home and l.catalog_id <> home and l.upto >= row_born and l.upto < row_died
            and not exists (
                select from lake.tombstone t join lake.lineage tl on tl.ancestor_id = t.catalog_id and tl.catalog_id = l.catalog_id
                where t.rid = row_id and t.born <= case when t.catalog_id = l.catalog_id then c.floor else tl.upto end));
comment on function lake._is_needed(bigint, bigint, bigint, bigint) is 'whether any catalog may still look at a row';

create or replace function lake._file_is_needed(place text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return exists (select from lake.ducklake_data_file b where b.full_path = place and lake._is_needed(b.catalog_id, b.rid, b.born, b.died))
    or exists (select from lake.ducklake_delete_file b where b.full_path = place and lake._is_needed(b.catalog_id, b.rid, b.born, b.died));
comment on function lake._file_is_needed(text) is 'whether any row that names a file is needed';

create or replace view lake._dead_file as
select 'data' as kind, b.catalog_id, b.owner_id, b.data_file_id as file_id, b.table_id, b.full_path, b.file_size_bytes, b.born, b.died, b.end_snapshot, null::bigint as data_file_id
from lake.ducklake_data_file b where b.died < 9223372036854775807
union all
select 'delete', b.catalog_id, b.owner_id, b.delete_file_id, b.table_id, b.full_path, b.file_size_bytes, b.born, b.died, b.end_snapshot, b.data_file_id
from lake.ducklake_delete_file b where b.died < 9223372036854775807;

create or replace function lake._why_dead(f lake._dead_file, out reason text, out detail text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    act text := (select m.kind from lake.commit m where m.g = f.died);
begin
    if act = 'condemn' then
        reason := 'catalog dropped';
    elsif act = 'compact' and f.kind = 'data' then
        reason := 'compacted';
        select string_agg(b.data_file_id::text, ', ' order by b.data_file_id) into detail from lake.ducklake_data_file b
        where b.catalog_id = f.catalog_id and b.table_id = f.table_id and b.born = f.died and b.owner_id = f.owner_id and b.data_file_id <> f.file_id;
    elsif f.kind = 'delete' and exists (
        select from lake.ducklake_delete_file b where b.catalog_id = f.catalog_id and b.table_id = f.table_id and b.data_file_id = f.data_file_id and b.born = f.died) then
        reason := 'delete file merged';
        select string_agg(b.delete_file_id::text, ', ') into detail from lake.ducklake_delete_file b
        where b.catalog_id = f.catalog_id and b.table_id = f.table_id and b.data_file_id = f.data_file_id and b.born = f.died;
    elsif exists (select from lake.catalog c where c.catalog_id = f.catalog_id and c.condemned is null) and not exists (
        select from lake.ducklake_table t where t.catalog_id = f.catalog_id and t.table_id = f.table_id and t.died = 9223372036854775807 and t.end_snapshot is null) then
        reason := 'table dropped';
    else
        reason := 'snapshot expired';
    end if;
end $$;
comment on function lake._why_dead(lake._dead_file) is 'the reason a file was given up; for compacted and merged ones, the ids of the files that replaced it';

create or replace function lake.claim_files(catalog bigint, most integer default 10000) returns setof lake.deletion
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    home text;
begin
    select c.data_path into home from lake.catalog c where c.catalog_id = catalog;
    -- no commit of the owner is under way that could name a file of its own again
    perform from lake.head h where h.catalog_id = catalog for update;
    insert into lake.deletion (owner_id, full_path, file_id, table_id, kind, reason, detail, size_bytes, died)
    select catalog, dead.full_path, dead.file_id, dead.table_id, dead.kind, why.reason, why.detail, dead.file_size_bytes, dead.died
    from (
        select distinct on (f.full_path) f.* from lake._dead_file f
        where f.owner_id = catalog and lake.path_is_under(f.full_path, home)
            and not exists (select from lake.deletion d where d.full_path = f.full_path)
            and not lake._file_is_needed(f.full_path)
        order by f.full_path, f.died desc
        limit most) dead
    cross join lateral lake._why_dead(dead) why
    on conflict do nothing;
    perform lake._claim_queued(catalog, home);
    return query select d.* from lake.deletion d where d.owner_id = catalog and d.removed is null order by d.deletion_id limit most;
end $$;
comment on function lake.claim_files(bigint, integer) is 'files of a catalog that nobody can see any more: remove them, then call record_removed. What was claimed and not recorded comes again';

create or replace function lake._claim_queued(catalog bigint, home text) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    insert into lake.deletion (owner_id, full_path, kind, reason, died)
    select distinct on (q.full_path) catalog, q.full_path, 'unknown', 'orphaned', q.born
    from lake.catalog c, lateral (
        select b.born, case when b.path_is_relative then home || b.path else lake.normalize_path(b.path) end as full_path
        from lake.ducklake_files_scheduled_for_deletion b
        where b.catalog_id = catalog and b.died = 9223372036854775807 and b.born <= c.floor) q
    where c.catalog_id = catalog and lake.path_is_under(q.full_path, home)
        and not exists (select from lake.ducklake_data_file b where b.full_path = q.full_path)
        and not exists (select from lake.ducklake_delete_file b where b.full_path = q.full_path)
    on conflict do nothing
$$;
comment on function lake._claim_queued(bigint, text) is 'what a client scheduled and no row names';

create or replace function lake.claim_orphans(
    catalog bigint, paths text[], modified timestamptz[], seen bigint, older_than interval default interval '3 days', max_share double precision default 0.1)
returns setof lake.deletion
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    home text;
    orphans text[];
begin
    select c.data_path into home from lake.catalog c where c.catalog_id = catalog;
    perform from lake.head h where h.catalog_id = catalog for update;
    select coalesce(array_agg(f.path), '{}') into orphans
    from unnest(paths, modified) f (path, changed)
    where f.changed < clock_timestamp() - greatest(older_than, interval '24 hours')
        and f.path = lake.normalize_path(f.path) and lake.path_is_under(f.path, home) and f.path ~ '\.(parquet|puffin)$'
        and not exists (select from lake.ducklake_data_file b where b.full_path = f.path)
        and not exists (select from lake.ducklake_delete_file b where b.full_path = f.path);
    if cardinality(orphans) > max_share * seen then
        raise exception using errcode = 'FL021', message = format('%s of %s files of catalog %s look orphaned, more than a share of %s', cardinality(orphans), seen, catalog, max_share),
            hint = 'nothing was removed: look at the files, then raise maxShare if they really are nobody''s';
    end if;
    insert into lake.deletion (owner_id, full_path, kind, reason, died)
    select catalog, o, 'unknown', 'orphaned', lake.settled_horizon() from unnest(orphans) o
    on conflict do nothing;
    return query select d.* from lake.deletion d where d.owner_id = catalog and d.removed is null and d.reason = 'orphaned' and d.full_path = any (orphans);
end $$;
comment on function lake.claim_orphans(bigint, text[], timestamptz[], bigint, interval, double precision) is
'of files that lie under a DATA_PATH: those that no catalog knows and that are old enough. seen: how many files the listing held in all';

create or replace function lake.record_removed(removals bigint[]) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
    with gone as (update lake.deletion d set removed = clock_timestamp() where d.deletion_id = any (removals) and d.removed is null returning 1)
    select count(*) from gone
$$;
comment on function lake.record_removed(bigint[]) is 'says that claimed files are gone';

create or replace function lake.prune_rows(catalog bigint) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    r lake._relation;
    gone bigint;
    total bigint := 0;
begin
    for r in select * from lake._relation loop
        execute format($q$
            delete from lake.%1$I b using lake.catalog c
            where c.catalog_id = $1 and b.catalog_id = $1 and b.died <= c.floor and not lake._is_needed(b.catalog_id, b.rid, b.born, b.died)%2$s$q$, r.name,
            -- the last row that names a file stays until the file is gone
            case when r.has_files then format($q$
                and (b.owner_id is null or exists (select from lake.deletion d where d.full_path = b.full_path and d.removed is not null)
                    or exists (select from lake.%1$I o where o.full_path = b.full_path and o.rid > b.rid))$q$, r.name) else '' end)
        using catalog;
        get diagnostics gone = row_count;
        total := total + gone;
    end loop;
    delete from lake.ducklake_files_scheduled_for_deletion b using lake.catalog c
    where c.catalog_id = $1 and b.catalog_id = $1 and b.born <= c.floor
        and exists (select from lake.deletion d where d.full_path = case when b.path_is_relative then c.data_path || b.path else b.path end and d.removed is not null);
    update lake.catalog c set purged = clock_timestamp()
    where c.catalog_id = catalog and c.condemned is not null and c.purged is null
        and not exists (select from lake.ducklake_data_file b where b.owner_id = catalog)
        and not exists (select from lake.ducklake_delete_file b where b.owner_id = catalog)
        and not exists (select from lake.deletion d where d.owner_id = catalog and d.removed is null);
    return total;
end $$;
comment on function lake.prune_rows(bigint) is 'removes rows that nobody can see any more and whose files are gone; a condemned catalog without files is then purged';
