/**
 * Synchronizes the vault of one process with the database: which master secret encrypts, and
 * whether the previous one is still needed. A rotation may begin and end while the process runs.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { keyIdOf, type Vault } from '../../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import type { PolledValue } from '../storage/shared-poll.ts'
import { acceptRetiredKeys } from './retired-keys.ts'
import { readState, type SecretState, selectState } from './state.ts'

/** Bounds how often forged values (form tickets) cause the secret files to be read. */
const MIN_RELOAD_INTERVAL_MS = 1_000

interface VaultSyncDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** Returns the secrets configured for this node now, newest first. */
  readonly readSecrets: () => readonly string[]
}

/**
 * Reads the state of the master secret and applies it to the vault. Returns false if this node does
 * not have the active secret.
 */
type SyncVault = () => Promise<boolean>

export function createVaultSync({ db, clock, vault, readSecrets }: VaultSyncDeps): SyncVault {
  let appliedState = ''
  let reloadedMs = Number.NEGATIVE_INFINITY
  const reload = () => vault.addMasters(readSecrets())
  vault.reload = () => {
    if (clock.elapsedMs() - reloadedMs < MIN_RELOAD_INTERVAL_MS) return
    reloadedMs = clock.elapsedMs()
    reload()
  }
  /** Returns whether this node has the active secret. */
  const apply = async (state: SecretState): Promise<boolean> => {
    if (!vault.keyIds.includes(state.key_id)) reload()
    vault.activate(state.key_id)
    if (vault.missingKeyId !== undefined) return false
    // Before a rotation begins, the newest configured secret is not the active one.
    const isNewest = keyIdOf(readSecrets()[0]!) === state.key_id
    if (!state.rotation && isNewest) {
      await acceptRetiredKeys(db, vault, clock.now())
      vault.dropInactive()
    }
    return true
  }
  return async () => {
    const state = await readState(db)
    const text = JSON.stringify(state)
    if (!state || text === appliedState) return true
    const isApplied = await apply(state)
    if (isApplied) appliedState = text
    return isApplied
  }
}

/**
 * Returns the value that a node polls: it synchronizes when the state has changed. After a failure
 * the vault remains as it is until the next poll.
 */
export function pollSecretState(syncVault: SyncVault): PolledValue {
  let syncedState: unknown
  return {
    select: () => selectState,
    async receive(state) {
      if (state === syncedState) return
      if (await syncVault()) syncedState = state
    },
  }
}

const RETRY_MS = 1_000

/** Synchronizes the vault on request, and again each second until the state is applied. */
export function createRetriedSync(syncVault: SyncVault, log: Log) {
  const failure = 'the state of the master secret could not be read'
  let stopRetries: (() => Promise<void>) | undefined
  const endRetries = async () => {
    const stopping = stopRetries?.()
    stopRetries = undefined
    await stopping
  }
  const attempt = async () => {
    if (await syncVault()) void endRetries()
  }
  return {
    request() {
      stopRetries ??= startInterval({ intervalMs: RETRY_MS, run: attempt, log, failure })
      attempt().catch((err: unknown) => log.warn({ err }, failure))
    },
    stop: endRetries,
  }
}
