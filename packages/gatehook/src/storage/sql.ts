/** The `sql` tag: values become parameters; only `raw` (never given request data) becomes text. */
export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'
