/**
 * The WAL archive of PostgreSQL. The server keeps all WAL that its archive has not got, until its
 * disk is full: it repeats a command that fails, and waits for one that hangs.
 */
import type { Database, Value } from './database.ts'
import { raw, type Sql } from './sql.ts'

export interface WalArchive {
  /** Whether the server has a command or a library that archives. */
  readonly isConfigured: boolean
  /** Whether the last attempt failed. */
  readonly isFailing: boolean
  readonly failures: number
  /** The file of the last failure. */
  readonly failed: string | null
  /** When an attempt failed last, or succeeded; epoch milliseconds. */
  readonly failedMs: number | null
  readonly archivedMs: number | null
  /** WAL that the archive has not got; null if the server does not know it. */
  readonly bytes: number | null
}

/** PostgreSQL 14 has no libraries. */
const SETTINGS = `NOT (coalesce(current_setting('archive_command', true), '') = '' AND
  coalesce(current_setting('archive_library', true), '') = '')`

/** The server archives the oldest file first: it has all WAL since the file that failed. */
const FILE = `CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
  THEN last_failed_wal ELSE last_archived_wal END`
const SEGMENT = "pg_size_bytes(current_setting('wal_segment_size'))"
/** The low half of the position of a file that ends with 16 digits of its position. */
const LOW = `upper(to_hex(('x' || substr(file, 17, 8))::bit(32)::bigint * ${SEGMENT}))`

/** Null on a standby, and for a server without an archive. */
const ARCHIVE = raw(`CASE WHEN pg_is_in_recovery() OR current_setting('archive_mode') = 'off'
  THEN NULL ELSE (SELECT json_build_object(
    'isConfigured', ${SETTINGS},
    'isFailing', coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false),
    'failures', failed_count, 'failed', last_failed_wal,
    'failedMs', floor(extract(epoch FROM last_failed_time) * 1000),
    'archivedMs', floor(extract(epoch FROM last_archived_time) * 1000),
    'bytes', CASE WHEN file ~ '^[0-9A-F]{24}$' THEN
      pg_wal_lsn_diff(pg_current_wal_lsn(), (substr(file, 9, 8) || '/' || ${LOW})::pg_lsn)::bigint
      END)::text
  FROM (SELECT *, ${FILE} AS file FROM pg_stat_archiver) AS a) END`)

/** SQL for `parseArchive`; undefined for a file. */
export const selectArchive = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? ARCHIVE : undefined

export const parseArchive = (value: Value): WalArchive | undefined =>
  value === null ? undefined : JSON.parse(String(value))
