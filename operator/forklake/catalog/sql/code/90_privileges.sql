-- Who may do what. Applied last, so that it holds for everything above.
--
-- Tenants get DML on the views and the functions of schema forklake, and nothing else. That is granted to public: what a
-- role sees depends on its row in lake.login, and without one it sees nothing. (A group role for all logins would cost
-- each fork time in proportion to the logins there are: docs/decisions/.)
--
-- The views belong to a role that may only read: LOCK TABLE on a view goes on to the tables underneath with the rights of
-- the view's owner. Row-level security lets that role read the base tables and has no other policy, so that even a
-- mistaken grant shows nothing.

do $do$
declare
    reader name := (select 'forklake_views_' || left(replace(s.store_id::text, '-', ''), 8) from lake.store s);
    t record;
begin
    if not exists (select from pg_catalog.pg_roles r where r.rolname = reader) then
        execute format('create role %I nologin', reader);
    end if;
    execute format('grant %I to %I', reader, current_user);
    execute format('grant create, usage on schema ducklake, lake to %I', reader);
    for t in select c.relname, c.relkind from pg_catalog.pg_class c where c.relnamespace = 'lake'::regnamespace and c.relkind in ('r', 'v') loop
        execute format('grant select on lake.%I to %I', t.relname, reader);
        if t.relkind = 'r' then
            execute format('alter table lake.%I enable row level security', t.relname);
            execute format('drop policy if exists views_read on lake.%I', t.relname);
            execute format('create policy views_read on lake.%I for select to %I using (true)', t.relname, reader);
        end if;
    end loop;
    for t in select c.relname from pg_catalog.pg_class c where c.relnamespace = 'ducklake'::regnamespace and c.relkind = 'v' loop
        execute format('alter view ducklake.%I owner to %I', t.relname, reader);
    end loop;
    execute format('revoke create on schema ducklake, lake from %I', reader);

    -- what the planner knows of a column shows in EXPLAIN, whoever's rows it was learnt from: only numbers that we plan by
    for t in
        select c.relname, a.attname from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'lake'::regnamespace and c.relkind = 'r' and starts_with(c.relname, 'ducklake_') and a.attnum > 0 and not a.attisdropped
            and a.attname not in ('catalog_id', 'born', 'died', 'rid', 'owner_id', 'table_id', 'column_id', 'data_file_id', 'snapshot_id', 'begin_snapshot', 'end_snapshot')
    loop
        execute format('alter table lake.%I alter column %I set statistics 0', t.relname, t.attname);
    end loop;

    if not exists (select from lake.maker) then
        perform lake._change_maker();
    end if;

    -- no TEMP: what a tenant made in pg_temp would be found before anything else
    execute format('revoke all on database %I from public', current_database());
    execute format('grant connect on database %I to public', current_database());
    -- Lineage and base rows meet once each, so Memoize only copies; and an index scan for each ancestor beats reading
    -- everybody's rows. Clients' DISCARD ALL comes back to these.
    execute format('alter database %I set enable_memoize = off', current_database());
    execute format('alter database %I set random_page_cost = 1.1', current_database());
    -- clients read pg_attribute unqualified: see 20_session.sql
    execute format('alter database %I set search_path = ducklake_client, pg_catalog, ducklake, forklake', current_database());
    if (select pg_catalog.pg_has_role(n.nspowner, 'usage') from pg_catalog.pg_namespace n where n.nspname = 'public') then
        revoke all on schema public from public;
    end if;
end $do$;

revoke all on schema lake from public;
revoke all on all tables in schema lake from public;
revoke all on all sequences in schema lake from public;
revoke all on all functions in schema lake from public;
revoke all on all functions in schema forklake from public;

grant usage on schema ducklake, ducklake_client, forklake to public;
grant select, insert, update, delete on all tables in schema ducklake to public;
grant select on ducklake_client.pg_attribute to public;
grant execute on function lake.session_catalog(), lake.session_ancestors(), lake.session_tombstones(), lake.session_is_fork(), lake._asks_for_latest(), lake._oldest_shown(),
    lake._refuse_queue() to public;
do $do$
declare
    f record;
begin
    -- inherited rows of the small relations: they answer for the session's catalog alone
    for f in select p.oid::regprocedure as signature from pg_catalog.pg_proc p where p.pronamespace = 'lake'::regnamespace and starts_with(p.proname, '_inherited_ducklake_') loop
        execute format('grant execute on function %s to public', f.signature);
    end loop;
end $do$;
grant execute on function forklake.fork_catalog(text, text, text, bigint, timestamptz), forklake.drop_fork(text), forklake.catalogs(),
    forklake.lineage(), forklake.usage(), forklake.changes(bigint, bigint) to public;
