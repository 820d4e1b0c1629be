/**
 * Recognizes the database of another service, on which the reference service must not start, tables
 * of others, which no start alters, and lost tables, which no start creates again.
 */
import { listLostTables } from '../../engine-tables.ts'
import { ConfigError } from '../../platform/config/config.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { type ForeignTables, listForeignTables } from '../../platform/storage/foreign-tables.ts'
import { listTables } from '../../platform/storage/move/tables.ts'
import { isInstalled } from '../../platform/storage/settings.ts'
import { listCreatedTables, tableExists } from './additions.ts'
import type { ServiceDefinition } from './service.ts'

const NO_TABLES: ForeignTables = { inSchema: [], elsewhere: [] }

/** Returns the tables of resources that the service does not declare. */
async function listOtherResources(
  db: Database,
  { resources }: ServiceDefinition,
): Promise<string[]> {
  const declared = new Set(resources.map(({ name }) => name))
  const others: string[] = []
  for (const name of await listTables(db)) {
    if (name.startsWith('gh_') || declared.has(name)) continue
    const columns = new Set((await db.columns(name)).map((column) => column.name))
    if (columns.has('scope') && columns.has('id')) others.push(name)
  }
  return others.sort()
}

/**
 * Throws `ConfigError` before the first start would create its tables among those of others, where
 * a resource has the name of a table that no migration created, and where a table of the engine or
 * of a resource is away: after an incomplete restore, or a rename by hand. A new one would be
 * empty, and give the ids of its rows again. A table that others add later, of another name, stops
 * no start. Returns whether the database has further tables, to which no samples belong.
 */
export async function requireOwnTables(
  db: Database,
  service: ServiceDefinition,
  start: { readonly isReference?: boolean; readonly seed?: boolean | 'first' },
): Promise<boolean> {
  const { isReference, seed } = start
  const [lost] = await listLostTables(db)
  if (lost !== undefined)
    throw new ConfigError([
      `The table ${lost} of Gatehook is missing. Restore it, or move it back. Nothing was changed.`,
    ])
  const isNew = !(await isInstalled(db))
  // Later starts without samples need no look at other schemas.
  const { inSchema, elsewhere } = isNew || seed ? await listForeignTables(db) : NO_TABLES
  const isShared = elsewhere.length > 0
  if (isShared && seed === true)
    throw new ConfigError(['The database has tables of another program; no samples are added.'])
  if (isNew) {
    // Another node can have created them since.
    if (inSchema.length > 0 && (await isInstalled(db))) return requireOwnTables(db, service, start)
    if (inSchema.length > 0)
      throw new ConfigError([
        `The schema has tables of another program: ${inSchema.join(', ')}. Name a schema of its ` +
          'own in GATEHOOK_DATABASE_SCHEMA; it is created. Nothing was changed.',
      ])
    if (isShared && isReference)
      throw new ConfigError([
        `This folder has no service.ts, and the database has tables of another program: ` +
          `${elsewhere.join(', ')}. Name the folder of a service (gatehook start DIR, or --dir ` +
          'DIR), or an empty database in GATEHOOK_DATABASE_URL. Nothing was changed.',
      ])
    return isShared
  }
  let mismatch = await findMismatch(
    db,
    service.resources.map(({ name }) => name),
  )
  // A node that is about to create, record or rename a table holds the lock of migrations.
  if (mismatch) {
    const { names } = mismatch
    await db.migrate(async (tx) => {
      mismatch = await findMismatch(db, names, tx)
    })
  }
  if (!mismatch) return isShared
  const { name, isLost } = mismatch
  throw new ConfigError([
    isLost
      ? `The table ${name} of the service is missing. Restore it, or move it back. If its rows ` +
        'are not needed, a start creates it after: DELETE FROM gh_service_additions ' +
        `WHERE table_name = '${name}'. Nothing was changed.`
      : `The schema has a table ${name} that no migration of the service created; the resource ` +
        `${name} would alter it. Rename the resource, or move the table to another schema: ` +
        `ALTER TABLE ${name} SET SCHEMA …. Nothing was changed.`,
  ])
}

/** Tables that exist without a record of their creation, or that are recorded and lost. */
interface Mismatch {
  readonly names: readonly string[]
  /** The first one. */
  readonly name: string
  readonly isLost: boolean
}

async function findMismatch(
  db: Database,
  names: readonly string[],
  tx?: Tx,
): Promise<Mismatch | undefined> {
  const created = await listCreatedTables(tx ?? db)
  const mismatched: string[] = []
  for (const name of names) {
    if (created.has(name) !== (await tableExists(db, name, tx))) mismatched.push(name)
  }
  const [name] = mismatched
  return name === undefined ? undefined : { names: mismatched, name, isLost: created.has(name) }
}

/**
 * Throws `ConfigError` if the database has tables of another service. A folder without a
 * declaration serves the reference service, and may be the wrong folder.
 */
export async function refuseOtherService(db: Database, service: ServiceDefinition): Promise<void> {
  if (!(await isInstalled(db))) return
  const others = await listOtherResources(db, service)
  if (others.length === 0) return
  throw new ConfigError([
    `This folder has no service.ts, and the database belongs to another service: it has the ` +
      `tables ${others.join(', ')}. Name the folder of that service (gatehook start DIR, or ` +
      '--dir DIR), or another database in GATEHOOK_DATABASE_URL.',
  ])
}
