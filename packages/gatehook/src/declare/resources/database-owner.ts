/** Recognizes the database of another service, on which the reference service must not start. */
import { ConfigError } from '../../platform/config/config.ts'
import type { Database } from '../../platform/storage/database.ts'
import { listTables } from '../../platform/storage/move/tables.ts'
import { isInstalled } from '../../platform/storage/settings.ts'
import type { ServiceDefinition } from './service.ts'

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
