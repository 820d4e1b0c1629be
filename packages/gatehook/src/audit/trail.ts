/**
 * The audit trail of one process: its key, and the loop that seals what was written. The key is
 * random, made once for a database and stored under the master secret, so that it outlives a
 * rotation of that secret.
 */
import type { Log } from '../kernel/log.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import { type ChainKey, chainKey, GENESIS } from './chain.ts'
import * as store from './chain-store.ts'
import { type ChainDeps, ChainError, purgeRows, sealBatch, signedEnd } from './seal.ts'
import { type AuditSigner, recordAudit, type Sources } from './store.ts'
import { type ChainReport, type VerifyOptions, verifyChain } from './verify.ts'

const KEY_BYTES = 32
/** How long after a commit its rows are sealed; what comes meanwhile is sealed with them. */
const SEAL_AFTER_MS = 300
const DAY_MS = 86_400_000

export interface AuditTrail extends AuditSigner {
  /** Seals all rows that are committed. Throws `ChainError`. */
  seal(onProgress?: (rows: number) => void): Promise<number>
  /** Seals one batch for a reader; a chain that cannot be continued is logged. */
  sealForReader(): Promise<void>
  /** Seals, then verifies. */
  verify(options?: VerifyOptions): Promise<ChainReport>
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** From here on, rows written by this process are sealed soon after their commit. */
  start(): void
  stop(): Promise<void>
}

export interface AuditTrailDeps extends Omit<Sources, 'trail'> {
  readonly db: Database
  readonly vault: Vault
  readonly log: Log
  /** Rows older than this are purged; 0: none are. */
  readonly retentionDays: number
}

/** Tags rows with a key and seals nothing. */
export const signerWith = (key: ChainKey, written: () => void = () => {}): AuditSigner => ({
  tag: key.tag,
  written,
})

/** Creates the key and the start of the chain in a database that has none. */
export async function openAuditTrail(deps: AuditTrailDeps): Promise<AuditTrail> {
  const { db, clock, log, retentionDays } = deps
  const key = await loadKey(deps)
  const chain: ChainDeps = { db, key }
  const loop = sealingLoop(chain, log)
  const signer = signerWith(key, loop.wake)
  const sources: Sources = { ...deps, trail: signer }
  await startChain(chain, sources)
  return {
    ...signer,
    seal: (onProgress) => sealAll(chain, log, onProgress),
    async sealForReader() {
      try {
        warn(log, (await sealBatch(chain)).suspect)
      } catch (error) {
        log.error({ err: error }, 'audit rows could not be sealed; the list shows them unsealed')
      }
    },
    async verify(options) {
      try {
        await sealAll(chain, log)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error // the report says what is wrong
      }
      return verifyChain(chain, options)
    },
    chores: {
      audit: async () => {
        await sealAll(chain, log)
        if (retentionDays === 0) return 0
        return purgeRows({ ...chain, ...sources }, clock.now() - retentionDays * DAY_MS)
      },
    },
    start: loop.start,
    stop: loop.stop,
  }
}

async function loadKey({ db, vault, random }: AuditTrailDeps): Promise<ChainKey> {
  let sealed = await store.readSealedKey(db)
  if (!sealed) {
    const fresh = vault.seal(store.AUDIT_PURPOSE, store.KEY_ID, random.bytes(KEY_BYTES))
    await db.write((tx) => store.insertSealedKey(tx, fresh))
    sealed = (await store.readSealedKey(db))!
  }
  return chainKey(vault.open(store.AUDIT_PURPOSE, store.KEY_ID, sealed))
}

/**
 * The start row is the first of the chain. Rows that were there before the chain follow it: they
 * have no tag, and are sealed as they are at this moment.
 */
async function startChain({ db, key }: ChainDeps, sources: Sources): Promise<void> {
  if (await store.readEnd(db, 'anchor')) return
  await db.write(async (tx) => {
    const { rows, last } = await store.countRows(tx)
    const genesis = { seq: 0, hash: GENESIS, untaggedThrough: last }
    if (!(await store.insertEnd(tx, 'anchor', signedEnd(key, 'anchor', genesis)))) return
    const actor = { kind: 'system', id: 'audit' } as const
    const detail = { rows_before: rows }
    const act = { actor, action: 'audit.start', target: 'audit', detail }
    const id = await recordAudit(tx, act, sources)
    const row = (await store.rowById(tx, id))!
    const hash = key.link(row, 1, GENESIS)
    await store.sealRow(tx, row, 1, hash, GENESIS)
    await store.insertEnd(tx, 'head', signedEnd(key, 'head', { ...genesis, seq: 1, hash }))
  })
}

function warn(log: Log, suspect: readonly string[]): void {
  if (suspect.length === 0) return
  log.error({ rows: suspect }, 'audit rows without a valid tag: gatehook audit verify')
}

async function sealAll(
  chain: ChainDeps,
  log: Log,
  onProgress?: (rows: number) => void,
): Promise<number> {
  for (let rows = 0; ; ) {
    const sealed = await sealBatch(chain)
    warn(log, sealed.suspect)
    if (sealed.rows === 0) return rows
    rows += sealed.rows
    onProgress?.(rows)
  }
}

/** Seals soon after this process wrote a row. What other processes left, the chore seals. */
function sealingLoop(chain: ChainDeps, log: Log) {
  let started = false
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  const run = async () => {
    try {
      await sealAll(chain, log)
    } catch (error) {
      log.error({ err: error }, 'audit rows could not be sealed')
    }
  }
  const begin = () => {
    timer = undefined
    round = (round ?? Promise.resolve()).then(run)
  }
  const wake = () => {
    if (!started || timer) return
    timer = setTimeout(begin, SEAL_AFTER_MS)
    timer.unref()
  }
  return {
    wake,
    start() {
      started = true
      wake()
    },
    async stop() {
      started = false
      clearTimeout(timer)
      timer = undefined
      await round
    },
  }
}
