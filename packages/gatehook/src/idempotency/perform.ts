/**
 * Runs a change in one transaction that ends in the response. With an `Idempotency-Key`, the
 * claimed key, the change and the stored response commit together. A replay returns the stored
 * response (§11.1).
 */
import type { KeyObject } from 'node:crypto'
import type { Answer, Call } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure, type FailureCode, type FailureOptions } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Tx, WriteOptions } from '../storage/database.ts'
import { rehearse } from './dry-run.ts'
import { deriveRecordId, fingerprintBody, readIdempotencyKey } from './key.ts'
import {
  claimRecord,
  findRecord,
  type IdempotencyRecord,
  RESPONSE_PURPOSE,
  responseRow,
  storeResponse,
} from './store.ts'
import { setRequestOf } from './transaction-request.ts'

interface PerformOptions extends WriteOptions {
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
  /** Runs after each change, in its transaction. */
  readonly recordChange?: (tx: Tx, call: Call) => Promise<void>
}

/** How long a response is stored. */
export const RETENTION_MS = 24 * 3_600_000
/** How long a response that contains a secret is stored. */
const SECRET_RETENTION_MS = 3_600_000
export const FINGERPRINT_PURPOSE = 'idempotency fingerprint'

/** The response to a request, or the failure that was its response. */
type RequestOutcome =
  | { readonly answer: Answer }
  | { readonly code: FailureCode; readonly message: string; readonly options: FailureOptions }

type ClaimResult = { readonly outcome: RequestOutcome } | { readonly record: IdempotencyRecord }

export function createPerform({ db, clock, vault, recordChange }: PerformDeps): Perform {
  const running = new Set<string>()
  const fingerprintKeys = vault.macKeys(FINGERPRINT_PURPOSE)

  const replay = (call: Call, id: Buffer, record: IdempotencyRecord): Answer => {
    const matches = (key: KeyObject) => fingerprintBody(key, call.body).equals(record.fingerprint)
    if (!fingerprintKeys.accepted.some(matches)) throw new Failure('idempotency_key_reused')
    if (!record.answer) throw inProgress()
    const row = responseRow(call.principal!.scope, id)
    const text = vault.decrypt(RESPONSE_PURPOSE, row, record.answer).toString()
    const outcome = JSON.parse(text) as RequestOutcome
    const replayHeaders = { 'idempotent-replayed': 'true' }
    if ('answer' in outcome) {
      return { ...outcome.answer, headers: { ...outcome.answer.headers, ...replayHeaders } }
    }
    const headers = { ...outcome.options.headers, ...replayHeaders }
    throw new Failure(outcome.code, outcome.message, { ...outcome.options, headers })
  }

  const claimAndRun = (
    call: Call,
    id: Buffer,
    change: (tx: Tx) => Promise<Answer>,
    options: PerformOptions,
  ) => {
    const { scope } = call.principal!
    const fingerprint = fingerprintBody(fingerprintKeys.current, call.body)
    return db.write(async (tx): Promise<ClaimResult> => {
      setRequestOf(tx, call)
      const now = clock.now()
      if (!(await claimRecord(tx, scope, id, fingerprint, now + RETENTION_MS, now))) {
        return { record: (await findRecord(tx, scope, id))! }
      }
      const outcome = await runChange(tx, change)
      const isSecret = 'answer' in outcome && outcome.answer.secret
      const expiresAt = now + (isSecret ? SECRET_RETENTION_MS : RETENTION_MS)
      const row = responseRow(scope, id)
      const response = vault.encrypt(RESPONSE_PURPOSE, row, JSON.stringify(outcome))
      await storeResponse(tx, scope, id, response, expiresAt)
      return { outcome }
    }, options)
  }

  return async (call, requestedChange, options = {}) => {
    const { prepare } = options
    const change = async (tx: Tx): Promise<Answer> => {
      const answer = await requestedChange(tx)
      await recordChange?.(tx, call)
      return answer
    }
    if (options.isDryRun) return performDryRun(db, call, change, options)
    const acceptsKey = call.method === 'POST' || call.method === 'PATCH'
    const key = acceptsKey ? readIdempotencyKey(call) : undefined
    if (key === undefined) {
      await prepare?.()
      return db.write((tx) => {
        setRequestOf(tx, call)
        return change(tx)
      }, options)
    }
    const id = deriveRecordId(call, key)
    const name = `${call.principal!.scope} ${id.toString('latin1')}`
    if (running.has(name)) throw inProgress()
    running.add(name)
    try {
      if (prepare) {
        const record = await findRecord(db, call.principal!.scope, id)
        if (record && record.expires_at > clock.now()) return replay(call, id, record)
        await prepare()
      }
      const result = await claimAndRun(call, id, change, options)
      if ('record' in result) return replay(call, id, result.record)
      if ('answer' in result.outcome) return result.outcome.answer
      throw new Failure(result.outcome.code, result.outcome.message, result.outcome.options)
    } finally {
      running.delete(name)
    }
  }
}

async function performDryRun(
  db: Database,
  call: Call,
  change: (tx: Tx) => Promise<Answer>,
  options: WriteOptions,
): Promise<Answer> {
  const rehearsal = await db.write((tx) => {
    setRequestOf(tx, call)
    return rehearse(tx, () => change(tx))
  }, options)
  if ('failure' in rehearsal) throw rehearsal.failure
  return rehearsal.value
}

const inProgress = () =>
  new Failure('idempotency_in_progress', undefined, { headers: { 'retry-after': '1' } })

/**
 * Runs the change in a savepoint. A failure rolls the change back and becomes the outcome. A 5xx
 * or a failed `If-Match` (412) is rethrown and not stored: a retry may succeed.
 */
async function runChange(tx: Tx, change: (tx: Tx) => Promise<Answer>): Promise<RequestOutcome> {
  try {
    return { answer: await tx.attempt(() => change(tx)) }
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500 || error.status === 412) throw error
    const { code, message, errors, headers } = error
    return { code, message, options: { ...(errors && { errors }), ...(headers && { headers }) } }
  }
}
