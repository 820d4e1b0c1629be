/**
 * Triggers that record the rows whose derived values a process did not write (decision 0040). On
 * PostgreSQL a session names the derivations that its process maintains, and a trigger records each
 * row that another session changes. SQLite has one process at a time: a start creates triggers for
 * the derivations that its declaration lacks, and removes them for those that it has.
 */
import { hash } from 'node:crypto'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import { columnOfDerivation, derivationsOf } from './derivation.ts'
import type { ResourceDefinition } from './resource.ts'
import { hasWords } from './search-index.ts'
import { wordTable } from './table.ts'

/** The derivations of a table whose triggers a start changes. */
export interface MarkingPlan {
  readonly table: string
  readonly ddl: readonly string[]
  /** Derivations that the database did not know. */
  readonly added: readonly string[]
  /** Derivations that no process maintains again. */
  readonly ended: readonly string[]
}

const OPERATIONS = ['INSERT', 'UPDATE', 'DELETE'] as const

const triggerName = (derivation: string): string =>
  `gh_stale_${hash('sha1', derivation).slice(0, 12)}`

/** Creates the triggers of a derivation. Its name is that of declared fields: no quotes. */
function createTriggers({ name }: Database, table: string, derivation: string): string[] {
  const trigger = triggerName(derivation)
  if (name === 'postgres') {
    const setting = "coalesce(current_setting('gatehook.maintains', true), '')"
    const maintained = `string_to_array(${setting}, ',')`
    return [
      `CREATE TRIGGER ${trigger} AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW
        WHEN (NOT ('${derivation}' = ANY (${maintained})))
        EXECUTE FUNCTION gh_mark_stale_row('${derivation}')`.replace(/\s+/g, ' '),
    ]
  }
  return OPERATIONS.map((operation) => {
    const row = operation === 'DELETE' ? 'OLD' : 'NEW'
    return `CREATE TRIGGER ${trigger}_${operation.toLowerCase()} AFTER ${operation} ON ${table}
      BEGIN INSERT INTO gh_stale_rows (scope, derivation, id)
      VALUES (${row}.scope, '${derivation}', ${row}.id) ON CONFLICT DO NOTHING; END`
  })
}

function dropTriggers({ name }: Database, table: string, derivation: string): string[] {
  const trigger = triggerName(derivation)
  if (name === 'postgres') return [`DROP TRIGGER IF EXISTS ${trigger} ON ${table}`]
  return OPERATIONS.map(
    (operation) => `DROP TRIGGER IF EXISTS ${trigger}_${operation.toLowerCase()}`,
  )
}

/** Returns the changes of triggers that the declaration requires. */
export async function planMarking(
  db: Database,
  reader: Reader,
  resources: readonly ResourceDefinition[],
): Promise<MarkingPlan[]> {
  if (db.dialect.distributed || (await db.columns('gh_derivations')).length === 0) return []
  const rows = await reader.arrays(sql`SELECT name, resource FROM gh_derivations ORDER BY name`)
  const plans: MarkingPlan[] = []
  for (const definition of resources) {
    const stored = rows.flatMap(([name, table]) => (table === definition.name ? String(name) : []))
    const plan = await planTableMarking(db, definition, stored)
    if (plan.ddl.length + plan.added.length + plan.ended.length > 0) plans.push(plan)
  }
  return plans
}

async function planTableMarking(
  db: Database,
  definition: ResourceDefinition,
  stored: readonly string[],
): Promise<MarkingPlan> {
  const { name: table } = definition
  const own = derivationsOf(definition)
  const none = { table, ddl: [], added: [], ended: [] }
  if (own.length + stored.length === 0) return none
  const columns = (await db.columns(table)).map(({ name }) => name)
  if (columns.length === 0) return none
  const triggers = await db.triggers(table)
  const hasTrigger = (derivation: string) =>
    triggers.some((name) => name.startsWith(triggerName(derivation)))
  const hasOthers = !hasWords(definition) && (await db.columns(wordTable(definition))).length > 0
  const hasEnded = (derivation: string) => {
    const column = columnOfDerivation(derivation)
    // The table of words has those of one declaration.
    return column === undefined ? !hasOthers : !columns.includes(column)
  }
  const others = stored.filter((derivation) => !own.includes(derivation))
  const ended = others.filter(hasEnded)
  const isMarked = (derivation: string) =>
    db.dialect.shared ? !ended.includes(derivation) : !own.includes(derivation)
  const marked = [...own, ...others].filter((name) => isMarked(name) && !ended.includes(name))
  const unmarked = [...own, ...others].filter((name) => !marked.includes(name))
  return {
    table,
    added: own.filter((derivation) => !stored.includes(derivation)),
    ended,
    ddl: [
      ...unmarked.filter(hasTrigger).flatMap((name) => dropTriggers(db, table, name)),
      ...marked
        .filter((name) => !hasTrigger(name))
        .flatMap((name) => createTriggers(db, table, name)),
    ],
  }
}

/** Creates and removes triggers, each table in a transaction of its own. */
export async function applyMarking(
  db: Database,
  resources: readonly ResourceDefinition[],
  onWait: (line: string) => void,
): Promise<void> {
  for (const { table } of await planMarking(db, db, resources)) {
    const definition = resources.filter(({ name }) => name === table)
    await db.migrate(async (tx, ddl) => {
      // Another node can have been faster.
      for (const plan of await planMarking(db, tx, definition)) {
        for (const statement of plan.ddl) await ddl(statement)
        await storeDerivations(tx, plan)
      }
    }, onWait)
  }
}

async function storeDerivations(tx: Tx, { table, added, ended }: MarkingPlan): Promise<void> {
  for (const name of added) {
    await tx.run(sql`INSERT INTO gh_derivations (name, resource) VALUES (${name}, ${table})
      ON CONFLICT DO NOTHING`)
  }
  for (const name of ended) {
    await tx.run(sql`DELETE FROM gh_derivations WHERE name = ${name}`)
    await tx.run(sql`DELETE FROM gh_stale_rows WHERE derivation = ${name}`)
  }
}
