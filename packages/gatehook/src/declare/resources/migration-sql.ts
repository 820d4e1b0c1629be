/**
 * The statements that bring a database to the declaration, for the migrations of a team (§17.2).
 * A start does the rest: the work of rows, and the indexes of tables in use.
 */
import { applyEngineChanges } from '../../engine-tables.ts'
import type { Clock } from '../../kernel/clock.ts'
import { listEmittedTypes, storeEmittedTypes } from '../../outbound/emissions/grants.ts'
import type { Database } from '../../platform/storage/database.ts'
import { rehearsalSql } from '../../platform/storage/migrate.ts'
import { placeExists } from '../../platform/storage/postgres-place.ts'
import { recordMigration } from '../../platform/storage/recorded-migration.ts'
import { tableExists } from './additions.ts'
import { emittedEventTypes } from './event-type-list.ts'
import { migrateService, type Progress } from './migrate.ts'
import { pendingMigrations } from './reviewed-migrations.ts'
import type { ServiceDefinition } from './service.ts'

export interface MigrationSqlMode {
  readonly clock: Pick<Clock, 'now'>
  /** The schema of the tables. */
  readonly schema: string
  /** Receives a sentence while a statement waits for a lock. */
  readonly onWait: Progress
}

/**
 * Returns what the database lacks; empty if that is nothing. Changes nothing. Throws the errors of
 * `migrateService`.
 */
export async function migrationSql(
  db: Database,
  service: ServiceDefinition,
  { clock, schema, onWait }: MigrationSqlMode,
): Promise<readonly string[]> {
  const hasSchema = await placeExists(db, schema)
  const statements = await recordMigration(
    db,
    async (recorded, ddl) => {
      await recorded.migrate((tx, run) =>
        applyEngineChanges(recorded, { tx, ddl: run }, clock).then(() => undefined),
      )
      // The statements of the team then take as long as empty tables need.
      if ((await pendingMigrations(recorded, service)).length > 0) {
        const tables: string[] = []
        for (const { name } of service.resources) {
          if (await tableExists(recorded, name)) tables.push(`"${name}"`)
        }
        if (tables.length > 0) for (const text of rehearsalSql(db, tables)) await ddl(text)
      }
      const mode = { defersIndexes: true, leavesRows: true, now: clock.now }
      await migrateService(recorded, service, undefined, mode)
      const stored = await listEmittedTypes(recorded)
      const types = emittedEventTypes(service).filter((type) => !stored.includes(type))
      await recorded.write((tx) => storeEmittedTypes(tx, types, []))
    },
    onWait,
  )
  return hasSchema ? statements : [`CREATE SCHEMA "${schema}"`, ...statements]
}
