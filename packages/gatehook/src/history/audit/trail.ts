/**
 * The audit trail of one process: its key, and the timer that appends recorded rows to the chain.
 * The key is random, generated once for a database, and stored encrypted under the master secret:
 * rows stay verifiable after a rotation of that secret.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import { type ChainKey, createChainKey, GENESIS } from './chain.ts'
import { type ExportLine, type ExportReport, exportChain, verifyExport } from './chain-export.ts'
import { createChainMemory } from './chain-memory.ts'
import * as store from './chain-store.ts'
import { type ChainReport, type VerifyOptions, verifyChain } from './chain-verifier.ts'
import {
  type AppendDeps,
  appendBatch,
  type ChainDeps,
  ChainError,
  isOpenWarrant,
  proveClearing,
  purgeRows,
  replaceDetail,
  signEnd,
} from './chain-writer.ts'
import { type AuditContext, type AuditSigner, recordAudit } from './store.ts'
import { AUDIT_PURPOSE } from './tables.ts'

const KEY_BYTES = 32
/** Delay after a commit; one batch appends the rows of all commits within it. */
const APPEND_DELAY_MS = 300
/** The head is logged at most once in this time. */
const LOG_MS = 60_000
const DAY_MS = 86_400_000

export interface AuditTrail extends AuditSigner {
  /** Appends one batch before the trail is listed; logs a chain that cannot be continued. */
  appendForReader(): Promise<void>
  /** Appends all committed rows if it can, then verifies the chain. */
  verify(options?: VerifyOptions): Promise<ChainReport>
  /** Appends all committed rows if it can, then yields the whole chain. Throws `ChainError`. */
  export(): AsyncGenerator<ExportLine>
  /** Verifies an exported chain that continues this one, and has `expect`. Throws `ChainError`. */
  verifyExport(lines: AsyncIterable<ExportLine>, expect?: string): Promise<ExportReport>
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** Starts to append the rows of this process soon after their commit. */
  start(): void
  stop(): Promise<void>
}

interface AuditTrailDeps extends Omit<AuditContext, 'trail'> {
  readonly db: Database
  readonly vault: Vault
  readonly log: Log
  /** The name of this node. */
  readonly node: string
  /** Rows older than this are purged; 0 disables the purge. */
  readonly retentionDays: number
}

/** Returns a signer that tags rows; it appends nothing to the chain by itself. */
export const createSigner = (
  key: ChainKey,
  node: string,
  onCommit: () => void = () => {},
): AuditSigner => ({
  tag: key.tag,
  warrantFor: (grant) => ({ ...grant, proof: key.warrant(grant) }),
  isOpenWarrant: (reader, warrant) => isOpenWarrant(reader, key, warrant),
  proveClearing: (tx, positions, warrant) => proveClearing(tx, key, positions, warrant),
  replaceDetail: (tx, row, warrant) => replaceDetail(tx, key, row, warrant),
  onCommit,
  node,
})

/** Opens the audit trail; creates its key and the first row if the database has none. */
export async function openAuditTrail(deps: AuditTrailDeps): Promise<AuditTrail> {
  const { db, clock, log, retentionDays } = deps
  const key = await loadKey(deps)
  const signer = createSigner(key, deps.node, () => timer.wake())
  const context: AuditContext = { ...deps, trail: signer }
  const chain: AppendDeps = { ...context, db, key, log, memory: createChainMemory() }
  const append = createAppender(chain)
  const timer = createAppendTimer(append, log)
  await startChain(chain, context)
  return {
    ...signer,
    async appendForReader() {
      try {
        logSuspects(log, (await appendBatch(chain)).suspectIds)
      } catch (error) {
        const sentence = 'audit rows could not be chained; the list returns them unchained'
        if (error instanceof Failure) log.warn({ code: error.code }, sentence)
        else log.error({ err: error }, sentence)
      }
    },
    async verify(options) {
      await appendIfPossible(append)
      return verifyChain(chain, options)
    },
    async *export() {
      const now = clock.now()
      const isAppended = await appendIfPossible(append)
      yield* exportChain(chain, isAppended ? now : undefined)
    },
    verifyExport: (lines, expect) => verifyExport(chain, lines, expect),
    chores: {
      audit: async () => {
        await append()
        if (retentionDays === 0) return 0
        return purgeRows(chain, clock.now() - retentionDays * DAY_MS)
      },
    },
    start: timer.start,
    stop: timer.stop,
  }
}

type KeySource = Pick<AuditTrailDeps, 'db' | 'vault'>

async function readKey({ db, vault }: KeySource): Promise<ChainKey | undefined> {
  const encryptedKey = await store.readEncryptedKey(db)
  return encryptedKey && createChainKey(vault.decrypt(AUDIT_PURPOSE, store.KEY_ID, encryptedKey))
}

async function loadKey(deps: AuditTrailDeps): Promise<ChainKey> {
  const key = await readKey(deps)
  if (key) return key
  const { db, vault, random } = deps
  const newKey = vault.encrypt(AUDIT_PURPOSE, store.KEY_ID, random.bytes(KEY_BYTES))
  await db.write((tx) => store.insertEncryptedKey(tx, newKey))
  return (await readKey(deps))!
}

/** Returns a signer for a command without an app; undefined if the database has no trail yet. */
export async function openSigner(
  deps: KeySource & Pick<AuditTrailDeps, 'node'>,
): Promise<AuditSigner | undefined> {
  const key = await readKey(deps)
  return key && createSigner(key, deps.node)
}

/** Verifies the chain without a change of it; undefined if the database has none yet. */
export async function verifyStoredChain(
  source: KeySource,
  options: VerifyOptions,
): Promise<ChainReport | undefined> {
  const key = await readKey(source)
  return key && verifyChain({ db: source.db, key }, options)
}

/**
 * Records `audit.start`, the first row of the chain. Rows from before the chain follow it: they
 * have no tag, and are appended with their current content.
 */
async function startChain({ db, key }: ChainDeps, context: AuditContext): Promise<void> {
  if (await store.readEnd(db, 'anchor')) return
  await db.write(async (tx) => {
    const { rows, last } = await store.countRows(tx)
    const genesis = { seq: 0, hash: GENESIS, untaggedThrough: last }
    if (!(await store.insertEnd(tx, 'anchor', signEnd(key, 'anchor', genesis)))) return
    const actor = { kind: 'system', id: 'audit' } as const
    const detail = { rows_before: rows }
    const entry = { actor, action: 'audit.start', target: 'audit', detail }
    const id = await recordAudit(tx, entry, context)
    const row = (await store.findRowById(tx, id))!
    const hash = key.link(row, 1, GENESIS)
    await store.linkRow(tx, row, 1, hash, GENESIS)
    await store.insertEnd(tx, 'head', signEnd(key, 'head', { ...genesis, seq: 1, hash }))
  })
}

function logSuspects(log: Log, ids: readonly string[]): void {
  if (ids.length === 0) return
  log.error({ rows: ids }, 'audit rows without a valid tag: gatehook audit verify')
}

type AppendRows = () => Promise<void>

/**
 * Returns a function that appends all committed rows to the chain. It logs the head at most once a
 * minute: a writer of the database sets no log back. Throws `ChainError`.
 */
function createAppender(chain: AppendDeps): AppendRows {
  const { clock, log, memory } = chain
  let logged: { readonly seq: number; readonly atMs: number } | undefined
  return async () => {
    for (;;) {
      const { rows, suspectIds } = await appendBatch(chain)
      logSuspects(log, suspectIds)
      if (rows === 0) break
    }
    const head = memory.newest()
    const atMs = clock.elapsedMs()
    if (!head || head.seq === logged?.seq || (logged && atMs - logged.atMs < LOG_MS)) return
    logged = { seq: head.seq, atMs }
    log.info({ seq: head.seq, hash: head.hash }, 'head of the audit chain')
  }
}

/**
 * Returns whether all committed rows are in the chain. Readers get the chained rows while none can
 * be stored; a verification names a broken chain.
 */
async function appendIfPossible(append: AppendRows): Promise<boolean> {
  try {
    await append()
    return true
  } catch (error) {
    if (!(error instanceof ChainError || error instanceof Failure)) throw error
    return false
  }
}

/** Appends soon after a commit of this process. The chore appends rows that other nodes left. */
function createAppendTimer(append: AppendRows, log: Log) {
  let isStarted = false
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  const run = async () => {
    try {
      await append()
    } catch (error) {
      log.error({ err: error }, 'audit rows could not be chained')
    }
  }
  const begin = () => {
    timer = undefined
    round = (round ?? Promise.resolve()).then(run)
  }
  const wake = () => {
    if (!isStarted || timer) return
    timer = setTimeout(begin, APPEND_DELAY_MS)
    timer.unref()
  }
  return {
    wake,
    start() {
      isStarted = true
      wake()
    },
    async stop() {
      isStarted = false
      clearTimeout(timer)
      timer = undefined
      await round
    },
  }
}
