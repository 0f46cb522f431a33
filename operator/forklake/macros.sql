-- forklake in DuckDB's SQL: run this once in a session that has a catalog attached, then for example
--   FROM fork_catalog('lake', 'sales', 'agent-1');
-- The first argument is the name that the catalog was attached as. Attach the fork with the connection string you have
-- and the option in column "choose".

CREATE OR REPLACE TEMP MACRO fork_catalog(lake, parent, fork, data_path := NULL, at_snapshot := NULL) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, format('select * from forklake.fork_catalog({}, {}, {}, {})',
    '''' || replace(parent, '''', '''''') || '''', '''' || replace(fork, '''', '''''') || '''',
    coalesce('''' || replace(data_path, '''', '''''') || '''', 'null'), coalesce(at_snapshot::VARCHAR, 'null')));

CREATE OR REPLACE TEMP MACRO drop_fork(lake, fork) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, format('select true as dropped from forklake.drop_fork({})', '''' || replace(fork, '''', '''''') || ''''));

CREATE OR REPLACE TEMP MACRO lake_catalogs(lake) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, 'select * from forklake.catalogs()');

CREATE OR REPLACE TEMP MACRO lake_lineage(lake) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, 'select * from forklake.lineage()');

CREATE OR REPLACE TEMP MACRO lake_usage(lake) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, 'select * from forklake.usage()');

CREATE OR REPLACE TEMP MACRO lake_changes(lake, from_snapshot, to_snapshot) AS TABLE
FROM postgres_query('__ducklake_metadata_' || lake, format('select * from forklake.changes({}, {})', from_snapshot, to_snapshot));
