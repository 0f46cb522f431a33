-- The version row: what every client of the store looks at first. Applied at every install, before anything else.
create schema if not exists lake;
comment on schema lake is 'forklake: the base tables of all catalogs. Nothing in here is for tenants';

create table if not exists lake.store (
    only_row boolean not null default true,
    version integer not null,
    store_id uuid not null default gen_random_uuid(),
    installed timestamptz not null default now(),
    upgraded timestamptz not null default now(),
    constraint store_pk primary key (only_row),
    constraint store_one_row check (only_row)
);
comment on table lake.store is 'one row: which version of forklake''s tables this database holds';
