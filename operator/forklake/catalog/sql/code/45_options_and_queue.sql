-- The two relations that DuckDB's planner inserts into as well.
--
-- It does so with COPY, which wants exactly DuckLake's columns: these views have no ctid, and their triggers know a row by
-- what it says.

-- ducklake_metadata: the catalog's options. What forklake decides is shown, but neither stored nor taken.
--
-- set_option looks whether a key is there, then inserts it, or else updates it by ctid, which cannot be had here. That
-- look, which no other query resembles, is answered "no", and the insert replaces.

create or replace view lake._fixed_option as
select c.catalog_id, f.key, f.value
from lake.catalog c
cross join lateral (values ('version', '1.0'), ('created_by', 'forklake'), ('data_path', c.data_path), ('encrypted', c.encrypted::text),
    ('data_inlining_row_limit', '0')) f (key, value);
comment on view lake._fixed_option is 'options of each catalog that are forklake''s to decide';

do $do$
declare
    payload constant text := 'b.key, b.value, b.scope, b.scope_id';
    me constant text := 'lake.session_catalog()';
    no_look constant text := $w$not (select current_query() ~ '^COPY \(SELECT "key", "scope"(, "scope_id")? FROM "\w+"\."ducklake_metadata" WHERE ')$w$;
begin
    drop view if exists ducklake.ducklake_metadata cascade;
    perform lake._make_inherited(r) from lake._relation r where r.name = 'ducklake_metadata';
    execute format($v$
create view ducklake.ducklake_metadata with (security_barrier) as
with apart as (select)
select f.key::varchar, f.value::varchar, null::varchar as scope, null::bigint as scope_id from lake._fixed_option f where f.catalog_id = %2$s and %3$s
union all
select %1$s from lake.ducklake_metadata b where b.catalog_id = %2$s and b.died = 9223372036854775807 and %3$s
union all
select %1$s from lake._inherited_ducklake_metadata() b where %3$s$v$, payload, me, no_look);
end $do$;

create or replace function lake._end_option(me bigint, now_g bigint, gone ducklake.ducklake_metadata) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    delete from lake.ducklake_metadata b
    where b.catalog_id = me and b.born = now_g and b.key = gone.key and (b.scope, b.scope_id) is not distinct from (gone.scope, gone.scope_id);
    update lake.ducklake_metadata b set died = now_g
    where b.catalog_id = me and b.died = 9223372036854775807 and b.key = gone.key and (b.scope, b.scope_id) is not distinct from (gone.scope, gone.scope_id);
    insert into lake.tombstone (catalog_id, rid, born)
    select me, b.rid, now_g
    from lake.lineage l join lake.ducklake_metadata b on b.catalog_id = l.ancestor_id and b.born <= l.upto and b.died > l.upto
    where l.catalog_id = me and l.ancestor_id <> me and b.key = gone.key and (b.scope, b.scope_id) is not distinct from (gone.scope, gone.scope_id)
    on conflict do nothing;
$$;
comment on function lake._end_option(bigint, bigint, ducklake.ducklake_metadata) is 'takes an option away, own or inherited';

create or replace function lake._write_option() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    me bigint;
    now_g bigint;
    named ducklake.ducklake_metadata := case when tg_op = 'DELETE' then old else new end;
begin
    if exists (
        select from lake._fixed_option f
        where f.catalog_id = lake.session_catalog() and ((tg_op <> 'DELETE' and f.key = new.key and f.value is distinct from new.value)
            or (tg_op <> 'INSERT' and f.key = old.key and old.scope is null and (tg_op = 'DELETE' or old is distinct from new)))) then
        raise exception using errcode = 'FL011', message = format('option %L cannot be changed', named.key),
            hint = 'it was decided when the catalog was made, or holds for the whole store: make another catalog';
    end if;
    select h.catalog_id, h.g into me, now_g from lake.head h where h.xid = pg_current_xact_id_if_assigned() and h.chosen = lake._chosen();
    if not found then
        select * into me, now_g from lake._begin_write();
    end if;
    if tg_op <> 'INSERT' then
        perform lake._end_option(me, now_g, old);
    end if;
    if tg_op <> 'DELETE' then
        perform lake._end_option(me, now_g, new);
        insert into lake.ducklake_metadata (catalog_id, born, key, value, scope, scope_id)
        select me, now_g, new.key, new.value, new.scope, new.scope_id
        where not exists (select from lake._fixed_option f where f.catalog_id = me and f.key = new.key and new.scope is null);
    end if;
    return named;
end $$;
create trigger take_option instead of insert or update or delete on ducklake.ducklake_metadata for each row execute function lake._write_option();

-- ducklake_files_scheduled_for_deletion: clients put files in, and none may read it, because a client removes what it
-- reads there and knows nothing of forks. forklake's clean-up decides instead.

create or replace function lake._refuse_queue() returns table (data_file_id bigint, path varchar, path_is_relative boolean, schedule_start timestamptz)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'FL012', message = 'a client of this store may not remove files: forks may still read them',
        hint = 'forklake removes what nobody can see: forklake maintain NAME --only cleanup, or a MaintenancePolicy';
end $$;
comment on function lake._refuse_queue() is 'stands in for the queue when a client reads it';

drop view if exists ducklake.ducklake_files_scheduled_for_deletion cascade;
create view ducklake.ducklake_files_scheduled_for_deletion as
select q.data_file_id, q.path, q.path_is_relative, q.schedule_start from lake._refuse_queue() q;

select lake._make_insert(r) from lake._relation r where r.name = 'ducklake_files_scheduled_for_deletion';
create trigger take_insert instead of insert on ducklake.ducklake_files_scheduled_for_deletion
for each row execute function lake._insert_ducklake_files_scheduled_for_deletion();
