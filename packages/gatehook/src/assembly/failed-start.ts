/** Stores why a start failed after it had reached the database: the other nodes name the cause. */
import { wallClock } from '../kernel/clock.ts'
import { ConfigError, withoutPassword } from '../platform/config/config.ts'
import { nodeNameOf } from '../platform/config/environment.ts'
import { type StartFailure, storeFailedStart } from '../platform/nodes/registry.ts'
import { type Database, StorageError, StorageWaitError } from '../platform/storage/database.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'
import type { AppOptions } from './foundation.ts'

const MESSAGE_CHARACTERS = 400

/** Undefined: a later start may succeed (§18.7), or the error is a bug. */
function reasonOf(error: unknown): StartFailure['reason'] | undefined {
  if (error instanceof ConfigError) return 'configuration'
  if (error instanceof DeclarationError) return 'declaration'
  if (error instanceof StorageWaitError || !(error instanceof StorageError)) return undefined
  return 'database'
}

/** Stores the failure of a start, and closes its database. Returns the error. */
export async function endFailedStart(
  db: Database,
  { config, clock = wallClock, isCommand }: AppOptions,
  error: unknown,
): Promise<unknown> {
  const reason = isCommand ? undefined : reasonOf(error)
  if (reason) {
    // The sentences of these errors contain no secret.
    const message = withoutPassword((error as Error).message).slice(0, MESSAGE_CHARACTERS)
    const failure = { reason, message }
    await storeFailedStart(db, nodeNameOf(config), failure, clock.now()).catch(() => undefined)
  }
  await db.close()
  return error
}
