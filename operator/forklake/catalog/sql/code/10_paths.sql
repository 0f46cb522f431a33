-- Paths.
--
-- Purpose: one spelling for each place, and the rules of what may lie where.
-- Invariants: a normalised DATA_PATH ends with a slash and has no empty, `.` or `..` segment; s3, s3a and s3n are one
-- scheme; percent-encoding is left alone, because to an object store it is another key.

create or replace function lake._known_scheme(scheme text) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp
return case lower(scheme)
    when 's3' then 's3' when 's3a' then 's3' when 's3n' then 's3' when 'gs' then 'gs' when 'gcs' then 'gs' when 'r2' then 'r2'
    when 'az' then 'az' when 'azure' then 'az' when 'abfs' then 'abfss' when 'abfss' then 'abfss' when 'hdfs' then 'hdfs' when 'file' then 'file'
end;

create or replace function lake.normalize_path(path text) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
    parts text[] := regexp_match(path, '^([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)$');
    root text := '/';
    rest text := path;
    segment text;
    kept text[] := '{}';
begin
    if path ~ '[[:cntrl:]]' then
        raise exception using errcode = 'FL004', message = format('path %L has control characters', path),
            hint = 'write it without them';
    end if;
    if parts is not null then
        if lake._known_scheme(parts[1]) is null then
            raise exception using errcode = 'FL004', message = format('path %L has the unknown scheme %L', path, parts[1]),
                hint = 'use an absolute folder, file://, s3://, gs://, r2://, az://, abfs://, abfss:// or hdfs://';
        end if;
        rest := parts[3];
        if lake._known_scheme(parts[1]) <> 'file' then
            if parts[2] = '' then
                raise exception using errcode = 'FL004', message = format('path %L has no bucket or host', path),
                    hint = 'write it as scheme://bucket/folder/';
            end if;
            root := lake._known_scheme(parts[1]) || '://' || lower(parts[2]) || '/';
        elsif lower(parts[2]) not in ('', 'localhost') then
            raise exception using errcode = 'FL004', message = format('path %L names a host', path), hint = 'write it as file:///folder/';
        end if;
    elsif left(path, 1) <> '/' then
        raise exception using errcode = 'FL004', message = format('path %L is not absolute', path),
            hint = 'use an absolute folder or a URL such as s3://bucket/folder/';
    end if;
    foreach segment in array string_to_array(rest, '/') loop
        if segment = '..' then
            if cardinality(kept) = 0 then
                raise exception using errcode = 'FL004', message = format('path %L leads above its root', path),
                    hint = 'remove the .. segments';
            end if;
            kept := kept[:cardinality(kept) - 1];
        elsif segment not in ('', '.') then
            kept := kept || segment;
        end if;
    end loop;
    return root || array_to_string(kept, '/');
end $$;
comment on function lake.normalize_path(text) is 'the one spelling of an absolute path or URL, without a trailing slash';

create or replace function lake.normalize_folder(path text) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
    folder text := rtrim(lake.normalize_path(path), '/') || '/';
begin
    if folder ~ '[*?"''\\]' then
        raise exception using errcode = 'FL004', message = format('path %L has a wildcard, a quote or a backslash', path),
            hint = 'these mean something else to object stores and clients: use another folder';
    end if;
    return folder;
end $$;
comment on function lake.normalize_folder(text) is 'the one spelling of a folder: a DATA_PATH, a prefix, an external path';

create or replace function lake.path_is_under(path text, folder text) returns boolean
language sql immutable strict set search_path = pg_catalog, pg_temp
return starts_with(path, folder);
comment on function lake.path_is_under(text, text) is 'whether a normalised path lies in a normalised folder; never LIKE: _ and % are legal in paths';

create or replace function lake.normalize_folders(paths text[]) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp
return (select coalesce(array_agg(distinct lake.normalize_folder(p)), '{}') from unnest(paths) p);
comment on function lake.normalize_folders(text[]) is 'lake.normalize_folder for each, without doubles';
