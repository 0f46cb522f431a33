-- The 28 relations that DuckLake clients see.
--
-- Purpose: for each payload table a view of the session's catalog and the three triggers that take its writes. They are
-- alike, so they are made here from the table's own columns; what differs is in lake._relation and lake._guard.
--
-- A view is two arms: the catalog's own live rows, without a join, and what its ancestors had when they were forked,
-- less the tombstones. The empty WITH keeps the planner from flattening the UNION ALL, which would forget the barrier: a
-- tenant's condition would run on neighbours' rows and could print them in its errors. ctid is the base row's: the triggers find it by that, and so does DuckDB's planner.

create or replace view lake._relation as
select c.relname as name,
    string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns,
    string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum) as typed_columns,
    string_agg('new.' || quote_ident(a.attname), ', ' order by a.attnum) as new_columns,
    string_agg(format('%1$I = new.%1$I', a.attname), ', ' order by a.attnum) as assignments,
    string_agg('b.' || quote_ident(a.attname), ', ' order by a.attnum) as own_columns,
    -- files of ancestors are shown where they are
    string_agg(case when h.has_files and a.attname = 'path' then 'case when b.path_is_relative then b.full_path else b.path end::varchar as path'
                    when h.has_files and a.attname = 'path_is_relative' then 'false as path_is_relative'
                    else 'b.' || quote_ident(a.attname) end, ', ' order by a.attnum) as inherited_columns,
    h.has_files
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
cross join lateral (select c.relname in ('ducklake_data_file', 'ducklake_delete_file') as has_files) h
where c.relnamespace = 'lake'::regnamespace and c.relkind = 'r' and starts_with(c.relname, 'ducklake_')
    and a.attname not in ('catalog_id', 'born', 'died', 'rid', 'owner_id', 'full_path')
group by c.relname, h.has_files;
comment on view lake._relation is 'the payload tables and their columns in DuckLake''s order, as SQL is made from them';

create or replace function lake._inherited(relation text, columns text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
return format($q$
select %2$s
from lake.session_ancestors() l
join lake.%1$I b on b.catalog_id operator(pg_catalog.=) l.ancestor_id and b.born operator(pg_catalog.<=) l.upto and b.died operator(pg_catalog.>) l.upto
where not b.rid operator(pg_catalog.=) any (select lake.session_tombstones())$q$, relation, columns);
comment on function lake._inherited(text, text) is 'the query for rows of a relation that the session''s catalog sees of its ancestors';

create or replace function lake._inherited(relation text, columns text, catalog text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
return format($q$
select %2$s
from lake.lineage l join lake.%1$I b on b.catalog_id = l.ancestor_id and b.born <= l.upto and b.died > l.upto
where l.catalog_id = %3$s and l.ancestor_id <> l.catalog_id and b.rid not in (
    select t.rid from lake.lineage tl join lake.tombstone t on t.catalog_id = tl.ancestor_id and t.born <= tl.upto where tl.catalog_id = %3$s)$q$, relation, columns, catalog);
comment on function lake._inherited(text, text, text) is 'the same for any catalog';

create or replace function lake._guard(relation text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
return case relation
    when 'ducklake_snapshot' then 'perform lake._check_snapshot(me, new.snapshot_id, new.next_catalog_id, new.next_file_id);'
    when 'ducklake_snapshot_changes' then 'perform lake._note_compaction(now_g, new.changes_made);'
    when 'ducklake_schema' then 'perform lake._check_new_id(me, ''schema'', new.schema_id, exists (select from ducklake.ducklake_schema v where v.schema_id = new.schema_id));
    perform lake._check_folder(me, new.path, new.path_is_relative);
    update lake.head set folder_of = null where catalog_id = me;'
    when 'ducklake_table' then 'perform lake._check_new_id(me, ''table'', new.table_id, exists (select from ducklake.ducklake_table v where v.table_id = new.table_id));
    perform lake._check_folder(me, new.path, new.path_is_relative);
    update lake.head set folder_of = null where catalog_id = me;'
    when 'ducklake_view' then 'perform lake._check_new_id(me, ''view'', new.view_id, exists (select from ducklake.ducklake_view v where v.view_id = new.view_id));'
    when 'ducklake_macro' then 'perform lake._check_new_id(me, ''macro'', new.macro_id, exists (select from ducklake.ducklake_macro v where v.macro_id = new.macro_id));'
    when 'ducklake_data_file' then 'if new.data_file_id >> 36 is distinct from me then perform lake._check_new_id(me, ''data file'', new.data_file_id); end if;'
    when 'ducklake_delete_file' then 'perform lake._check_new_id(me, ''delete file'', new.delete_file_id);
    perform lake._check_only_delete(new.data_file_id, new.end_snapshot);'
    when 'ducklake_column_mapping' then 'perform lake._check_new_id(me, ''mapping'', new.mapping_id);'
    when 'ducklake_partition_info' then 'perform lake._check_new_id(me, ''partition'', new.partition_id);'
    when 'ducklake_sort_info' then 'perform lake._check_new_id(me, ''sort order'', new.sort_id);'
    when 'ducklake_files_scheduled_for_deletion' then 'perform lake._check_queued(new.path, new.path_is_relative);'
    when 'ducklake_inlined_data_tables' then 'raise exception using errcode = ''FL011'', message = ''data inlining is off in this store'',
        hint = ''attach with DATA_INLINING_ROW_LIMIT 0, as forklake''''s ATTACH statement does'';'
end;
comment on function lake._guard(text) is 'what is checked of a new row before it is taken; null: nothing';

create or replace function lake._identity(relation text) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp
return case relation
    when 'ducklake_snapshot' then array['snapshot_id', 'next_catalog_id', 'next_file_id']
    when 'ducklake_schema' then array['schema_id', 'path', 'path_is_relative']
    when 'ducklake_table' then array['table_id', 'path', 'path_is_relative']
    when 'ducklake_view' then array['view_id']
    when 'ducklake_macro' then array['macro_id']
    when 'ducklake_data_file' then array['data_file_id', 'path', 'path_is_relative']
    when 'ducklake_delete_file' then array['delete_file_id', 'path', 'path_is_relative']
    when 'ducklake_column_mapping' then array['mapping_id']
    when 'ducklake_partition_info' then array['partition_id']
    when 'ducklake_sort_info' then array['sort_id']
    else '{}'
end;
comment on function lake._identity(text) is 'columns of a row that were checked when it came and may not be changed afterwards';

create or replace function lake._refuse_change(relation text, columns text[]) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'FL015', message = format('%s of %s cannot be changed', array_to_string(columns, ', '), relation),
        hint = 'delete the row and insert a new one';
end $$;

-- Merging or rewriting files of a partition, DuckDB takes the folder of the first for that of all, and an inherited file is
-- in another one: with an own file in the group it fails (and takes its whole process along), without one it nests the
-- parent's folder in the fork's. So its look for such files, which no other query resembles, finds no inherited ones that
-- have a partition.
create or replace function lake._shown_to_compaction(relation text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
return case relation when 'ducklake_data_file' then $q$
    and (b.partition_id is null or (select current_query() !~ '^COPY \(SELECT "begin_snapshot", "data_file_id", "table_id"(, "file_size_bytes")?, "end_snapshot", "record_count", "row_id_start", "mapping_id", "partial_max", "partition_id", "path", '))$q$
    else '' end;
comment on function lake._shown_to_compaction(text) is 'a condition on inherited rows that keeps a client''s compaction off partitioned files of ancestors';

-- Each of a client's statements begins by asking for the latest snapshot as the row whose number is the maximum, which
-- would read every snapshot twice. That one query is shown the latest row alone; any other spelling of it sees them all.
create or replace function lake._asks_for_latest() returns boolean
language plpgsql stable as $$
begin
    return pg_catalog.current_query() operator(pg_catalog.~~) 'COPY (SELECT "snapshot_id", "schema_version", "next_catalog_id", "next_file_id" FROM (SELECT snapshot_id,%MAX(snapshot_id)%';
end $$;

create or replace function lake._oldest_shown() returns bigint
language plpgsql stable security definer as $$
declare
    me bigint;
    latest bigint;
begin
    if not lake._asks_for_latest() then
        return -1;
    end if;
    me := lake.session_catalog();
    select b.snapshot_id into latest from lake.ducklake_snapshot b
    where b.catalog_id operator(pg_catalog.=) me and b.died operator(pg_catalog.=) 9223372036854775807 order by b.snapshot_id desc limit 1;
    return latest;
end $$;
comment on function lake._oldest_shown() is 'from which snapshot on the session''s own ones are shown';

create or replace function lake._is_large(relation text) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp
return relation in ('ducklake_data_file', 'ducklake_delete_file', 'ducklake_file_column_stats', 'ducklake_file_variant_stats',
    'ducklake_file_partition_value', 'ducklake_table_column_stats', 'ducklake_name_mapping', 'ducklake_column_mapping');
comment on function lake._is_large(text) is 'whether rows of a relation are worth an index scan for a client''s conditions, also where inherited';

create or replace function lake._make_inherited(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    execute format('drop function if exists lake._inherited_%s()', r.name);
    execute format($q$
create function lake._inherited_%1$s() returns table (%2$s, rowid tid) language plpgsql stable security definer as $f$
#variable_conflict use_column
begin
    if lake.session_is_fork()%3$s then
        return query %4$s;
    end if;
end $f$ $q$, r.name, r.typed_columns, case when r.name = 'ducklake_snapshot' then ' and not lake._asks_for_latest()' else '' end,
        lake._inherited(r.name, r.inherited_columns || ', b.ctid'));
end $$;
comment on function lake._make_inherited(lake._relation) is 'inherited rows of a small relation as a function: a catalog that is no fork does not even plan the query';

create or replace function lake._make_view(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    inherited text := lake._inherited(r.name, r.inherited_columns || ', b.ctid') || lake._shown_to_compaction(r.name);
begin
    execute format('drop view if exists ducklake.%I cascade', r.name);
    if not lake._is_large(r.name) then
        perform lake._make_inherited(r);
        inherited := format('select b.* from lake._inherited_%s() b', r.name);
    end if;
    execute format($q$
create view ducklake.%1$I with (security_barrier) as
with apart as (select)
select %2$s, b.ctid
from lake.%1$I b
where b.catalog_id = lake.session_catalog() and b.died = 9223372036854775807%4$s
union all %3$s$q$, r.name, r.own_columns, inherited,
        case when r.name = 'ducklake_snapshot' then ' and b.snapshot_id >= lake._oldest_shown()' else '' end);
end $$;

create or replace function lake._make_insert(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    guard text := lake._guard(r.name);
begin
    -- Nothing to check: one statement for each row and no search_path to set (see 20_session.sql), because statistics come by
    -- the hundred thousand.
    if guard is null then
        execute format($q$
create or replace function lake._insert_%1$s() returns trigger language plpgsql volatile security definer as $f$
begin
    loop
        insert into lake.%1$I (catalog_id, born, %2$s)
        select h.catalog_id, h.g, %3$s
        from lake.head h where h.xid operator(pg_catalog.=) pg_catalog.pg_current_xact_id_if_assigned() and h.chosen operator(pg_catalog.=) lake._chosen();
        exit when found;
        perform lake._begin_write();
    end loop;
    return new;
end $f$ $q$, r.name, r.columns, r.new_columns);
        return;
    end if;
    if r.has_files then
        perform lake._make_file_insert(r, guard);
        return;
    end if;
    execute format($q$
create or replace function lake._insert_%1$s() returns trigger language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $f$
declare
    me bigint;
    now_g bigint;
begin
    select h.catalog_id, h.g into me, now_g from lake.head h where h.xid = pg_current_xact_id_if_assigned() and h.chosen = lake._chosen();
    if not found then
        select * into me, now_g from lake._begin_write();
    end if;
    %4$s
    insert into lake.%1$I (catalog_id, born, %2$s) values (me, now_g, %3$s);
    return new;
end $f$ $q$, r.name, r.columns, r.new_columns, guard);
end $$;

create or replace function lake._make_file_insert(r lake._relation, guard text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    execute format($q$
create or replace function lake._insert_%1$s() returns trigger language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $f$
declare
    me bigint;
    now_g bigint;
    place text;
    holder bigint;
begin
    select h.catalog_id, h.g, case when h.folder_of = new.table_id then h.folder end into me, now_g, place
    from lake.head h where h.xid = pg_current_xact_id_if_assigned() and h.chosen = lake._chosen();
    if not found then
        select * into me, now_g from lake._begin_write();
    end if;
    %4$s
    if place is not null and new.path_is_relative and lake._is_plain(new.path) then
        place := place || new.path;
        holder := me;
    else
        select * into place, holder from lake._place_file(me, new.table_id, new.path, new.path_is_relative);
    end if;
    insert into lake.%1$I (catalog_id, born, full_path, owner_id, %2$s)
    select me, now_g, place, holder, %3$s where not exists (select from lake.deletion d where d.full_path = place and d.owner_id = holder);
    if not found then
        perform lake._refuse_given_up(new.path);
    end if;
    return new;
end $f$ $q$, r.name, r.columns, r.new_columns, guard);
end $$;
comment on function lake._make_file_insert(lake._relation, text) is 'the trigger that takes files: each gets its full path and its owner';

create or replace function lake._make_update(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    fixed text[] := lake._identity(r.name);
begin
    execute format($q$
create or replace function lake._update_%1$s() returns trigger language plpgsql volatile security definer%9$s as $f$
declare
    me bigint;
    now_g bigint;
    was lake.%1$I;
begin
    if %6$s then
        perform lake._refuse_change(%1$L, %7$L);
    end if;
    select h.catalog_id, h.g into me, now_g from lake.head h where h.xid operator(pg_catalog.=) pg_catalog.pg_current_xact_id_if_assigned() and h.chosen operator(pg_catalog.=) lake._chosen();
    if not found then
        select * into me, now_g from lake._begin_write();
    end if;
    update lake.%1$I b set died = now_g where b.ctid operator(pg_catalog.=) old.ctid and b.catalog_id operator(pg_catalog.=) me and b.born operator(pg_catalog.<) now_g returning b.* into was;
    if not found then
        update lake.%1$I b set %4$s where b.ctid operator(pg_catalog.=) old.ctid and b.catalog_id operator(pg_catalog.=) me;
        if found then
            return new;
        end if;
        select b.* into strict was from lake.%1$I b where b.ctid operator(pg_catalog.=) old.ctid;
        insert into lake.tombstone (catalog_id, rid, born) values (me, was.rid, now_g);
    end if;
    insert into lake.%1$I (catalog_id, born, %5$s%2$s) values (me, now_g, %8$s%3$s);
    return new;
end $f$ $q$, r.name, r.columns, r.new_columns, r.assignments,
        case when r.has_files then 'full_path, owner_id, ' else '' end,
        coalesce((select string_agg(format('new.%1$I is distinct from old.%1$I', f), ' or ') from unnest(fixed) f), 'false'),
        fixed,
        case when r.has_files then 'was.full_path, was.owner_id, ' else '' end,
        -- "is distinct from" needs a search_path; statistics, which every commit updates, do without (see 20_session.sql)
        case when cardinality(fixed) > 0 then ' set search_path = pg_catalog, pg_temp' else '' end);
end $$;

create or replace function lake._make_delete(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    execute format($q$
create or replace function lake._delete_%1$s() returns trigger language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $f$
declare
    me bigint;
    now_g bigint;
begin
    select h.catalog_id, h.g into me, now_g from lake.head h where h.xid = pg_current_xact_id_if_assigned() and h.chosen = lake._chosen();
    if not found then
        select * into me, now_g from lake._begin_write();
    end if;
    %2$s
    update lake.%1$I b set died = now_g where b.ctid = old.ctid and b.catalog_id = me and b.born < now_g;
    if found then
        return old;
    end if;
    delete from lake.%1$I b where b.ctid = old.ctid and b.catalog_id = me;
    if not found then
        insert into lake.tombstone (catalog_id, rid, born) select me, b.rid, now_g from lake.%1$I b where b.ctid = old.ctid;
    end if;
    return old;
end $f$ $q$, r.name, case when r.name = 'ducklake_snapshot' then 'perform lake._keep_latest(me, old.snapshot_id);' else '' end);
end $$;

create or replace function lake._make_relation(r lake._relation) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    verb text;
begin
    perform lake._make_view(r);
    perform lake._make_insert(r);
    perform lake._make_update(r);
    perform lake._make_delete(r);
    foreach verb in array array['insert', 'update', 'delete'] loop
        execute format('create trigger take_%1$s instead of %1$s on ducklake.%2$I for each row execute function lake._%1$s_%2$s()', verb, r.name);
    end loop;
end $$;
comment on function lake._make_relation(lake._relation) is 'the view of a payload table and its triggers';

create schema if not exists ducklake;
comment on schema ducklake is 'forklake: the session''s catalog, as the 28 tables of DuckLake 1.0';

select lake._make_relation(r) from lake._relation r
where r.name not in ('ducklake_metadata', 'ducklake_files_scheduled_for_deletion');
