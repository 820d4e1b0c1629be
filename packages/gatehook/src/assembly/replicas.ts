/** Opens the database, and lets replicas serve reads (`GATEHOOK_DATABASE_READ_URLS`). */
import { createReadAfter } from '../access/read-after.ts'
import { type Config, databaseTarget } from '../config/config.ts'
import type { Endpoint } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { listDerivations } from '../resources/derivation.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import { openDatabase } from '../storage/open.ts'
import { withReplicas } from '../storage/replica-reads.ts'

interface ReplicatedDatabase {
  readonly database: Database
  /** Lets endpoints of resources read from the replicas. */
  readonly readAfter: (endpoint: Endpoint) => Endpoint
}

/** Throws `StorageError` when the primary cannot be opened. Replicas are opened by their reads. */
export async function openWithReplicas(
  config: Config,
  service: ServiceDefinition,
  deps: { readonly clock: Clock; readonly log: Log },
): Promise<ReplicatedDatabase> {
  const target = { ...databaseTarget(config), maintains: listDerivations(service) }
  const primary = await openDatabase(target, deps)
  const urls = config.databaseReadUrls
  if (urls.length === 0) return { database: primary, readAfter: (endpoint) => endpoint }
  const open = urls.map((url) => () => openDatabase({ ...target, url }, deps))
  const { db, replicas } = withReplicas({ primary, open, ...deps })
  return { database: db, readAfter: createReadAfter(replicas) }
}
