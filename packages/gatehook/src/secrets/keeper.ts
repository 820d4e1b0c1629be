/**
 * Lets the vault of one process follow the database: which master secret encrypts, and when the one
 * before it is no longer needed. A rotation may begin and end while the process runs.
 */
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import { keyIdOf, type Vault } from '../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import { acceptRetiredKeys } from './retired-keys.ts'
import { readState, type SecretState } from './state.ts'

/** How soon every node uses the new secret, while it reaches the database. */
export const FOLLOW_EVERY_MS = 1_000
/** Values that do not open may come from outside (form tickets): files are not read for each. */
const RELOAD_EVERY_MS = 1_000

export interface SecretKeeperDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** The secrets configured for this node as they are now, the newest first. */
  readonly configured: () => readonly string[]
}

export interface SecretKeeper {
  /** Reads the state and applies it to the vault. */
  follow(): Promise<void>
}

export function secretKeeper({ db, clock, vault, configured }: SecretKeeperDeps): SecretKeeper {
  let applied = ''
  let reloadedMs = Number.NEGATIVE_INFINITY
  const reload = () => vault.addMasters(configured())
  vault.reload = () => {
    if (clock.elapsedMs() - reloadedMs < RELOAD_EVERY_MS) return
    reloadedMs = clock.elapsedMs()
    reload()
  }
  const apply = async (state: SecretState) => {
    if (!vault.keyIds.includes(state.key_id)) reload()
    vault.activate(state.key_id)
    if (vault.missingKeyId !== undefined) return false
    // Before a rotation the newest secret is configured already, and is not the one that encrypts.
    const isNewest = keyIdOf(configured()[0]!) === state.key_id
    if (!state.rotation && isNewest) {
      await acceptRetiredKeys(db, vault, clock.now())
      vault.dropInactive()
    }
    return true
  }
  return {
    async follow() {
      const state = await readState(db)
      const text = JSON.stringify(state)
      if (!state || text === applied) return
      if (await apply(state)) applied = text
    },
  }
}

/**
 * Applies the stored state every second. After a failed read, the vault stays as it is.
 *
 * @returns Stops following.
 */
export const followSecrets = (keeper: SecretKeeper, log: Log) =>
  startInterval({
    intervalMs: FOLLOW_EVERY_MS,
    run: keeper.follow,
    log,
    failure: 'the state of the master secret could not be read',
  })
