/**
 * Recognizes the database of another service, on which the reference service must not start, tables
 * of others, which no start alters, and lost tables, which no start creates again.
 */
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
 * Throws `ConfigError` before the first start would create its tables among those of others, and
 * where a resource has the name of a table that no migration created. A table that others add
 * later, of another name, stops no start. Returns whether the database has further tables, to
 * which no samples belong.
 */
export async function refuseForeignTables(
  db: Database,
  service: ServiceDefinition,
  start: { readonly isReference?: boolean; readonly seed?: boolean | 'first' },
): Promise<boolean> {
  const { isReference, seed } = start
  const isNew = !(await isInstalled(db))
  // Later starts without samples need no look at other schemas.
  const { inSchema, elsewhere } = isNew || seed ? await listForeignTables(db) : NO_TABLES
  const isShared = elsewhere.length > 0
  if (isShared && seed === true)
    throw new ConfigError(['The database has tables of another program; no samples are added.'])
  if (isNew) {
    // Another node can have created them since.
    if (inSchema.length > 0 && (await isInstalled(db)))
      return refuseForeignTables(db, service, start)
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
  const names = service.resources.map(({ name }) => name)
  let foreign = await listUnrecorded(db, names)
  // A node that is about to commit a table holds the lock of migrations: it records it, too.
  if (foreign.length > 0)
    await db.migrate(async (tx) => {
      foreign = await listUnrecorded(db, foreign, tx)
    })
  const [name] = foreign
  if (name === undefined) return isShared
  throw new ConfigError([
    `The schema has a table ${name} that no migration of the service created; the resource ` +
      `${name} would alter it. Rename the resource, or move the table to another schema: ` +
      `ALTER TABLE ${name} SET SCHEMA …. Nothing was changed.`,
  ])
}

/**
 * Throws `ConfigError` if a table is away that a start or a migration of the service created: after
 * an incomplete restore, or a rename by hand. A new one would be empty, and give the ids of its
 * rows again.
 */
export async function refuseLostTables(
  db: Database,
  { resources }: ServiceDefinition,
): Promise<void> {
  if (!(await isInstalled(db))) return
  let lost = await listLost(
    db,
    resources.map(({ name }) => name),
  )
  // A node that renames or creates it holds the lock of migrations.
  if (lost.length > 0)
    await db.migrate(async (tx) => {
      lost = await listLost(db, lost, tx)
    })
  const [name] = lost
  if (name === undefined) return
  throw new ConfigError([
    `The table ${name} of the service is missing. Restore it, or move it back. If its rows are ` +
      'not needed, a start creates it after: DELETE FROM gh_service_additions ' +
      `WHERE table_name = '${name}'. Nothing was changed.`,
  ])
}

async function listLost(db: Database, names: readonly string[], tx?: Tx): Promise<string[]> {
  const created = await listCreatedTables(tx ?? db)
  const lost: string[] = []
  for (const name of names) {
    if (created.has(name) && !(await tableExists(db, name, tx))) lost.push(name)
  }
  return lost
}

/** Returns the names that tables have which no start and no migration of the service created. */
async function listUnrecorded(
  db: Database,
  names: readonly string[],
  tx?: Tx,
): Promise<readonly string[]> {
  const created = await listCreatedTables(tx ?? db)
  const unrecorded: string[] = []
  for (const name of names) {
    if (!created.has(name) && (await tableExists(db, name, tx))) unrecorded.push(name)
  }
  return unrecorded
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
