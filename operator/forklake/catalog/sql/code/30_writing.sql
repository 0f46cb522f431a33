-- Writing.
--
-- Purpose: what every write goes through: the commit lock of the catalog, the number it draws, and what it may contain.
-- Invariants:
-- * lake.head is locked before a global snapshot is drawn: the numbers of one catalog grow in the order of its commits.
-- * lake.head.xid = this transaction's id means: it holds the lock and drew head.g. No setting says so.

create or replace function lake._drawn() returns bigint
language sql volatile set search_path = pg_catalog, pg_temp
return (select case when s.is_called then s.last_value else -1 end from lake.global_snapshot s);
comment on function lake._drawn() is 'the last number that the sequence gave out; -1 for none';

create or replace function lake._before_xid() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    -- Once this transaction has an id, others with later ids may have drawn less than what the sequence says now.
    if pg_current_xact_id_if_assigned() is not null then
        return -1;
    end if;
    return lake._drawn();
end $$;
comment on function lake._before_xid() is 'what the sequence had given out before this transaction had an id; -1 when it has one already';

create or replace function lake._log(about bigint, kind text, low bigint) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
    insert into lake.commit (g, catalog_id, kind, xid, low)
    values (nextval('lake.global_snapshot'), about, kind, pg_current_xact_id(), low)
    returning g
$$;
comment on function lake._log(bigint, text, bigint) is 'draws the next global snapshot and writes down what it is for';

create or replace function lake._write_to(target bigint, kind text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    low bigint := lake._before_xid();
    drawn bigint;
begin
    select h.g into drawn from lake.head h where h.catalog_id = target and h.xid = pg_current_xact_id_if_assigned();
    if found then
        return drawn;
    end if;
    perform from lake.head h where h.catalog_id = target for no key update;
    drawn := lake._log(target, kind, low);
    update lake.head h set xid = pg_current_xact_id(), g = drawn where h.catalog_id = target;
    return drawn;
end $$;
comment on function lake._write_to(bigint, text) is 'takes the commit lock of a catalog for this transaction and draws its global snapshot, once';

create or replace function lake._begin_write(out me bigint, out now_g bigint)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if pg_current_xact_id_if_assigned() is not null and exists (select from lake.head h where h.xid = pg_current_xact_id_if_assigned())
        and lake.session_catalog() is not null then
        raise exception using errcode = 'FL009', message = 'a transaction writes to one catalog', hint = 'commit before you choose another';
    end if;
    -- One statement, because clients make Postgres forget its plan after every transaction. The row is locked before
    -- its new value holds: who finds it changed meanwhile draws again (read committed) or fails (40001).
    with drawn as (
        update lake.head h
        set low = case when pg_current_xact_id_if_assigned() is null then (select s.last_value from lake.global_snapshot s) else -1 end,
            xid = pg_current_xact_id(), chosen = lake._chosen(), g = nextval('lake.global_snapshot')
        where h.catalog_id = lake.session_catalog() and exists (select from lake.catalog c where c.catalog_id = h.catalog_id and c.end_at is null)
        returning h.catalog_id, h.g, h.xid, h.low)
    insert into lake.commit (g, catalog_id, kind, xid, low) select d.g, d.catalog_id, 'commit', d.xid, d.low from drawn d
    returning catalog_id, g into me, now_g;
    if me is null and lake.session_catalog() is null then
        raise exception using errcode = 'FL001', message = format('role %I has no catalog to write to', session_user),
            hint = 'connect with the credentials of a catalog, or set forklake.catalog to one that this role was granted';
    elsif me is null then
        raise exception using errcode = 'FL013', message = format('the catalog of role %I has been dropped', session_user),
            hint = 'undelete it first, or use another catalog';
    end if;
end $$;
comment on function lake._begin_write() is 'lake._write_to for the session''s catalog';

create or replace function lake.block_of(catalog bigint) returns int8range
language sql immutable strict set search_path = pg_catalog, pg_temp
return int8range(catalog << 36, (catalog + 1) << 36);
comment on function lake.block_of(bigint) is 'the ids that a catalog may give to new tables, files and so on';

create or replace function lake._check_new_id(me bigint, what text, id bigint, known boolean default false) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if id is null or not (known or id <@ lake.block_of(me)) then
        raise exception using errcode = 'FL010', message = format('%s %s is outside of this catalog''s ids', what, coalesce(id::text, 'NULL')),
            detail = format('its ids are %s', lake.block_of(me)),
            hint = 'count up from next_catalog_id and next_file_id of the latest snapshot, as DuckLake clients do';
    end if;
end $$;

create or replace function lake._check_snapshot(me bigint, made bigint, next_catalog_id bigint, next_file_id bigint) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    latest bigint;
begin
    if (next_catalog_id >> 36, next_file_id >> 36) is distinct from (me, me) then
        perform lake._check_new_id(me, 'next_catalog_id', next_catalog_id);
        perform lake._check_new_id(me, 'next_file_id', next_file_id);
    end if;
    select s.snapshot_id into latest from lake.ducklake_snapshot s
    where s.catalog_id = me and s.died = 9223372036854775807 order by s.snapshot_id desc limit 1;
    -- The words are for clients: they retry what says "conflict".
    if made is distinct from latest + 1 then
        raise exception using errcode = '40001', message = format('snapshot %s conflicts with a concurrent commit', made),
            detail = format('the latest snapshot is %s', latest), hint = 'read the latest snapshot and commit again';
    end if;
end $$;

-- A body of standard SQL is resolved when it is made, so it needs no search_path, and without one it is inlined.
create or replace function lake._is_plain(path text) returns boolean
language sql immutable
return path operator(pg_catalog.!~) '(^|/)\.{0,2}(/|$)|://|[[:cntrl:]]|[\\?*]';
comment on function lake._is_plain(text) is 'whether a relative path stays where it is put: no empty, . or .. segment, no backslash, no wildcard';

create or replace function lake._check_relative(path text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if lake._is_plain(path) is not true then
        raise exception using errcode = 'FL005', message = format('relative path %L has an empty, a . or a .. segment, a backslash or a wildcard', path),
            hint = 'a catalog may only write inside its own DATA_PATH: use a plain relative path';
    end if;
end $$;

create or replace function lake._check_only_delete(of_file bigint, ended bigint) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    -- Clients miss this when two replace a delete file at the same time, and every row of the data file would come twice.
    if ended is null and exists (
        select from ducklake.ducklake_delete_file v where v.data_file_id = of_file and v.end_snapshot is null) then
        raise exception using errcode = '40001', message = format('somebody else deleted rows of data file %s meanwhile', of_file),
            hint = 'run the statement again';
    end if;
end $$;

create or replace function lake._note_compaction(commit_g bigint, changes text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if changes ~ '(merge_adjacent|rewrite_delete|compacted_table):' then
        update lake.commit c set kind = 'compact' where c.g = commit_g;
    end if;
end $$;
comment on function lake._note_compaction(bigint, text) is 'remembers which commits replaced files by others: their reason outlives the client''s own record';

create or replace function lake._check_as_written(path text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    -- clients read the path as it stands: to an object store a//b and a/./b are other keys than a/b, and ? begins settings
    if path ~ '/\.{1,2}(/|$)|[\\?*]' or path ~ '://.*//' then
        raise exception using errcode = 'FL005', message = format('file %L has a . or .. segment, a double slash, a backslash or a wildcard', path),
            hint = 'write its path in its plain form';
    end if;
end $$;

create or replace function lake._check_queued(path text, path_is_relative boolean) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if path_is_relative then
        perform lake._check_relative(path);
    else
        perform lake.normalize_path(path);
    end if;
end $$;
comment on function lake._check_queued(text, boolean) is 'whether what a client schedules for deletion is a path at all; a fork may schedule its parent''s files, which is passed over';

create or replace function lake._keep_latest(me bigint, gone bigint) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if gone >= (select max(s.snapshot_id) from lake.ducklake_snapshot s where s.catalog_id = me and s.died = 9223372036854775807) then
        raise exception using errcode = 'FL015', message = format('snapshot %s is the latest and cannot be deleted', gone), hint = 'commit another first';
    end if;
end $$;

create or replace function lake._check_folder(me bigint, path text, path_is_relative boolean) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    home text;
begin
    if path_is_relative then
        if path <> '' then
            perform lake._check_relative(regexp_replace(path, '/$', ''));
        end if;
        return;
    end if;
    select c.data_path into home from lake.catalog c where c.catalog_id = me;
    if path is null or not lake.path_is_under(lake.normalize_folder(path), home) then
        raise exception using errcode = 'FL005', message = format('folder %L is outside of the catalog''s DATA_PATH %L', path, home),
            hint = 'a catalog may only write inside its own DATA_PATH';
    end if;
end $$;
comment on function lake._check_folder(bigint, text, boolean) is 'where a schema or table may put its files';

create or replace function lake._folder_of(me bigint, wanted bigint) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    place text;
begin
    select case when not t.path_is_relative then lake.normalize_folder(t.path)
                when not s.path_is_relative then lake.normalize_folder(s.path) || t.path
                else c.data_path || s.path || t.path end
    into place
    from lake.catalog c, ducklake.ducklake_table t join ducklake.ducklake_schema s using (schema_id)
    where c.catalog_id = me and t.table_id = wanted
    order by t.end_snapshot desc nulls first, s.end_snapshot desc nulls first
    limit 1;
    if place is null then
        raise exception using errcode = 'FL005', message = format('table %s of a new file does not exist in this catalog', wanted),
            hint = 'insert the table first';
    elsif not exists (select from lake.catalog c where c.catalog_id = me and lake.path_is_under(place, c.data_path)) then
        raise exception using errcode = 'FL005', message = format('folder %L of table %s is outside of the catalog''s DATA_PATH', place, wanted),
            hint = 'an ancestor gave the table an absolute path: make a new table for new rows';
    end if;
    update lake.head h set folder_of = wanted, folder = place where h.catalog_id = me;
    return place;
end $$;

create or replace function lake._place_file(me bigint, table_id bigint, path text, path_is_relative boolean, out full_path text, out owner_id bigint)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    home text;
    outside text[];
begin
    if path_is_relative then
        perform lake._check_relative(path);
        full_path := lake._folder_of(me, table_id) || path;
        owner_id := me;
    else
        select c.data_path, c.external_paths into home, outside from lake.catalog c where c.catalog_id = me;
        full_path := lake.normalize_path(path);
        perform lake._check_as_written(path);
        if lake.path_is_under(full_path, home) then
            owner_id := me;
        elsif not exists (select from unnest(outside) o where lake.path_is_under(full_path, o)) then
            raise exception using errcode = 'FL005', message = format('file %L is outside of the catalog''s DATA_PATH %L', path, home),
                hint = 'write it there, or ask for its folder to be added to the catalog''s externalPaths';
        elsif exists (select from lake.catalog c where c.span @> lower(lake.span_of(full_path)) and c.purged is null) then
            raise exception using errcode = 'FL005', message = format('file %L belongs to another catalog', path),
                hint = 'fork that catalog to read its files';
        end if;
    end if;
end $$;
comment on function lake._place_file(bigint, bigint, text, boolean) is 'the full path and the owner of a new file, or an error that names the rule';

create or replace function lake._refuse_given_up(path text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'FL005', message = format('file %L was given up and is being removed', path),
        hint = 'write the rows to a new file';
end $$;
