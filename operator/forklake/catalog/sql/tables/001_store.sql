-- The tables of the store, version 1.
--
-- Purpose: what every catalog in this database consists of. Schema `lake` is forklake's own; tenants have no privilege on
-- anything in it. Files in this folder are applied once, in order, and never changed after a release: what has to change
-- comes in the next number.
--
-- Invariants:
-- * A row of lake.ducklake_* is visible to its catalog while died is the largest bigint. Rows are never changed in place
--   by a later transaction: a change ends the old version and inserts a new one.
-- * born and died are global snapshots; every other number in a payload is the catalog's own, as its client wrote it.
-- * rid is unique over all lake.ducklake_* tables: a tombstone needs nothing else to name a row.

create sequence lake.global_snapshot as bigint minvalue 0 start 0;
comment on sequence lake.global_snapshot is 'the store-wide sequence: every commit, fork and end of a catalog draws a number';

create sequence lake.block as bigint minvalue 0 start 0;
comment on sequence lake.block is 'numbers of catalogs; catalog n owns the ids from n * 2^36 on';

create sequence lake.rid as bigint cache 64;
comment on sequence lake.rid is 'row numbers, unique over all payload tables';

-- A path as the range of all that lies in it, in byte order, hence "C". Each segment stands for itself by a hash: whether one
-- path contains another stays the same, and names that come in order do not make the index one long branch.
create type lake.path_span as range (subtype = text, collation = "C");
create function lake.span_of(path text) returns lake.path_span
language sql immutable strict
return (
    select lake.path_span(k.path, left(k.path, -1) || '0')
    from (select string_agg(left(md5(p.segment), 16), '/' order by p.n) || '/' as path
        from string_to_table(rtrim(span_of.path, '/'), '/') with ordinality p (segment, n)) k);
comment on function lake.span_of(text) is 'all that lies in a normalised folder; two folders overlap exactly when their spans do';

-- A moment of a catalog to fork at: the global snapshot, and what the catalog itself called it.
create type lake._fork_point as (upto bigint, snapshot_id bigint, schema_version bigint);

create table lake.tenant (
    tenant text not null,
    prefixes text[] not null default '{}',
    constraint tenant_pk primary key (tenant)
);
comment on table lake.tenant is 'who catalogs belong to, and the prefixes their paths must lie under; no row: no restriction for the operator, no fork in SQL for the tenant';

create table lake.catalog (
    catalog_id bigint not null,
    uuid uuid not null default gen_random_uuid(),
    tenant text not null,
    name text not null,
    data_path text collate "C" not null,
    span lake.path_span generated always as (lake.span_of(data_path)) stored,
    encrypted boolean not null default false,
    -- where it came from
    parent_id bigint,
    mode text,
    fork_upto bigint,
    fork_snapshot bigint,
    depth integer not null default 0,
    -- its life on the global sequence
    begin_at bigint not null,
    end_at bigint,
    created timestamptz not null default clock_timestamp(),
    ended timestamptz,
    condemned timestamptz,
    purged timestamptz,
    -- history before this global snapshot may be gone; forks below it are refused
    floor bigint not null,
    -- what its owner wants
    external_paths text[] not null default '{}',
    history_retention interval not null default interval '7 days',
    fork_tenants text[] not null default '{}',
    max_depth integer,
    max_forks integer,
    protected boolean not null default false,
    constraint catalog_pk primary key (catalog_id),
    constraint catalog_parent_fk foreign key (parent_id) references lake.catalog (catalog_id),
    constraint catalog_mode_known check (mode in ('Reference', 'Copy')),
    constraint catalog_fork_is_whole check ((parent_id is null) = (mode is null) and (parent_id is null) = (fork_upto is null)),
    constraint catalog_end_after_begin check (end_at > begin_at),
    constraint catalog_ends_in_order check ((condemned is null or end_at is not null) and (purged is null or condemned is not null)),
    -- no path equals, contains or lies inside another's, ended catalogs included, until their files are gone.
    -- SP-GiST: 29 us an insert with 100,000 paths, flat; GiST took four times that and grew.
    constraint catalog_paths_apart exclude using spgist (span with &&) where (purged is null)
);
comment on table lake.catalog is 'one row for each catalog and fork; ended ones stay until they are purged';
comment on column lake.catalog.ended is 'when it was dropped; it can be undeleted until it is condemned';
comment on column lake.catalog.condemned is 'when clean-up took it: it sees nothing any more, its files go as soon as no fork sees them';
comment on column lake.catalog.purged is 'when the last of its files was gone; its path is free again';
comment on column lake.catalog.fork_tenants is 'who else may fork it: names of tenants, or * for all; its own tenant always may';

-- a name is taken while its catalog lives
create unique index catalog_name_taken on lake.catalog (tenant, name) where end_at is null;
-- counting forks of a parent, and the tree
create index catalog_by_parent on lake.catalog (parent_id) where parent_id is not null;

create table lake.head (
    catalog_id bigint not null,
    low bigint not null default -1,
    xid xid8,
    chosen text not null default '',
    g bigint not null,
    folder_of bigint,
    folder text,
    constraint head_pk primary key (catalog_id)
) with (fillfactor = 50);
comment on table lake.head is 'the commit lock of a catalog, and what the transaction that holds it (xid) has drawn. Locking this row is the right to commit';
comment on column lake.head.chosen is 'the setting forklake.catalog when the transaction began to write: changed meanwhile, it is another catalog''s turn';
comment on column lake.head.folder is 'where the files of table folder_of go, kept from one file of a commit to the next';

-- who is writing here: asked for each row of a commit. A transaction commits to one catalog.
create unique index head_writer on lake.head (xid) where xid is not null;

create table lake.commit (
    g bigint not null,
    catalog_id bigint not null,
    kind text not null,
    at timestamptz not null default clock_timestamp(),
    xid xid8 not null,
    low bigint not null,
    constraint commit_pk primary key (g)
);
comment on table lake.commit is 'what happened at each global snapshot';
comment on column lake.commit.low is 'the sequence before this transaction had an id: whoever got an id later draws more than this (see lake.settled_horizon)';
-- what a moment in time was on the sequence
create index commit_by_time on lake.commit (at);
-- a catalog's life and changes
create index commit_by_catalog on lake.commit (catalog_id, g);

create table lake.lineage (
    catalog_id bigint not null,
    ancestor_id bigint not null,
    upto bigint not null,
    constraint lineage_pk primary key (catalog_id, ancestor_id) include (upto)
);
comment on table lake.lineage is 'what a catalog sees: each ancestor up to a global snapshot, and itself up to the largest bigint less one';
-- who sees rows of this ancestor: asked by clean-up
create index lineage_by_ancestor on lake.lineage (ancestor_id, upto);

create table lake.tombstone (
    catalog_id bigint not null,
    rid bigint not null,
    born bigint not null,
    constraint tombstone_pk primary key (catalog_id, rid) include (born)
);
comment on table lake.tombstone is 'rows of ancestors that a catalog has deleted or replaced';
create index tombstone_by_row on lake.tombstone (rid);

create table lake.maker (
    maker name not null,
    made timestamptz not null default now(),
    constraint maker_pk primary key (maker)
);
comment on table lake.maker is 'roles that make login roles, a few dozen each (see lake.create_login)';

create table lake.login (
    role_name name not null,
    maker name,
    catalog_id bigint not null,
    name text not null,
    is_default boolean not null default true,
    retires timestamptz,
    constraint login_pk primary key (role_name, name)
);
comment on table lake.login is 'which login role reaches which catalog, and who made the role. A session''s catalog is its role''s default, or the one named by the setting forklake.catalog among those listed here';
create index login_by_catalog on lake.login (catalog_id);

create table lake.deletion (
    deletion_id bigint generated always as identity,
    owner_id bigint not null,
    full_path text collate "C" not null,
    file_id bigint,
    table_id bigint,
    kind text not null,
    reason text not null,
    detail text,
    size_bytes bigint,
    died bigint not null,
    claimed timestamptz not null default clock_timestamp(),
    removed timestamptz,
    constraint deletion_pk primary key (deletion_id),
    constraint deletion_path_once unique (full_path),
    constraint deletion_kind_known check (kind in ('data', 'delete', 'unknown')),
    constraint deletion_reason_known
        check (reason in ('compacted', 'table dropped', 'snapshot expired', 'delete file merged', 'catalog dropped', 'orphaned'))
);
comment on table lake.deletion is 'files that clean-up may remove (removed is null) or has removed';
create index deletion_open on lake.deletion (owner_id) where removed is null;

-- The payload tables: DuckLake 1.0's 28, in its order of columns, behind what forklake keeps of each row.
-- Neither they nor lake.head, lake.lineage and lake.login have foreign keys: checking them would be a tenth of a fork and half of a
-- commit, and forklake store check looks for what they would have caught.
-- Every one has an index that begins with the catalog and ends with died: own rows are died = max, what was visible at a
-- fork point is one range on died.

create table lake.ducklake_metadata (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    key varchar not null, value varchar not null, scope varchar, scope_id bigint
);
create index metadata_visible on lake.ducklake_metadata (catalog_id, died);

create table lake.ducklake_snapshot (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    snapshot_id bigint, snapshot_time timestamptz, schema_version bigint, next_catalog_id bigint, next_file_id bigint
);
create index snapshot_visible on lake.ducklake_snapshot (catalog_id, died, snapshot_id);
-- the client's own check: two commits of one number cannot both be
create unique index snapshot_once on lake.ducklake_snapshot (catalog_id, snapshot_id) where died = 9223372036854775807;

create table lake.ducklake_snapshot_changes (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    snapshot_id bigint, changes_made varchar, author varchar, commit_message varchar, commit_extra_info varchar
);
create index snapshot_changes_visible on lake.ducklake_snapshot_changes (catalog_id, died, snapshot_id);
create unique index snapshot_changes_once on lake.ducklake_snapshot_changes (catalog_id, snapshot_id) where died = 9223372036854775807;

create table lake.ducklake_schema (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    schema_id bigint, schema_uuid uuid, begin_snapshot bigint, end_snapshot bigint, schema_name varchar, path varchar, path_is_relative boolean
);
create index schema_visible on lake.ducklake_schema (catalog_id, schema_id, died);

create table lake.ducklake_table (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    table_id bigint, table_uuid uuid, begin_snapshot bigint, end_snapshot bigint, schema_id bigint, table_name varchar, path varchar, path_is_relative boolean
);
create index table_visible on lake.ducklake_table (catalog_id, table_id, died);

create table lake.ducklake_view (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    view_id bigint, view_uuid uuid, begin_snapshot bigint, end_snapshot bigint, schema_id bigint, view_name varchar, dialect varchar, sql varchar, column_aliases varchar
);
create index view_visible on lake.ducklake_view (catalog_id, view_id, died);

create table lake.ducklake_tag (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    object_id bigint, begin_snapshot bigint, end_snapshot bigint, key varchar, value varchar
);
create index tag_visible on lake.ducklake_tag (catalog_id, object_id, died);

create table lake.ducklake_column_tag (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    table_id bigint, column_id bigint, begin_snapshot bigint, end_snapshot bigint, key varchar, value varchar
);
create index column_tag_visible on lake.ducklake_column_tag (catalog_id, table_id, died);

-- owner_id: whose DATA_PATH the file lies in, null for a registered external file. full_path: resolved once, when the row came.
create table lake.ducklake_data_file (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    owner_id bigint, full_path text collate "C" not null,
    data_file_id bigint, table_id bigint, begin_snapshot bigint, end_snapshot bigint, file_order bigint, path varchar, path_is_relative boolean,
    file_format varchar, record_count bigint, file_size_bytes bigint, footer_size bigint, row_id_start bigint, partition_id bigint,
    encryption_key varchar, mapping_id bigint, partial_max bigint
);
create index data_file_visible on lake.ducklake_data_file (catalog_id, table_id, died);
-- one live row for each file of a catalog; and UPDATE … where data_file_id = … of rewrites and merges
create unique index data_file_once on lake.ducklake_data_file (catalog_id, data_file_id) where died = 9223372036854775807;
-- who else knows this file: asked by clean-up
create index data_file_by_path on lake.ducklake_data_file (full_path);
-- what has died: asked by clean-up
create index data_file_dead on lake.ducklake_data_file (owner_id, died) where died < 9223372036854775807;

create table lake.ducklake_file_column_stats (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    data_file_id bigint, table_id bigint, column_id bigint, column_size_bytes bigint, value_count bigint, null_count bigint,
    min_value varchar, max_value varchar, contains_nan boolean, extra_stats varchar
);
create index file_column_stats_visible on lake.ducklake_file_column_stats (catalog_id, table_id, column_id, died);

create table lake.ducklake_file_variant_stats (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    data_file_id bigint, table_id bigint, column_id bigint, variant_path varchar, shredded_type varchar, column_size_bytes bigint,
    value_count bigint, null_count bigint, min_value varchar, max_value varchar, contains_nan boolean, extra_stats varchar
);
create index file_variant_stats_visible on lake.ducklake_file_variant_stats (catalog_id, table_id, died);

create table lake.ducklake_delete_file (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    owner_id bigint, full_path text collate "C" not null,
    delete_file_id bigint, table_id bigint, begin_snapshot bigint, end_snapshot bigint, data_file_id bigint, path varchar, path_is_relative boolean,
    format varchar, delete_count bigint, file_size_bytes bigint, footer_size bigint, encryption_key varchar, partial_max bigint
);
create index delete_file_visible on lake.ducklake_delete_file (catalog_id, table_id, died);
create unique index delete_file_once on lake.ducklake_delete_file (catalog_id, delete_file_id) where died = 9223372036854775807;
-- whether a data file has one already, asked for each that a commit brings
create index delete_file_of on lake.ducklake_delete_file (catalog_id, data_file_id, died);
create index delete_file_by_path on lake.ducklake_delete_file (full_path);
create index delete_file_dead on lake.ducklake_delete_file (owner_id, died) where died < 9223372036854775807;

create table lake.ducklake_column (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    column_id bigint, begin_snapshot bigint, end_snapshot bigint, table_id bigint, column_order bigint, column_name varchar, column_type varchar,
    initial_default varchar, default_value varchar, nulls_allowed boolean, parent_column bigint, default_value_type varchar, default_value_dialect varchar
);
create index column_visible on lake.ducklake_column (catalog_id, table_id, died);

create table lake.ducklake_table_stats (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    table_id bigint, record_count bigint, next_row_id bigint, file_size_bytes bigint
);
create index table_stats_visible on lake.ducklake_table_stats (catalog_id, table_id, died);

create table lake.ducklake_table_column_stats (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    table_id bigint, column_id bigint, contains_null boolean, contains_nan boolean, min_value varchar, max_value varchar, extra_stats varchar
);
create index table_column_stats_visible on lake.ducklake_table_column_stats (catalog_id, table_id, died);

create table lake.ducklake_partition_info (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    partition_id bigint, table_id bigint, begin_snapshot bigint, end_snapshot bigint
);
create index partition_info_visible on lake.ducklake_partition_info (catalog_id, table_id, died);

create table lake.ducklake_partition_column (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    partition_id bigint, table_id bigint, partition_key_index bigint, column_id bigint, transform varchar
);
create index partition_column_visible on lake.ducklake_partition_column (catalog_id, table_id, died);

create table lake.ducklake_file_partition_value (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    data_file_id bigint, table_id bigint, partition_key_index bigint, partition_value varchar
);
create index file_partition_value_visible on lake.ducklake_file_partition_value (catalog_id, table_id, died);

create table lake.ducklake_files_scheduled_for_deletion (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    data_file_id bigint, path varchar, path_is_relative boolean, schedule_start timestamptz
);
create index files_scheduled_visible on lake.ducklake_files_scheduled_for_deletion (catalog_id, died);

create table lake.ducklake_inlined_data_tables (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    table_id bigint, table_name varchar, schema_version bigint
);
create index inlined_data_tables_visible on lake.ducklake_inlined_data_tables (catalog_id, table_id, died);

create table lake.ducklake_column_mapping (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    mapping_id bigint, table_id bigint, type varchar
);
create index column_mapping_visible on lake.ducklake_column_mapping (catalog_id, table_id, died);

create table lake.ducklake_name_mapping (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    mapping_id bigint, column_id bigint, source_name varchar, target_field_id bigint, parent_column bigint, is_partition boolean
);
create index name_mapping_visible on lake.ducklake_name_mapping (catalog_id, mapping_id, died);

create table lake.ducklake_schema_versions (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    begin_snapshot bigint, schema_version bigint, table_id bigint
);
create index schema_versions_visible on lake.ducklake_schema_versions (catalog_id, table_id, died);

create table lake.ducklake_macro (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    schema_id bigint, macro_id bigint, macro_name varchar, begin_snapshot bigint, end_snapshot bigint
);
create index macro_visible on lake.ducklake_macro (catalog_id, macro_id, died);

create table lake.ducklake_macro_impl (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    macro_id bigint, impl_id bigint, dialect varchar, sql varchar, type varchar
);
create index macro_impl_visible on lake.ducklake_macro_impl (catalog_id, macro_id, died);

create table lake.ducklake_macro_parameters (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    macro_id bigint, impl_id bigint, column_id bigint, parameter_name varchar, parameter_type varchar, default_value varchar, default_value_type varchar
);
create index macro_parameters_visible on lake.ducklake_macro_parameters (catalog_id, macro_id, died);

create table lake.ducklake_sort_info (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    sort_id bigint, table_id bigint, begin_snapshot bigint, end_snapshot bigint
);
create index sort_info_visible on lake.ducklake_sort_info (catalog_id, table_id, died);

create table lake.ducklake_sort_expression (
    catalog_id bigint not null, born bigint not null, died bigint not null default 9223372036854775807, rid bigint not null default nextval('lake.rid'),
    sort_id bigint, table_id bigint, sort_key_index bigint, expression varchar, dialect varchar, sort_direction varchar, null_order varchar
);
create index sort_expression_visible on lake.ducklake_sort_expression (catalog_id, table_id, died);
