-- Catalogs: making, finding, renaming, dropping and undeleting them, and their login roles.
--
-- Invariants: a catalog is known by its number and uuid, whatever it is called; dropping ends it on the global sequence
-- and removes its logins, nothing else. Functions here are the operator's: tenants cannot call them.

create or replace function lake.find_catalog(tenant text, name text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_id bigint;
begin
    select c.catalog_id into found_id from lake.catalog c
    where c.tenant = find_catalog.tenant and c.name = find_catalog.name and c.end_at is null;
    if not found then
        raise exception using errcode = 'FL001', message = format('catalog %L does not exist', tenant || '/' || name),
            hint = case when exists (select from lake.catalog c where c.tenant = find_catalog.tenant and c.name = find_catalog.name and c.condemned is null)
                then 'it was dropped and can still be undeleted' else 'create it, or look at the list of catalogs' end;
    end if;
    return found_id;
end $$;
comment on function lake.find_catalog(text, text) is 'the number of a live catalog; an error when there is none';

-- Since Postgres 16 a role that makes another one becomes its administrator, and Postgres goes through all that a maker
-- administers whenever it makes one more: the hundred-thousandth login took 14 ms. So no maker makes many: this function
-- belongs to the maker of the moment, and every 64th catalog brings a new one. (A group for all logins, or a setting for
-- each, would cost the same again: what tenants may do is granted to public and decided by lake.login.)
create or replace function lake._make_role(role_name name, verifier text) returns name
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    execute format('create role %I login password %L', role_name, verifier);
    return current_user;
end $$;
comment on function lake._make_role(name, text) is 'makes a login role; returns who made it';

create or replace function lake._change_maker() returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    fresh name := 'forklake_maker_' || left(replace(gen_random_uuid()::text, '-', ''), 12);
begin
    perform from lake.store for update;
    execute format('create role %I nologin createrole', fresh);
    execute format('grant %I to %I', fresh, current_user);
    execute format('grant create on schema lake to %I', fresh);
    execute format('alter function lake._make_role(name, text) owner to %I', fresh);
    execute format('revoke create on schema lake from %I', fresh);
    execute format('grant execute on function lake._make_role(name, text) to %I', current_user);
    insert into lake.maker (maker) values (fresh);
end $$;
comment on function lake._change_maker() is 'lets a new role make the login roles from here on';

create or replace function lake.create_login(catalog bigint, verifier text) returns name
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    role_name name := format('lake_%s_%s', catalog, left(replace(gen_random_uuid()::text, '-', ''), 8));
begin
    if verifier !~ '^SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$' then
        raise exception using errcode = 'FL009', message = 'a login needs a SCRAM-SHA-256 verifier, never a password in clear';
    end if;
    if catalog % 64 = 63 then
        perform lake._change_maker();
    end if;
    insert into lake.login (role_name, maker, catalog_id, name)
    select role_name, lake._make_role(role_name, verifier), c.catalog_id, c.name from lake.catalog c where c.catalog_id = catalog;
    return role_name;
end $$;
comment on function lake.create_login(bigint, text) is 'a new login role for a catalog. Rotating: make one, hand it out, retire the old one later';

create or replace function lake.retire_logins(catalog bigint, keep name, after interval) returns setof name
language sql volatile set search_path = pg_catalog, pg_temp as $$
    update lake.login l set retires = least(l.retires, clock_timestamp() + after)
    where l.catalog_id = catalog and l.is_default and l.role_name <> keep
    returning l.role_name
$$;
comment on function lake.retire_logins(bigint, name, interval) is 'marks all but one login role of a catalog to be dropped after a while';

create or replace function lake._drop_login(gone name) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    me name := current_user;
    made_by name;
begin
    delete from lake.login l where l.role_name = gone and l.is_default returning l.maker into made_by;
    delete from lake.login l where l.role_name = gone;
    if made_by is null or not exists (select from pg_roles r where r.rolname = gone) then
        return;
    end if;
    execute format('set local role %I', made_by);
    begin
        execute format('drop role %I', gone);
    exception when dependent_objects_still_exist then
        -- large objects and default privileges are anybody's to make, and to grant to a neighbour
        execute format('alter role %I nologin password null', gone);
        begin
            execute format('grant %I to %I', gone, made_by);
            execute format('drop owned by %I', gone);
            execute format('drop role %I', gone);
        exception when dependent_objects_still_exist then
            raise warning using message = format('role %I cannot be dropped, but can no longer log in', gone);
        end;
    end;
    execute format('set local role %I', me);
end $$;
comment on function lake._drop_login(name) is 'drops a login role with whatever it was given or made for itself in this database';

create or replace function lake.drop_retired_logins() returns setof name
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    gone name;
begin
    for gone in select distinct l.role_name from lake.login l where l.retires < clock_timestamp() order by 1 loop
        perform lake._drop_login(gone);
        return next gone;
    end loop;
    -- makers all of whose logins are gone, but for the one at work
    for gone in
        delete from lake.maker m
        where not exists (select from lake.login l where l.maker = m.maker)
            and m.maker <> (select p.proowner::regrole::text::name from pg_proc p where p.oid = 'lake._make_role(name, text)'::regprocedure)
        returning m.maker
    loop
        execute format('drop role if exists %I', gone);
    end loop;
end $$;
comment on function lake.drop_retired_logins() is 'drops the login roles whose time has come, and makers of none';

create or replace function lake._check_name(tenant text, name text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if tenant !~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' or name !~ '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' then
        raise exception using errcode = 'FL019', message = format('%L is not a name for a catalog', tenant || '/' || name),
            hint = 'use lower case letters, digits and - (in names also .), beginning and ending with a letter or digit';
    end if;
end $$;

create or replace function lake._refuse_taken_name(tenant text, name text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'FL002', message = format('catalog %L exists already', tenant || '/' || name),
        hint = 'use another name, or drop that one first';
end $$;

create or replace function lake._refuse_overlap(made lake.catalog) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    other lake.catalog;
begin
    select c.* into other from lake.catalog c
    where c.span && lake.span_of(made.data_path) and c.purged is null and c.tenant = made.tenant limit 1;
    raise exception using errcode = 'FL003', message = format('path %L overlaps the path of another catalog', made.data_path),
        detail = case when other.name is not null then format('catalog %L has %L', other.name, other.data_path) else 'it belongs to another tenant' end,
        hint = 'choose a folder that neither contains nor lies inside another catalog''s';
end $$;
comment on function lake._refuse_overlap(lake.catalog) is 'names the other catalog only to its own tenant';

create or replace function lake._check_prefix(owner_tenant text, wanted text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    allowed text[];
begin
    select t.prefixes into allowed from lake.tenant t where t.tenant = owner_tenant;
    if found and not exists (select from unnest(allowed) p where lake.path_is_under(wanted, p)) then
        raise exception using errcode = 'FL005', message = format('path %L is outside of what tenant %L may use', wanted, owner_tenant),
            detail = format('its prefixes are: %s', array_to_string(allowed, ', ')), hint = 'choose a folder under one of them';
    end if;
end $$;

create or replace function lake._add_catalog(made lake.catalog, settings jsonb, kind text, low bigint) returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    perform lake._check_name(made.tenant, made.name);
    perform lake._check_prefix(made.tenant, made.data_path);
    made.begin_at := lake._log(made.catalog_id, kind, low);
    begin
        insert into lake.catalog (catalog_id, tenant, name, data_path, encrypted, parent_id, mode, fork_upto, fork_snapshot, depth, max_depth, begin_at, floor)
        values (made.catalog_id, made.tenant, made.name, made.data_path, made.encrypted, made.parent_id, made.mode, made.fork_upto,
            made.fork_snapshot, made.depth, made.max_depth, made.begin_at, made.begin_at)
        returning * into made;
    exception
        when unique_violation then perform lake._refuse_taken_name(made.tenant, made.name);
        when exclusion_violation then perform lake._refuse_overlap(made);
    end;
    insert into lake.head (catalog_id, g) values (made.catalog_id, made.begin_at);
    insert into lake.lineage (catalog_id, ancestor_id, upto) values (made.catalog_id, made.catalog_id, 9223372036854775806);
    if settings <> '{}' then
        perform lake.configure_catalog(made.catalog_id, settings);
        select c.* into made from lake.catalog c where c.catalog_id = made.catalog_id;
    end if;
    return made;
end $$;

create or replace function lake.configure_catalog(catalog bigint, settings jsonb) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    unknown text;
begin
    select k into unknown from jsonb_object_keys(settings) k
    where k not in ('external_paths', 'history_retention', 'fork_tenants', 'max_depth', 'max_forks', 'protected') limit 1;
    if found then
        raise exception using errcode = 'FL020', message = format('a catalog has no setting %L', unknown),
            hint = 'it has external_paths, history_retention, fork_tenants, max_depth, max_forks and protected';
    end if;
    update lake.catalog c set
        external_paths = case when settings ? 'external_paths'
            then lake.normalize_folders(array(select jsonb_array_elements_text(settings -> 'external_paths'))) else c.external_paths end,
        history_retention = coalesce((settings ->> 'history_retention')::interval, c.history_retention),
        fork_tenants = case when settings ? 'fork_tenants' then array(select jsonb_array_elements_text(settings -> 'fork_tenants')) else c.fork_tenants end,
        max_forks = case when settings ? 'max_forks' then (settings ->> 'max_forks')::integer else c.max_forks end,
        protected = coalesce((settings ->> 'protected')::boolean, c.protected)
    where c.catalog_id = catalog;
    -- forks carry the limit of the catalog they come from
    if settings ? 'max_depth' then
        update lake.catalog c set max_depth = (settings ->> 'max_depth')::integer
        where c.catalog_id in (select l.catalog_id from lake.lineage l where l.ancestor_id = catalog);
    end if;
end $$;
comment on function lake.configure_catalog(bigint, jsonb) is 'changes what the owner of a catalog decides: external_paths, history_retention, fork_tenants, max_depth, max_forks, protected';

create or replace function lake.create_catalog(tenant text, name text, data_path text, settings jsonb default '{}', encrypted boolean default false)
returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    low bigint := lake._before_xid();
    made lake.catalog;
    first_id bigint;
begin
    made.catalog_id := nextval('lake.block');
    made.tenant := tenant;
    made.name := name;
    made.data_path := lake.normalize_folder(data_path);
    made.encrypted := encrypted;
    made.depth := 0;
    made := lake._add_catalog(made, settings, 'create', low);
    first_id := lower(lake.block_of(made.catalog_id));
    insert into lake.ducklake_snapshot (catalog_id, born, snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
    values (made.catalog_id, made.begin_at, 0, now(), 0, first_id + 1, first_id);
    insert into lake.ducklake_snapshot_changes (catalog_id, born, snapshot_id, changes_made)
    values (made.catalog_id, made.begin_at, 0, 'created_schema:"main"');
    insert into lake.ducklake_schema (catalog_id, born, schema_id, schema_uuid, begin_snapshot, schema_name, path, path_is_relative)
    values (made.catalog_id, made.begin_at, first_id, gen_random_uuid(), 0, 'main', 'main/', true);
    insert into lake.ducklake_schema_versions (catalog_id, born, begin_snapshot, schema_version) values (made.catalog_id, made.begin_at, 0, 0);
    return made;
end $$;
comment on function lake.create_catalog(text, text, text, jsonb, boolean) is 'a new, empty catalog';

create or replace function lake.rename_catalog(catalog bigint, new_name text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    low bigint := lake._before_xid();
    owner_tenant text;
begin
    select c.tenant into owner_tenant from lake.catalog c where c.catalog_id = catalog;
    perform lake._check_name(owner_tenant, new_name);
    begin
        update lake.catalog c set name = new_name where c.catalog_id = catalog;
    exception when unique_violation then
        perform lake._refuse_taken_name(owner_tenant, new_name);
    end;
    update lake.login l set name = new_name where l.catalog_id = catalog;
    perform lake._log(catalog, 'rename', low);
end $$;
comment on function lake.rename_catalog(bigint, text) is 'another name for the same catalog: uuid, path, credentials and forks stay';

create or replace function lake.drop_catalog(catalog bigint) returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    low bigint := lake._before_xid();
    dropped lake.catalog;
    gone name;
begin
    select c.* into dropped from lake.catalog c where c.catalog_id = catalog for update;
    if dropped.end_at is not null then
        return dropped;
    elsif dropped.protected then
        raise exception using errcode = 'FL018', message = format('catalog %L is protected', dropped.tenant || '/' || dropped.name),
            hint = 'set protected to false first';
    end if;
    perform from lake.head h where h.catalog_id = catalog for update;
    update lake.catalog c set end_at = lake._log(catalog, 'end', low), ended = clock_timestamp() where c.catalog_id = catalog returning c.* into dropped;
    -- a writer whose snapshot is older than this must not get through: the changed row tells it
    update lake.head h set g = dropped.end_at where h.catalog_id = catalog;
    -- roles that came with this catalog go with it; one that reaches other catalogs too only loses this one
    delete from lake.login l where l.catalog_id = catalog and not l.is_default;
    update lake.login l set retires = clock_timestamp() where l.catalog_id = catalog;
    -- only the operator may drop roles; what a tenant leaves behind shows nothing any more and goes with the retired ones
    if current_user = session_user then
        for gone in select l.role_name from lake.login l where l.catalog_id = catalog loop
            perform lake._drop_login(gone);
        end loop;
    end if;
    return dropped;
end $$;
comment on function lake.drop_catalog(bigint) is 'ends a catalog. Its rows and files stay, for its forks and for undelete_catalog, until clean-up';

create or replace function lake.undelete_catalog(catalog bigint) returns lake.catalog
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
    low bigint := lake._before_xid();
    back lake.catalog;
begin
    select c.* into back from lake.catalog c where c.catalog_id = catalog for update;
    if back.condemned is not null then
        raise exception using errcode = 'FL008', message = format('catalog %L is gone: clean-up has passed', back.tenant || '/' || back.name),
            hint = 'fork it from a relative that still has the data';
    elsif back.end_at is null then
        return back;
    end if;
    perform lake._log(catalog, 'undelete', low);
    begin
        update lake.catalog c set end_at = null, ended = null where c.catalog_id = catalog returning c.* into back;
    exception when unique_violation then
        perform lake._refuse_taken_name(back.tenant, back.name);
    end;
    return back;
end $$;
comment on function lake.undelete_catalog(bigint) is 'brings a dropped catalog back, until clean-up has passed. It needs a new login';

create or replace function lake.options(catalog bigint) returns table (key text, value text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    return query execute format('select b.key::text, b.value::text from lake.ducklake_metadata b
        where b.catalog_id = $1 and b.died = 9223372036854775807 and b.scope is null
        union all %s and b.scope is null', lake._inherited('ducklake_metadata', 'b.key::text, b.value::text', '$1')) using catalog;
end $$;
comment on function lake.options(bigint) is 'DuckLake options of a catalog, own and inherited, that hold for all of it';

create or replace function lake.set_options(catalog bigint, options jsonb) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    wanted record;
    now_g bigint;
begin
    for wanted in
        select o.key, o.value from jsonb_each_text(options) o
        where not exists (select from lake.options(catalog) has where has.key = o.key and has.value = o.value) order by o.key
    loop
        if exists (select from lake._fixed_option f where f.key = wanted.key) then
            raise exception using errcode = 'FL011', message = format('option %L is not to be set', wanted.key), hint = 'forklake decides it';
        end if;
        now_g := lake._write_to(catalog, 'option');
        perform lake._end_option(catalog, now_g, row(wanted.key, wanted.value, null, null)::ducklake.ducklake_metadata);
        insert into lake.ducklake_metadata (catalog_id, born, key, value) values (catalog, now_g, wanted.key, wanted.value);
    end loop;
end $$;
comment on function lake.set_options(bigint, jsonb) is 'sets DuckLake options for a whole catalog; what has the value already is left alone';
