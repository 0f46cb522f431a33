-- Everything that the files in this folder make goes first, so that an upgrade may change a parameter's name or a view's
-- columns. All of it happens in the installer's one transaction: nobody sees the gap.
--
-- What stays: the tables and what they are made with (lake.span_of, the functions that came with a type), and lake._make_role,
-- which belongs to the maker of the moment.

do $do$
declare
    gone record;
begin
    drop schema if exists ducklake, ducklake_client, forklake cascade;
    for gone in select c.relname from pg_catalog.pg_class c where c.relnamespace = 'lake'::regnamespace and c.relkind = 'v' loop
        execute format('drop view if exists lake.%I cascade', gone.relname);
    end loop;
    -- named beforehand: one may go with another
    for gone in
        select unnest(array_agg(p.oid::regprocedure::text)) as signature from pg_catalog.pg_proc p
        where p.pronamespace = 'lake'::regnamespace and p.proname not in ('_make_role', 'span_of')
            and not exists (select from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'i')
    loop
        execute format('drop function if exists %s cascade', gone.signature);
    end loop;
end $do$;
