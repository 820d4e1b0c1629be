/**
 * Rotates the master secret while nodes serve requests. Small transactions re-encrypt each value
 * that the old secret encrypted. A rotation that was interrupted resumes with the next call, which
 * skips values under the new secret.
 *
 * 1. `begin` stores the new secret (SQLite: the file). It encrypts from this commit on.
 * 2. `waitForNodes` gives each node time to read the new state.
 * 3. `reencryptAll` rewrites values until a pass finds none under the old secret.
 * 4. `finish` retires the keys that callers still depend on, and the nodes drop the old secret.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import { headOf, keyIdOf, type Vault } from '../../kernel/secret.ts'
import { ConfigError } from '../config/config.ts'
import { removePreviousSecret, replaceSecretFile } from '../config/secret-files.ts'
import { listRunningNodes, namesOf } from '../nodes/registry.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { listHeads, readValue, replaceValue, type ValueHead } from './encrypted-columns.ts'
import { acceptRetiredKeys, type RetiredPurpose, retireKeys } from './retired-keys.ts'
import { createState, lockState, type SecretState, writeState } from './state.ts'

const PAGE_ROWS = 500
/** Bounds one transaction and the memory of this process, unless one value is larger. */
const BATCH_BYTES = 4 * 1024 * 1024
const BATCH_ROWS = 100
/** A second pass finds values only if a node still encrypts under the old secret. */
const MAX_PASSES = 5

/** Writes an entry to the audit trail, in the transaction of the step that it records. */
type AuditRotation = (
  tx: Tx,
  action: 'master_secret.rotate' | 'master_secret.rotated',
  keyId: string,
  detail: Readonly<Record<string, unknown>>,
) => Promise<unknown>

interface RotateSecretsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly columns: readonly EncryptedColumn[]
  readonly retiredPurposes: readonly RetiredPurpose[]
  /** The path of `secret.key`; undefined if GATEHOOK_SECRET_KEY is set. */
  readonly secretFile: string | undefined
  /** Returns the secrets configured for this process, newest first. */
  readonly readSecrets: () => readonly string[]
}

export interface RotationCallbacks {
  readonly audit: AuditRotation
  /** Resolves when each node has read the state again. */
  readonly waitForNodes: () => Promise<void>
  /** Receives the number of values re-encrypted so far. */
  readonly onProgress: (done: number) => void
}

export interface RotationResult {
  readonly key_id: string
  /** Null if there was nothing to rotate. */
  readonly previous_key_id: string | null
  /** Whether an earlier call began the rotation. */
  readonly resumed: boolean
  /** Values that this call re-encrypted. */
  readonly values: number
  /** Values that no configured secret decrypts. */
  readonly unreadable: number
}

/**
 * Rotates the master secret, or resumes a rotation. Throws `ConfigError` if the new secret is not
 * configured, or if a node still encrypts under the old one.
 */
export async function rotateSecrets(
  deps: RotateSecretsDeps,
  { audit, waitForNodes, onProgress }: RotationCallbacks,
): Promise<RotationResult> {
  const { db, vault, readSecrets } = deps
  const { state, resumed } = await db.write((tx) => begin(tx, deps, audit))
  vault.addMasters(readSecrets())
  vault.activate(state.key_id)
  if (state.rotation) await waitForNodes()
  const counts = await reencryptAll(deps, onProgress)
  if (state.rotation) {
    await db.write((tx) => finish(tx, deps, audit, counts))
    await acceptRetiredKeys(db, vault, deps.clock.now())
    vault.dropInactive()
    if (deps.secretFile) removePreviousSecret(deps.secretFile)
  }
  const previousKeyId = state.rotation?.previous_key_id ?? null
  return { key_id: state.key_id, previous_key_id: previousKeyId, resumed, ...counts }
}

async function begin(
  tx: Tx,
  { clock, random, secretFile, readSecrets }: RotateSecretsDeps,
  audit: AuditRotation,
): Promise<{ readonly state: SecretState; readonly resumed: boolean }> {
  const state = await lockState(tx)
  if (state.rotation) return { state, resumed: true }
  // The lock ensures that one of two concurrent commands replaces the files.
  const secrets = secretFile ? replaceSecretFile(secretFile, state.key_id, random) : readSecrets()
  const newest = secrets[0]!
  const keyId = keyIdOf(newest)
  if (keyId === state.key_id) {
    if (secrets.length > 1) return { state, resumed: false }
    throw new ConfigError([
      'GATEHOOK_SECRET_KEY is the secret that encrypts this database; to rotate it, set the new ' +
        'one in GATEHOOK_SECRET_KEY and this one in GATEHOOK_SECRET_KEY_PREVIOUS.',
    ])
  }
  if (!secretFile) await requireOnNodes(tx, keyId, clock.now())
  const rotation = { previous_key_id: state.key_id, started_at: clock.now() }
  const next = createState(newest, random, rotation)
  await writeState(tx, next)
  await audit(tx, 'master_secret.rotate', keyId, { previous_key_id: state.key_id })
  return { state: next, resumed: false }
}

/** Throws `ConfigError` with the nodes that run without the new secret. */
async function requireOnNodes(tx: Tx, keyId: string, nowMs: number): Promise<void> {
  const nodes = await listRunningNodes(tx, nowMs)
  const lacking = nodes.filter(({ keyIds }) => !keyIds.includes(keyId))
  if (lacking.length === 0) return
  throw new ConfigError([
    `These nodes run without the new master secret: ${namesOf(lacking)}. Restart them with the ` +
      'new one in GATEHOOK_SECRET_KEY and the old one in GATEHOOK_SECRET_KEY_PREVIOUS, then run ' +
      'this again. (A node that was killed counts for 45 s.)',
  ])
}

async function finish(
  tx: Tx,
  { clock, vault, retiredPurposes }: RotateSecretsDeps,
  audit: AuditRotation,
  counts: RotationCounts,
): Promise<void> {
  const { rotation, ...state } = await lockState(tx)
  if (!rotation) return // a concurrent call has finished it
  const { previous_key_id } = rotation
  await retireKeys(tx, vault, previous_key_id, retiredPurposes, clock.now())
  await writeState(tx, state)
  await audit(tx, 'master_secret.rotated', state.key_id, { previous_key_id, ...counts })
}

type RotationCounts = Pick<RotationResult, 'values' | 'unreadable'>

async function reencryptAll(
  deps: RotateSecretsDeps,
  onProgress: RotationCallbacks['onProgress'],
): Promise<RotationCounts> {
  let values = 0
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    let [changed, unreadable] = [0, 0]
    for (const column of deps.columns) {
      for await (const batch of reencryptColumn(deps, column)) {
        changed += batch.values
        unreadable += batch.unreadable
        onProgress(values + changed)
      }
    }
    values += changed
    if (changed === 0) return { values, unreadable }
  }
  throw new ConfigError([
    'A node still encrypts under the previous secret: restart every node with the new one in ' +
      'GATEHOOK_SECRET_KEY and the old one in GATEHOOK_SECRET_KEY_PREVIOUS, then run this again.',
  ])
}

/** Re-encrypts values that are not under the active key; yields once per transaction. */
async function* reencryptColumn(
  { db, vault }: RotateSecretsDeps,
  column: EncryptedColumn,
): AsyncGenerator<RotationCounts> {
  const activeHead = headOf(vault.keyId)
  let after: ValueHead['key'] | undefined
  for (;;) {
    const page = await listHeads(db, column, after, PAGE_ROWS)
    const stale = page.filter(({ head }) => head !== null && !activeHead.equals(head))
    for (const batch of splitIntoBatches(stale)) {
      yield await db.write((tx) => reencryptBatch(tx, vault, column, batch))
    }
    if (page.length < PAGE_ROWS) return
    after = page.at(-1)!.key
  }
}

function splitIntoBatches(rows: readonly ValueHead[]): ValueHead[][] {
  const batches: ValueHead[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const last = batches.at(-1)
    bytes += row.sizeBytes
    if (last && bytes <= BATCH_BYTES && last.length < BATCH_ROWS) last.push(row)
    else {
      batches.push([row])
      bytes = row.sizeBytes
    }
  }
  return batches
}

async function reencryptBatch(
  tx: Tx,
  vault: Vault,
  column: EncryptedColumn,
  batch: readonly ValueHead[],
): Promise<RotationCounts> {
  let [values, unreadable] = [0, 0]
  const reencrypt = async ({ key }: ValueHead): Promise<void> => {
    const oldValue = await readValue(tx, column, key)
    if (!oldValue) return // the row was deleted
    const row = column.rowOf(key)
    if (vault.findKeyId(column.purpose, row, oldValue) === undefined) unreadable++
    else {
      const plain = vault.decrypt(column.purpose, row, oldValue)
      const newValue = vault.encrypt(column.purpose, row, plain)
      if (await replaceValue(tx, column, key, oldValue, newValue)) values++
    }
  }
  // Parallel, because the statements of a transaction are pipelined in one round trip.
  await Promise.all(batch.map(reencrypt))
  return { values, unreadable }
}
