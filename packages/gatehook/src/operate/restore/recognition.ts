/**
 * Recognizes restored data at the start of a service, and quarantines the installation (§18.5): in
 * one transaction it skips ids, ends what can be used once, and holds deliveries, jobs and mail.
 */

import { countIdsSince } from '../../declare/resources/ids-since.ts'
import { engineTables } from '../../engine-tables.ts'
import { type AuditContext, findDataTime, recordAudit } from '../../history/audit/store.ts'
import { isLoopback } from '../../kernel/address.ts'
import type { Log } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Config } from '../../platform/config/config.ts'
import { databaseFile } from '../../platform/config/environment.ts'
import { createCopyMark } from '../../platform/storage/copy-mark.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { ID_SKIP, skipIds } from '../../platform/storage/id-skip.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import {
  isHeld,
  type RestoreState,
  readPublicHost,
  readRestoreState,
  takeAppliedRevocations,
  writePublicHost,
  writeRestoreState,
} from './state.ts'

/**
 * Tables of tokens, codes and sessions that end: since the backup they may have been used, or
 * ended. Sessions of persons continue; those that were refreshed end at their next refresh.
 */
export const ENDED_TABLES: readonly string[] = engineTables
  .filter(({ endsInRestoredData }) => endsInRestoredData)
  .map(({ name }) => name)

export interface RecognitionOptions {
  readonly db: Database
  readonly config: Pick<Config, 'databaseUrl' | 'publicUrl'>
  readonly audit: AuditContext
  readonly log: Log
  /** Whether the operator says that the data was restored (`start --restored`). */
  readonly isRestored: boolean
}

/** Recognizes restored data; otherwise marks the database as the one of this installation. */
export async function recognizeRestore(options: RecognitionOptions): Promise<void> {
  const { db, config, audit, log } = options
  const mark = await createCopyMark(db, databaseFile(config), audit.random)
  const host = publicHostOf(config.publicUrl)
  let recognized: RestoreState | undefined
  let finishAdoption = () => {}
  await db.migrate(async (tx, ddl) => {
    const verdict = await mark.verify(tx)
    const state = await readRestoreState(tx)
    const storedHost = await readPublicHost(tx)
    const isCopy = verdict === 'copy' || verdict === 'backup'
    const reason = reasonOf(options, { isCopy, state, host, storedHost })
    recognized = reason && (await quarantine(tx, options, { reason, host }))
    if (!recognized && isHeld(state) && state!.host !== host) {
      await writeRestoreState(tx, { ...state!, host })
    }
    if (host !== null && storedHost === undefined) await writePublicHost(tx, host)
    finishAdoption = await mark.adopt(verdict, ddl)
  })
  finishAdoption()
  if (recognized) {
    log.warn(
      { reason: recognized.reason, data_through: isoTime(recognized.data_through) },
      'the data was restored: deliveries, jobs and mail are held',
    )
  }
}

/** Returns the host by which customers reach the service; null for none, or this machine. */
function publicHostOf(publicUrl: string | null): string | null {
  if (publicUrl === null) return null
  const { hostname } = new URL(publicUrl)
  return isLoopback(hostname) ? null : hostname
}

interface Observations {
  readonly isCopy: boolean
  readonly state: RestoreState | undefined
  readonly host: string | null
  readonly storedHost: string | undefined
}

/** Returns why the data is restored. One restore is recognized once while it is held. */
function reasonOf(
  { isRestored }: RecognitionOptions,
  { isCopy, state, host, storedHost }: Observations,
): RestoreState['reason'] | undefined {
  if (isCopy) return 'copy'
  if (isHeld(state)) return undefined
  if (isRestored) return 'option'
  return host !== null && storedHost !== undefined && host !== storedHost ? 'host' : undefined
}

async function quarantine(
  tx: Tx,
  { db, audit }: RecognitionOptions,
  cause: Pick<RestoreState, 'reason' | 'host'>,
): Promise<RestoreState> {
  const now = audit.clock.now()
  const data_through = await findDataTime(tx, now)
  await skipIds(db, tx, ID_SKIP + (await countIdsSince(tx, now)))
  for (const table of ENDED_TABLES) await tx.run(sql`DELETE FROM ${raw(table)}`)
  const state = { ...cause, recognized_at: now, data_through, released_at: null } as const
  const revocations = (await takeAppliedRevocations(tx)) ? 'applied' : 'unknown'
  const restored: RestoreState = { ...state, revocations }
  await writeRestoreState(tx, restored)
  const detail = { ...cause, data_through: isoTime(data_through) }
  const actor = { kind: 'system', id: 'restore' } as const
  const entry = { actor, action: 'restore.recognize', target: 'installation', detail }
  await recordAudit(tx, entry, audit)
  return restored
}
