/**
 * Reads what the database has of tables, and what another program may have changed: columns,
 * indexes, rights, triggers, constraints, partitions.
 */
import type { Reader, Statement } from './database.ts'

/** A trigger that is none of the engine; or a rule. */
interface ForeignTrigger {
  readonly table: string
  /** The statement that drops it. */
  readonly drop: string
  /** Whether it can discard a row before the statement stores it. */
  readonly discards: boolean
  /** Whether it is a rule that replaces statements (`DO INSTEAD`). */
  readonly isInstead: boolean
}

/** A condition of rows (`CHECK`, `EXCLUDE`). */
interface FoundConstraint {
  readonly name: string
  readonly table: string
  /** The statement that drops it. */
  readonly drop: string
}

/** A column as PostgreSQL has it. */
export interface FoundColumn {
  /** As in `Dialect.types`, with a collation. */
  readonly type: string
  readonly isNullable: boolean
  /** SQL of the default. */
  readonly fallback: string | null
  /** Whether a sequence of its own numbers it. */
  readonly isNumbered: boolean
}

/** A partition of a table, or a table with the name of one. */
export interface FoundPartition {
  readonly table: string
  readonly name: string
  /** `FOR VALUES FROM … TO …`; null while it is detached. */
  readonly bound: string | null
}

/** A view, or another object, that has the name of a table. */
interface FoundObject {
  readonly kind: string
  /** The statement that drops it. */
  readonly drop: string
  /** The one table that it reads, which may be the former one; null for none, or several. */
  readonly base: string | null
}

export interface TableParts {
  /** By `orders.amount`; undefined on SQLite, where no statement changes one. */
  readonly columns: ReadonlyMap<string, FoundColumn | undefined>
  /** Names of usable ones, and of those that are being created. */
  readonly indexes: ReadonlySet<string>
  /** Names of usable ones, also of those that keys have. */
  readonly uniqueIndexes: ReadonlySet<string>
  /** Names of unique ones that the server does not use until it has rebuilt them. */
  readonly invalidIndexes: ReadonlySet<string>
  /** Tables and partitions whose rows a crash deletes, and that no standby has. */
  readonly unlogged: readonly string[]
  /** The statements that remove settings by which the server ends sessions of the node. */
  readonly resets: readonly string[]
  /** The statements that remove settings by which the planner reads whole tables. */
  readonly planResets: readonly string[]
  /** The statements that grant rights which the role of the session lacks. */
  readonly grants: readonly string[]
  readonly triggers: readonly ForeignTrigger[]
  /** Conditions that rows must meet; the engine has none. */
  readonly constraints: readonly FoundConstraint[]
  /** The statements by table that end row level security which applies to the role. */
  readonly secured: ReadonlyMap<string, string>
  /** The statements that detach tables which inherit from one of them. */
  readonly heirs: readonly string[]
  /** The statements that let sequences count up, which count down, and skip the ids in use. */
  readonly sequences: readonly string[]
  /** Other objects with the name of a table, by it: views. */
  readonly others: ReadonlyMap<string, FoundObject>
  readonly partitions: readonly FoundPartition[]
}

/** The schema by its name: a role without USAGE of it has no current schema. */
const SCHEMA = "to_regnamespace(current_setting('search_path'))"

const SQLITE_PARTS = `WITH t AS (SELECT value AS name FROM json_each(?))
  SELECT 'column', t.name || '.' || c.name, '', NULL FROM t, pragma_table_info(t.name) AS c
  UNION ALL SELECT CASE WHEN i."unique" THEN 'index' ELSE 'plain' END, i.name, '', ''
    FROM t, pragma_index_list(t.name) AS i
  UNION ALL SELECT 'trigger', t.name, 'DROP TRIGGER "' || s.name || '"',
      CASE WHEN s.sql LIKE '%RAISE%IGNORE%' THEN 'discards' ELSE '' END
    FROM t JOIN sqlite_schema AS s ON s.tbl_name = t.name
    WHERE s.type = 'trigger' AND s.name NOT LIKE 'gh\\_%' ESCAPE '\\'`

/** Behind a pooler, a transaction begins under the timeout of the role. Without unit: ms. */
const SHORT = "regexp_replace(split_part(c, '=', 2), '^(\\d+)$', '\\1ms')::interval < '1 s'"

/**
 * Whether a setting makes plans slow: a way of the planner that is on by default is off, or a
 * statement sorts in less than 1 MiB, or no plan has the values at hand.
 */
const IS_PLAN = `CASE s.name WHEN 'work_mem' THEN pg_size_bytes(regexp_replace(
    split_part(c, '=', 2), '^(\\d+)$', '\\1kB')) < 1048576
  WHEN 'plan_cache_mode' THEN split_part(c, '=', 2) ILIKE 'force_generic_plan'
  ELSE s.name LIKE 'enable\\_%' AND s.boot_val = 'on'
    AND split_part(c, '=', 2) ~* '^(0|of|off|f|fa|fal|fals|false|n|no)$' END`

/**
 * Waits for no lock of a table: `pg_get_expr` opens a table that it gets, and an expression without
 * columns needs none. `p`: the tables and their partitions. Bits of `tgtype`: 1 row, 2 before, 28
 * that it writes.
 */
const POSTGRES_PARTS = `WITH t AS (SELECT oid, relname::text AS name, relkind FROM pg_class
    WHERE relnamespace = ${SCHEMA}
    AND relname IN (SELECT jsonb_array_elements_text($1::jsonb))),
  p AS (SELECT oid, name, name AS root FROM t UNION ALL SELECT c.oid, c.relname, t.name FROM t
    JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid)
  SELECT 'column', t.name || '.' || a.attname, upper(format_type(a.atttypid, a.atttypmod))
      || COALESCE((SELECT ' COLLATE ' || quote_ident(collname) FROM pg_collation
        WHERE oid = a.attcollation), ''),
      json_build_array(NOT a.attnotnull, CASE WHEN a.attgenerated = ''
        THEN pg_get_expr(d.adbin, 0) ELSE 'generated' END, a.attidentity <> '')::text
    FROM t JOIN pg_attribute a ON a.attrelid = t.oid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT CASE WHEN NOT x.indisunique THEN 'plain' WHEN x.indisvalid THEN 'index'
      ELSE 'invalid' END, i.relname, '', ''
    FROM t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid
    WHERE x.indisunique OR x.indisvalid
      OR EXISTS (SELECT FROM pg_stat_progress_create_index WHERE index_relid = i.oid)
  UNION ALL SELECT 'unlogged', p.name, '', '' FROM p JOIN pg_class c ON c.oid = p.oid
    WHERE c.relpersistence = 'u' AND c.relkind = 'r'
  UNION ALL SELECT 'trigger', p.root, format('DROP TRIGGER %I ON %I', g.tgname, p.name),
      CASE WHEN g.tgtype::int & 3 = 3 THEN 'discards' ELSE '' END
    FROM p JOIN pg_trigger g ON g.tgrelid = p.oid WHERE NOT g.tgisinternal AND g.tgparentid = 0
      AND g.tgenabled <> 'D' AND g.tgtype::int & 28 > 0 AND g.tgname NOT LIKE 'gh\\_%'
  UNION ALL SELECT 'trigger', p.root, format('DROP RULE %I ON %I', r.rulename, p.name),
      CASE WHEN r.is_instead THEN 'instead' ELSE 'discards' END
    FROM p JOIN pg_rewrite r ON r.ev_class = p.oid WHERE r.ev_type <> '1'
  UNION ALL SELECT 'constraint', p.root, format('ALTER TABLE %I DROP CONSTRAINT %I', p.name,
      k.conname), k.conname
    FROM p JOIN pg_constraint k ON k.conrelid = p.oid
    WHERE k.contype IN ('c', 'x') AND k.conislocal
  UNION ALL SELECT 'secured', t.name, format('ALTER TABLE %I %s ROW LEVEL SECURITY', t.name,
      CASE WHEN c.relforcerowsecurity AND pg_has_role(c.relowner, 'USAGE') THEN 'NO FORCE'
      ELSE 'DISABLE' END), ''
    FROM t JOIN pg_class c ON c.oid = t.oid WHERE row_security_active(t.oid)
  UNION ALL SELECT 'heir', format('ALTER TABLE %s NO INHERIT %I', c.oid::regclass, t.name), '', ''
    FROM t JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid
    WHERE NOT c.relispartition
  UNION ALL SELECT 'sequence', format('ALTER SEQUENCE %s INCREMENT BY 1; SELECT setval(%L, '
      '(SELECT COALESCE(max(%I), 0) + 1000000 FROM %I))', s.seqrelid::regclass,
      s.seqrelid::regclass, a.attname, t.name), '', ''
    FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
      AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
    JOIN pg_sequence s ON s.seqrelid = d.objid AND s.seqincrement < 0
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
  UNION ALL SELECT 'other', t.name, CASE t.relkind WHEN 'v' THEN 'view'
      WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END, (SELECT
      CASE WHEN count(DISTINCT d.refobjid) = 1 THEN min(d.refobjid::regclass::text) END
      FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
      WHERE r.ev_class = t.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> t.oid)
    FROM t WHERE t.relkind IN ('v', 'm', 'f')
  UNION ALL SELECT CASE WHEN ${IS_PLAN} THEN 'plan' ELSE 'setting' END,
      format('ALTER %s RESET %s', CASE WHEN d.setrole = 0
        AND d.setdatabase = 0 THEN 'ROLE ALL'
      WHEN d.setrole = 0 THEN format('DATABASE %I', current_database())
      WHEN d.setdatabase = 0 THEN format('ROLE %I', session_user)
      ELSE format('ROLE %I IN DATABASE %I', session_user, current_database()) END, s.name), '', ''
    FROM pg_db_role_setting d CROSS JOIN unnest(d.setconfig) AS c
    JOIN pg_settings s ON s.name = split_part(c, '=', 1)
    WHERE s.source <> 'client' AND (${IS_PLAN} OR split_part(c, '=', 2) !~ '^0'
      AND CASE s.name WHEN 'statement_timeout' THEN ${SHORT}
        ELSE s.name IN ('idle_session_timeout', 'transaction_timeout') END)
      AND d.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
      AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  UNION ALL SELECT 'partition', c.relname, t.name, pg_get_expr(c.relpartbound, 0)
    FROM t JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid
    WHERE c.relispartition
  UNION ALL SELECT 'partition', c.relname, t.name, NULL
    FROM t JOIN pg_class c ON c.relname ~ ('^' || t.name || '_(past|future|[0-9]{8})$')
    WHERE t.relkind = 'p' AND c.relkind = 'r' AND NOT c.relispartition
      AND c.relnamespace = ${SCHEMA}
  UNION ALL SELECT 'right', format('GRANT %s ON %s.%I TO %I', string_agg(r, ', ' ORDER BY r),
      ${SCHEMA}, t.name, current_user), '', ''
    FROM t CROSS JOIN unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS r
    WHERE NOT has_table_privilege(t.oid, r) AND (r = 'DELETE' OR EXISTS (SELECT FROM pg_attribute a
      WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT has_column_privilege(t.oid, a.attnum, r))) GROUP BY t.name
  UNION ALL SELECT 'right', format('GRANT USAGE ON SCHEMA %s TO %I', ${SCHEMA}, current_user),
      '', '' WHERE NOT has_schema_privilege(${SCHEMA}, 'USAGE')
  UNION ALL SELECT 'right', format('GRANT CONNECT ON DATABASE %I TO %I', current_database(),
      current_user), '', ''
    WHERE NOT has_database_privilege(current_database(), 'CONNECT')`

/** Returns the parts of those of the tables that exist. */
export async function readTableParts(from: Reader, tables: readonly string[]): Promise<TableParts> {
  const values = [JSON.stringify(tables)]
  const statement: Statement = { sql: SQLITE_PARTS, text: POSTGRES_PARTS, values }
  const rows = (await from.arrays(statement)) as unknown as PartRow[]
  const of = (kind: string) => rows.filter(([other]) => other === kind)
  const namesOf = (kind: string) => new Set(of(kind).map(([, name]) => name))
  return {
    columns: new Map(of('column').map((row) => [row[1], columnOf(row)])),
    indexes: namesOf('plain'),
    uniqueIndexes: namesOf('index'),
    invalidIndexes: namesOf('invalid'),
    unlogged: [...namesOf('unlogged')].sort(),
    resets: [...namesOf('setting')],
    planResets: [...namesOf('plan')],
    grants: [...namesOf('right')],
    triggers: of('trigger').map(([, table, drop, detail]) => ({
      ...{ table, drop: drop! },
      discards: detail !== '',
      isInstead: detail === 'instead',
    })),
    constraints: of('constraint').map(([, table, drop, name]) => ({
      ...{ name: name!, drop: drop! },
      table,
    })),
    secured: new Map(of('secured').map(([, table, repair]) => [table, repair!])),
    heirs: [...namesOf('heir')],
    sequences: [...namesOf('sequence')],
    others: new Map(
      of('other').map(([, name, kind, base]) => [
        name,
        { kind: kind!, drop: `DROP ${kind!.toUpperCase()} ${name}`, base },
      ]),
    ),
    partitions: of('partition').map(([, name, table, bound]) => ({ name, table: table!, bound })),
  }
}

function columnOf([, , type, detail]: PartRow): FoundColumn | undefined {
  if (detail === null) return undefined
  const [isNullable, fallback, isNumbered] = JSON.parse(detail)
  return { type: type!, isNullable, fallback, isNumbered }
}

type PartRow = readonly [kind: string, name: string, of: string | null, detail: string | null]

/** Returns the statements that create the unique indexes of tables, also of invalid ones. */
export async function readIndexDefinitions(
  from: Reader,
  tables: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await from.arrays({
    // SQLite has no statement for the index of a key, which cannot be dropped.
    sql: `SELECT i.name, s.sql FROM json_each(?) AS t, pragma_index_list(t.value) AS i
      JOIN sqlite_schema AS s ON s.name = i.name WHERE i."unique" AND s.sql IS NOT NULL`,
    text: `SELECT i.relname, pg_get_indexdef(i.oid) FROM pg_index x
      JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND x.indisunique
      AND c.relname IN (SELECT jsonb_array_elements_text($1::jsonb))`,
    values: [JSON.stringify(tables)],
  })
  return new Map(rows as unknown as readonly [string, string][])
}

/**
 * A column with its type, as the database names it. `isOptional`: 1 if it may be null or has a
 * default, so that programs which do not know it can insert rows; else 0.
 */
export type TypedColumn = readonly [table: string, column: string, type: string, isOptional: number]

/** Returns the columns of all tables that are not the engine's, also those of a transaction. */
export const listForeignColumns = async (from: Reader): Promise<readonly TypedColumn[]> =>
  (await from.arrays({
    sql: `SELECT t.name, c.name, c.type, c."notnull" = 0 OR c.dflt_value IS NOT NULL
      FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'gh\\_%' ESCAPE '\\'`,
    text: `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        NOT a.attnotnull OR a.atthasdef OR a.attidentity <> ''
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND c.relname NOT LIKE 'gh\\_%' AND a.attnum > 0 AND NOT a.attisdropped`,
    values: [],
  })) as unknown as readonly TypedColumn[]
