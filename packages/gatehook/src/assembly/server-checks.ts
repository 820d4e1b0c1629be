/** Checks the server of the database at the start of a node: its role, standbys and clock. */
import { wallClock } from '../kernel/clock.ts'
import { nodeNameOf } from '../platform/config/environment.ts'
import { checkClock } from '../platform/nodes/server-clock.ts'
import type { Database } from '../platform/storage/database.ts'
import { checkServer } from '../platform/storage/server-check.ts'
import type { AppOptions } from './foundation.ts'
import { requiredDurability } from './replicas.ts'

/** Throws `StorageWaitError`. An app with a clock of its own, as in tests, trusts its server. */
export async function checkServerAtStart(db: Database, options: AppOptions): Promise<void> {
  const { config, log, clock } = options
  if (clock) return
  await checkServer(db, requiredDurability(options))
  await checkClock(db, { clock: wallClock, log, node: nodeNameOf(config) })
}
