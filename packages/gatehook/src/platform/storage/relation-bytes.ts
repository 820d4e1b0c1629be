/**
 * SQL of the bytes of a relation of PostgreSQL. `pg_relation_size` and its like open the relation:
 * while a statement holds or awaits it alone, they would wait, and the estimate of VACUUM counts.
 */
type SizeFunction = 'pg_relation_size' | 'pg_table_size' | 'pg_total_relation_size'

/** `relation`: the name of a row of `pg_class` in the statement. */
export const bytesOf = (size: SizeFunction, relation = 'pg_class'): string =>
  `CASE WHEN EXISTS (SELECT FROM pg_locks WHERE pg_locks.relation = ${relation}.oid
      AND mode = 'AccessExclusiveLock')
    THEN ${relation}.relpages::bigint * current_setting('block_size')::bigint
    ELSE ${size}(${relation}.oid) END`
