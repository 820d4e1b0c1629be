/** Stores why a start failed, if the database can be reached: the other nodes name the cause. */
import { type Clock, wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import {
  ConfigError,
  databaseTarget,
  type Settings,
  withoutPassword,
} from '../platform/config/config.ts'
import { databaseFile, nodeNameOf } from '../platform/config/environment.ts'
import { type StartFailure, storeFailedStart } from '../platform/nodes/registry.ts'
import { ClockError } from '../platform/nodes/server-clock.ts'
import { type Database, StorageError, StorageWaitError } from '../platform/storage/database.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'
import type { AppOptions } from './foundation.ts'

const MESSAGE_CHARACTERS = 400

/** Whether another program has the port, or the process may not open it. */
const isListenError = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'listen'

/** Undefined: a later start may succeed without an operator (§18.7), or the error is a bug. */
function reasonOf(error: unknown): StartFailure['reason'] | undefined {
  if (error instanceof ConfigError || isListenError(error)) return 'configuration'
  if (error instanceof DeclarationError) return 'declaration'
  if (error instanceof ClockError) return 'clock'
  if (error instanceof StorageWaitError || !(error instanceof StorageError)) return undefined
  return 'database'
}

function failureOf(error: unknown): StartFailure | undefined {
  const reason = reasonOf(error)
  if (!reason) return undefined
  // The sentences of these errors contain no secret.
  const message = withoutPassword((error as Error).message).slice(0, MESSAGE_CHARACTERS)
  return { reason, message }
}

/** Stores the failure of a start, and closes its database. Returns the error. */
export async function endFailedStart(
  db: Database,
  { config, clock = wallClock, isCommand }: AppOptions,
  error: unknown,
): Promise<unknown> {
  const failure = isCommand ? undefined : failureOf(error)
  if (failure) {
    await storeFailedStart(db, nodeNameOf(config), failure, clock.now()).catch(() => undefined)
  }
  await db.close()
  return error
}

/**
 * Stores the failure of a start that had not opened its database, for other nodes on PostgreSQL.
 * Does nothing if that fails, too.
 */
export async function reportFailedStart(
  settings: Settings,
  error: unknown,
  clock: Pick<Clock, 'now'> = wallClock,
): Promise<void> {
  const failure = failureOf(error)
  // A file has no other nodes.
  if (!failure || databaseFile(settings) !== undefined) return
  const connections = { transactions: 1, reads: 1 }
  const target = { ...databaseTarget(settings), durability: 'local', otherUrls: [] } as const
  const deps = { log: createLog({ level: 'silent' }), connections }
  try {
    const db = await openDatabase(target, deps)
    await storeFailedStart(db, nodeNameOf(settings), failure, clock.now()).finally(db.close)
  } catch {
    // The process ends with the sentence of its failure.
  }
}
