/**
 * Runs a change in one transaction that ends in the response. With an `Idempotency-Key`, the
 * claimed key, the change and the stored response commit together. A replay returns the stored
 * response (§11.1). The caller must still have its rights when the turn of the change comes.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Tx, WriteOptions } from '../../platform/storage/database.ts'
import { requireAnswerFits } from '../http/answer-budget.ts'
import type { Answer, Call } from '../http/call.ts'
import { LARGE_BYTES } from '../http/egress.ts'
import { ownerOf } from '../http/owner.ts'
import { rehearse } from './dry-run.ts'
import {
  deriveCallerHash,
  deriveRecordHash,
  type FingerprintCall,
  prefersCallerKeys,
  readFingerprint,
  readIdempotencyKey,
  targetOf,
} from './key.ts'
import {
  answerOf,
  type FieldLimits,
  failureOutcome,
  inProgress,
  type NarrowReplay,
  type RequestOutcome,
  readOutcome,
  replayOutcome,
  rightsOf,
  type StoredOutcome,
  writeOutcome,
} from './outcome.ts'
import type { PendingChanges } from './pending-changes.ts'
import { type RecordIds, type RecordTimes, recordIdsAt, recordTimes } from './record-ids.ts'
import {
  createClaim,
  findRecord,
  type IdempotencyRecord,
  type RecordClaim,
  storeResponse,
} from './store.ts'
import { readStoredResponse } from './stored-response.ts'
import { RESPONSE_PURPOSE, responseRow } from './tables.ts'
import { setRequestOf } from './transaction-request.ts'

interface PerformOptions extends Omit<WriteOptions, 'authority'> {
  /** Default: 403 for a caller without a right that it had at the first request. */
  readonly narrowReplay?: NarrowReplay
  /** The limits of fields that the response can have. */
  readonly limits?: FieldLimits
  /**
   * Work that must happen outside the transaction, such as a network request. It runs first, except
   * for a replay. An error that it throws is never stored.
   */
  readonly prepare?: () => Promise<void>
  /** Rolls the change back, and neither reads nor stores an idempotency key. */
  readonly isDryRun?: boolean
}

/**
 * Runs `change` in one transaction and returns its response. `Database.write` may run `change` more
 * than once.
 *
 * @example
 * return perform(call, async (tx) => json(201, await insertThing(tx, call.body)))
 */
export type Perform = (
  call: Call,
  change: (tx: Tx) => Promise<Answer>,
  options?: PerformOptions,
) => Promise<Answer>

interface PerformDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly pending?: PendingChanges
  /** Runs after each change, in its transaction. */
  readonly recordChange?: (tx: Tx, call: Call) => Promise<void>
}

/** How long a response is stored. */
export const RETENTION_MS = 24 * 3_600_000
/** How long a response that contains a secret is stored. */
const SECRET_RETENTION_MS = 3_600_000
export const FINGERPRINT_PURPOSE = 'idempotency fingerprint'

type ClaimResult = { readonly outcome: RequestOutcome } | { readonly record: IdempotencyRecord }

export function createPerform({ db, clock, vault, pending, recordChange }: PerformDeps): Perform {
  const running = new Set<string>()
  const claimRecord = createClaim(db)
  const fingerprintKeys = vault.macKeys(FINGERPRINT_PURPOSE)

  const replay = async (
    call: Call,
    fingerprint: FingerprintCall,
    record: IdempotencyRecord,
    { narrowReplay, limits }: PerformOptions,
  ): Promise<Answer> => {
    const isSame = fingerprintKeys.accepted.some((key) =>
      fingerprint(key).equals(record.fingerprint),
    )
    if (!isSame) throw new Failure('idempotency_key_reused')
    const text = await readStoredResponse({ db, vault }, call, record)
    return replayOutcome(call, db, readOutcome(text), { narrowReplay, limits })
  }

  const claimAndRun = (
    call: Call,
    fingerprint: Buffer,
    idsAt: (times: RecordTimes) => RecordIds,
    change: (tx: Tx) => Promise<Answer>,
    options: PerformOptions,
  ) => {
    const { scope } = call.principal!
    return db.write(async (tx): Promise<ClaimResult> => {
      setRequestOf(tx, call)
      const times = recordTimes(clock)
      const { now } = times
      const claim = { scope, ids: idsAt(times), fingerprint, expiresAt: now + RETENTION_MS, times }
      const isClaimed = await claimRecord(tx, claim)
      if (!isClaimed) return { record: await requireRecord(tx, claim) }
      const outcome = await runChange(tx, change)
      const isSecret = 'answer' in outcome && outcome.answer.secret === true
      const expiresAt = isSecret ? now + SECRET_RETENTION_MS : claim.expiresAt
      const stored: StoredOutcome = { ...outcome, ...rightsOf(call.principal!, options.limits) }
      const id = claim.ids.current
      const text = writeOutcome(stored)
      const response = vault.encrypt(RESPONSE_PURPOSE, responseRow(scope, id), text)
      storeResponse(tx, scope, id, { response, expiresAt, isSecret })
      return { outcome }
    }, options)
  }

  const perform: Perform = async (call, requestedChange, ownOptions = {}) => {
    const { group: customer, caller } = ownerOf(call)
    const isLarge = call.bytes.length >= LARGE_BYTES
    const { group, ...options } = { ...ownOptions, customer, caller, isLarge, authority: call }
    const { prepare } = ownOptions
    const change = async (tx: Tx): Promise<Answer> => {
      const answer = await requestedChange(tx)
      requireAnswerFits(answer)
      await recordChange?.(tx, call)
      return answer
    }
    if (options.isDryRun) return performDryRun(db, call, change, options)
    const acceptsKey = call.method === 'POST' || call.method === 'PATCH'
    const key = acceptsKey ? readIdempotencyKey(call) : undefined
    if (key === undefined) {
      await prepare?.()
      return db.write((tx) => inRequest(tx, call, change), { ...options, ...(group && { group }) })
    }
    const isOfCaller = prefersCallerKeys(call)
    const hash = isOfCaller ? deriveCallerHash(call, key) : deriveRecordHash(call, key)
    const name = `${call.principal!.scope} ${hash.toString('latin1')}`
    if (running.has(name)) throw inProgress()
    running.add(name)
    try {
      const idsAt = (times: RecordTimes) => recordIdsAt(hash, times)
      const fingerprint = await readFingerprint(call, isOfCaller ? targetOf(call) : '')
      if (prepare) {
        const times = recordTimes(clock)
        const record = await findRecord(db, call.principal!.scope, idsAt(times), times)
        if (record) return await replay(call, fingerprint, record, options)
        await prepare()
      }
      const current = fingerprint(fingerprintKeys.current)
      const result = await claimAndRun(call, current, idsAt, change, options)
      if ('record' in result) return await replay(call, fingerprint, result.record, options)
      return answerOf(result.outcome)
    } finally {
      running.delete(name)
    }
  }
  if (!pending) return perform
  return (call, ...rest) => pending.run(call, () => perform(call, ...rest))
}

/** Returns the record of another request. Throws if it expired since the claim. */
async function requireRecord(
  tx: Tx,
  { scope, ids, times }: RecordClaim,
): Promise<IdempotencyRecord> {
  const record = await findRecord(tx, scope, ids, times)
  if (!record) throw inProgress()
  return record
}

function inRequest<T>(tx: Tx, call: Call, change: (tx: Tx) => Promise<T>): Promise<T> {
  setRequestOf(tx, call)
  return change(tx)
}

async function performDryRun(
  db: Database,
  call: Call,
  change: (tx: Tx) => Promise<Answer>,
  options: WriteOptions,
): Promise<Answer> {
  const rehearsal = await db.write(
    (tx) => inRequest(tx, call, () => rehearse(tx, () => change(tx))),
    options,
  )
  if ('failure' in rehearsal) throw rehearsal.failure
  return rehearsal.value
}

/**
 * Runs the change in a savepoint. A failure rolls the change back and becomes the outcome. A 5xx
 * or a failed `If-Match` (412) is rethrown and not stored: a retry may succeed.
 */
async function runChange(tx: Tx, change: (tx: Tx) => Promise<Answer>): Promise<RequestOutcome> {
  try {
    return { answer: await tx.attempt(() => change(tx)) }
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500 || error.status === 412) throw error
    return failureOutcome(error)
  }
}
