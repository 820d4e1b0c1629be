/**
 * All tables of the engine, from which `storage/` derives what it does with tables. The `tables.ts`
 * of each module belongs to this layer, below the modules.
 */

import { resourcesTables } from './declare/resources/tables.ts'
import { versionsTables } from './declare/versions/tables.ts'
import { auditTables } from './history/audit/tables.ts'
import { eventsTables } from './history/events/tables.ts'
import { accessTables } from './identity/access/tables.ts'
import { oauthTables } from './identity/oauth/tables.ts'
import { peopleTables } from './identity/people/tables.ts'
import { tokensTables } from './identity/tokens/tables.ts'
import type { Clock } from './kernel/clock.ts'
import { monitoringTables } from './operate/monitoring/tables.ts'
import { systemTables } from './operate/system/tables.ts'
import { deliveriesTables } from './outbound/deliveries/tables.ts'
import { emissionsTables } from './outbound/emissions/tables.ts'
import { webhooksTables } from './outbound/webhooks/tables.ts'
import { portalTables } from './pages/portal/tables.ts'
import { jobsTables } from './platform/jobs/tables.ts'
import { nodesTables } from './platform/nodes/tables.ts'
import { secretsTables } from './platform/secrets/tables.ts'
import type { Database } from './platform/storage/database.ts'
import {
  applyChanges,
  isCreation,
  type MigrateDeps,
  migrateSchema,
  ownTables,
  pendingChanges,
  type Schema,
} from './platform/storage/migrate.ts'
import { migrations } from './platform/storage/migrations.ts'
import { listTables } from './platform/storage/move/tables.ts'
import type { Table } from './platform/storage/table.ts'
import { storageTables } from './platform/storage/tables.ts'
import { idempotencyTables } from './protocol/idempotency/tables.ts'
import { listsTables } from './protocol/lists/tables.ts'
import { quotaTables } from './protocol/quota/tables.ts'

export const engineTables: readonly Table[] = [
  ...accessTables,
  ...auditTables,
  ...deliveriesTables,
  ...emissionsTables,
  ...eventsTables,
  ...idempotencyTables,
  ...jobsTables,
  ...listsTables,
  ...monitoringTables,
  ...nodesTables,
  ...oauthTables,
  ...peopleTables,
  ...portalTables,
  ...quotaTables,
  ...resourcesTables,
  ...secretsTables,
  ...storageTables,
  ...systemTables,
  ...tokensTables,
  ...versionsTables,
  ...webhooksTables,
]

export const engineSchema: Schema = { tables: engineTables, migrations }

export const migrateEngine = (db: Database, deps: MigrateDeps) =>
  migrateSchema(db, engineSchema, deps)

/** See `applyChanges`. */
export const applyEngineChanges = (
  db: Database,
  transaction: Parameters<typeof applyChanges>[2],
  clock: Pick<Clock, 'now'>,
) => applyChanges(db, engineSchema, transaction, { clock })

export const pendingMigrations = (db: Database) => pendingChanges(db, engineSchema)

/** Returns the tables that a database lacks which has others of the engine. */
export async function listLostTables(db: Database): Promise<readonly string[]> {
  const present = new Set(await listTables(db))
  const own = ownTables(db.dialect, engineTables).map(({ name }) => name)
  const lost = own.filter((name) => !present.has(name))
  if (lost.length === 0 || lost.length === own.length) return []
  const pending = await pendingMigrations(db)
  // A migration may create them.
  return pending.length === 0 || isCreation(pending) ? lost : []
}

/** See `OpenDeps`. */
export const referenceTables: readonly string[] = engineTables
  .filter(({ place }) => place === 'reference')
  .map(({ name }) => name)
