/** Opens the database, and lets replicas serve reads (`GATEHOOK_DATABASE_READ_URLS`). */

import { referenceTables } from '../engine-tables.ts'
import { createReadAfter } from '../identity/access/read-after.ts'
import type { Clock } from '../kernel/clock.ts'
import { type Config, databaseTarget } from '../platform/config/config.ts'
import { nodeTarget } from '../platform/config/environment.ts'
import { createCommitPosition } from '../platform/storage/commit-position.ts'
import type { Database } from '../platform/storage/database.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { withReplicas } from '../platform/storage/replica-reads.ts'
import { createTableState, type TableState } from '../platform/storage/table-state.ts'
import type { Endpoint } from '../protocol/http/call.ts'
import type { AppOptions } from './foundation.ts'

interface ReplicatedDatabase {
  readonly database: Database
  /** Lets endpoints of resources read from the replicas. */
  readonly readAfter: (endpoint: Endpoint) => Endpoint
  /** Why no primary answers, as far as the node knows. */
  readonly primaryFault: Database['fault']
  /** The findings of the last check of the tables, which transactions read. */
  readonly tables: TableState
}

/** Returns the durability that opening requires: commands read without a standby (§18.3). */
export const requiredDurability = ({ config, isCommand }: AppOptions): Config['durability'] =>
  isCommand ? 'local' : config.durability

const NOT_OF_STANDBYS =
  'GATEHOOK_DATABASE_READ_URLS is set, and the tables of the database are distributed: a ' +
  'standby has the rows of one server.'

/** Throws `StorageError` when the primary cannot be opened. Replicas are opened by their reads. */
export async function openWithReplicas(
  {
    config,
    log,
    ownership,
    onTakenOver,
    isCommand,
  }: Pick<AppOptions, 'config' | 'log' | 'ownership' | 'onTakenOver' | 'isCommand'>,
  clock: Clock,
): Promise<ReplicatedDatabase> {
  const deps = { clock, log }
  const target = isCommand ? databaseTarget(config) : nodeTarget(config)
  const urls = isCommand ? [] : config.databaseReadUrls
  const onDistributed = urls.length > 0 ? NOT_OF_STANDBYS : undefined
  const opening = { ...deps, ownership, onTakenOver, referenceTables, onDistributed }
  const tables = createTableState()
  const commits = urls.length > 0 ? createCommitPosition() : undefined
  const primary = await openDatabase(target, { ...opening, commits, tables })
  if (!commits) {
    const primaryFault = primary.fault
    return { database: primary, readAfter: (endpoint) => endpoint, primaryFault, tables }
  }
  const ofReplica = { ...target, otherUrls: [], origin: primary.origin() }
  const open = urls.map((url) => () => openDatabase({ ...ofReplica, url }, deps))
  const outageMs = config.databaseReadOutageS * 1000
  const { db, replicas } = withReplicas({ primary, commits, open, outageMs, ...deps })
  const { primaryFault } = replicas
  return { database: db, readAfter: createReadAfter(replicas), primaryFault, tables }
}
