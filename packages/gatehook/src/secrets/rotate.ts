/**
 * Rotates the master secret: every value that is encrypted under the old one is encrypted under the
 * new one, in small transactions, while nodes serve. A rotation that was interrupted goes on where
 * the next one starts: values under the new key are skipped.
 *
 * 1. begin: the new secret is stored (SQLite: the file), and encrypts from this commit on.
 * 2. settle: nodes read the state each second; then none of them encrypts under the old secret.
 * 3. sweep: all values are rewritten, until a pass over them finds nothing left.
 * 4. finish: keys that callers still depend on are retired, nodes drop the old secret.
 */
import { ConfigError } from '../config/config.ts'
import { removePreviousSecret, replaceSecretFile } from '../config/secret-files.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'
import { headOf, keyIdOf, type Vault } from '../kernel/secret.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { acceptRetiredKeys, type RetiredPurpose, retireKeys } from './retired-keys.ts'
import { headsAfter, replaceValue, type SealedHead, sealedValue } from './sealed-store.ts'
import { lockState, type SecretState, stateOf, writeState } from './state.ts'

/** Rows whose first bytes are read at once. */
const PAGE_ROWS = 500
/** What one transaction rewrites, and this process holds in memory, at most (one value aside). */
const BATCH_BYTES = 4 * 1024 * 1024
const BATCH_ROWS = 100
/** A pass finds values only while a node goes on encrypting under the old secret. */
const MAX_PASSES = 5

/** Records a step in the audit trail, in its transaction. */
export type AuditRotation = (
  tx: Tx,
  action: 'master_secret.rotate' | 'master_secret.rotated',
  keyId: string,
  detail: Readonly<Record<string, unknown>>,
) => Promise<unknown>

export interface RotateDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  /** Every encrypted column there is. */
  readonly columns: readonly SealedColumn[]
  readonly retired: readonly RetiredPurpose[]
  /** `secret.key`; undefined where GATEHOOK_SECRET_KEY is set. */
  readonly secretFile: string | undefined
  /** The secrets configured for this process, the newest first. */
  readonly configured: () => readonly string[]
}

export interface Rotation {
  readonly audit: AuditRotation
  /** Resolves when every node has read the state once more. */
  readonly settle: () => Promise<void>
  readonly onProgress: (done: number) => void
}

export interface Rotated {
  readonly key_id: string
  /** Null where nothing had to be rotated. */
  readonly previous_key_id: string | null
  /** Whether an earlier call had begun it. */
  readonly resumed: boolean
  /** Values rewritten by this call. */
  readonly values: number
  /** Values that no secret opens: damaged, moved, or of a secret long gone. */
  readonly unreadable: number
}

/** Throws a `ConfigError` where the new secret is not configured. */
export async function rotateSecrets(deps: RotateDeps, rotation: Rotation): Promise<Rotated> {
  const { db, vault, configured } = deps
  const begun = await db.write((tx) => begin(tx, deps, rotation.audit))
  const { key_id, rotation: under } = begun.state
  vault.hold(configured())
  vault.activate(key_id)
  if (under) await rotation.settle()
  const swept = await sweepAll(deps, rotation.onProgress)
  if (under) {
    await db.write((tx) => finish(tx, deps, rotation.audit, swept))
    await acceptRetiredKeys(db, vault, deps.clock.now())
    vault.dropOthers()
    if (deps.secretFile) removePreviousSecret(deps.secretFile)
  }
  return {
    key_id,
    previous_key_id: under?.previous_key_id ?? null,
    resumed: begun.resumed,
    ...swept,
  }
}

async function begin(
  tx: Tx,
  { clock, random, secretFile, configured }: RotateDeps,
  audit: AuditRotation,
): Promise<{ readonly state: SecretState; readonly resumed: boolean }> {
  const state = await lockState(tx)
  if (state.rotation) return { state, resumed: true }
  // Files are replaced under the lock: of two commands at once, one does.
  const secrets = secretFile ? replaceSecretFile(secretFile, state.key_id, random) : configured()
  const newest = secrets[0]!
  const keyId = keyIdOf(newest)
  if (keyId === state.key_id) {
    if (secrets.length > 1) return { state, resumed: false }
    throw new ConfigError([
      'GATEHOOK_SECRET_KEY is the secret that encrypts this database; to rotate it, set the new ' +
        'one in GATEHOOK_SECRET_KEY and this one in GATEHOOK_SECRET_KEY_PREVIOUS.',
    ])
  }
  const under = { previous_key_id: state.key_id, started_at: clock.now() }
  const next = stateOf(newest, random, under)
  await writeState(tx, next)
  await audit(tx, 'master_secret.rotate', keyId, { previous_key_id: state.key_id })
  return { state: next, resumed: false }
}

async function finish(
  tx: Tx,
  { clock, vault, retired }: RotateDeps,
  audit: AuditRotation,
  swept: Swept,
): Promise<void> {
  const { rotation, ...state } = await lockState(tx)
  if (!rotation) return // another call was faster
  await retireKeys(tx, vault, rotation.previous_key_id, retired, clock.now())
  await writeState(tx, state)
  const { previous_key_id } = rotation
  await audit(tx, 'master_secret.rotated', state.key_id, { previous_key_id, ...swept })
}

interface Swept {
  readonly values: number
  readonly unreadable: number
}

async function sweepAll(deps: RotateDeps, onProgress: Rotation['onProgress']): Promise<Swept> {
  let values = 0
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    let [changed, unreadable] = [0, 0]
    for (const column of deps.columns) {
      for await (const batch of sweepColumn(deps, column)) {
        changed += batch.values
        unreadable += batch.unreadable
        onProgress(values + changed)
      }
    }
    values += changed
    if (changed === 0) return { values, unreadable }
  }
  throw new ConfigError([
    'A node goes on encrypting under the previous secret: restart every node with the new one in ' +
      'GATEHOOK_SECRET_KEY and the old one in GATEHOOK_SECRET_KEY_PREVIOUS, then run this again.',
  ])
}

/** Rewrites what is not under the active key, one transaction for each batch that it yields. */
async function* sweepColumn(deps: RotateDeps, column: SealedColumn): AsyncGenerator<Swept> {
  const { db, vault } = deps
  const head = headOf(vault.keyId)
  let after: SealedHead['key'] | undefined
  for (;;) {
    const page = await headsAfter(db, column, after, PAGE_ROWS)
    const stale = page.filter((row) => row.head !== null && !head.equals(row.head))
    for (const batch of batchesOf(stale)) {
      yield await db.write((tx) => resealBatch(tx, vault, column, batch))
    }
    if (page.length < PAGE_ROWS) return
    after = page.at(-1)!.key
  }
}

function batchesOf(rows: readonly SealedHead[]): SealedHead[][] {
  const batches: SealedHead[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const last = batches.at(-1)
    bytes += row.bytes
    if (last && bytes <= BATCH_BYTES && last.length < BATCH_ROWS) last.push(row)
    else {
      batches.push([row])
      bytes = row.bytes
    }
  }
  return batches
}

async function resealBatch(
  tx: Tx,
  vault: Vault,
  column: SealedColumn,
  batch: readonly SealedHead[],
): Promise<Swept> {
  let [values, unreadable] = [0, 0]
  // Statements of one transaction that do not wait for each other take one round trip.
  const reseal = async ({ key }: SealedHead): Promise<void> => {
    const sealed = await sealedValue(tx, column, key)
    if (!sealed) return // deleted meanwhile
    const row = column.rowOf(key)
    if (vault.keyIdOf(column.purpose, row, sealed) === undefined) unreadable++
    else {
      const fresh = vault.seal(column.purpose, row, vault.open(column.purpose, row, sealed))
      if (await replaceValue(tx, column, key, sealed, fresh)) values++
    }
  }
  await Promise.all(batch.map(reseal))
  return { values, unreadable }
}
