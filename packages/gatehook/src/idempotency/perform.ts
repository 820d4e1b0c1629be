/**
 * How a handler changes things: one transaction that ends in the answer. With an
 * `Idempotency-Key` the claim, the effect and the stored answer commit together, so a repeat is
 * answered and never done again (§11.1).
 */
import type { KeyObject } from 'node:crypto'
import type { Answer, Call } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure, type FailureCode, type FailureOptions } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Tx } from '../storage/database.ts'
import { fingerprint, idempotencyKey, repeatId } from './key.ts'
import {
  ANSWER_PURPOSE,
  answerRow,
  claimKey,
  findStored,
  keepAnswer,
  type Stored,
} from './store.ts'

/**
 * Runs `change` in one transaction and gives its answer. `change` may run again (`write`).
 * `prepare` is for what must not be done inside it, a call over the network: it runs before, and
 * not at all for a repeat that has its answer already. What it throws is kept for no repeat.
 */
export type Perform = (
  call: Call,
  change: (tx: Tx) => Promise<Answer>,
  prepare?: () => Promise<void>,
) => Promise<Answer>

export interface PerformDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
}

/** How long a response is stored. */
export const KEPT_MS = 24 * 3_600_000
const SECRET_KEPT_MS = 3_600_000
/** The keys of fingerprints. */
export const PRINT_PURPOSE = 'idempotency fingerprint'

/** What is stored, sealed: the answer, or the failure that was one. */
type Outcome =
  | { readonly answer: Answer }
  | { readonly code: FailureCode; readonly message: string; readonly options: FailureOptions }

export function createPerform({ db, clock, vault }: PerformDeps): Perform {
  const running = new Set<string>()
  const printKeys = vault.macKeys(PRINT_PURPOSE)

  const replay = (call: Call, id: Buffer, stored: Stored): Answer => {
    const isSame = (key: KeyObject) => fingerprint(key, call.body).equals(stored.fingerprint)
    if (!printKeys.accepted.some(isSame)) throw new Failure('idempotency_key_reused')
    if (!stored.answer) throw inProgress()
    const row = answerRow(call.principal!.scope, id)
    const text = vault.open(ANSWER_PURPOSE, row, stored.answer).toString()
    const outcome = JSON.parse(text) as Outcome
    const replayed = { 'idempotent-replayed': 'true' }
    if ('answer' in outcome) {
      return { ...outcome.answer, headers: { ...outcome.answer.headers, ...replayed } }
    }
    const headers = { ...outcome.options.headers, ...replayed }
    throw new Failure(outcome.code, outcome.message, { ...outcome.options, headers })
  }

  const once = (call: Call, id: Buffer, change: (tx: Tx) => Promise<Answer>) => {
    const { scope } = call.principal!
    const print = fingerprint(printKeys.current, call.body)
    return db.write(async (tx): Promise<Settled> => {
      const now = clock.now()
      if (!(await claimKey(tx, scope, id, print, now + KEPT_MS, now))) {
        return { stored: (await findStored(tx, scope, id))! }
      }
      const outcome = await attempted(tx, change)
      const kept = 'answer' in outcome && outcome.answer.secret ? SECRET_KEPT_MS : KEPT_MS
      const sealed = vault.seal(ANSWER_PURPOSE, answerRow(scope, id), JSON.stringify(outcome))
      await keepAnswer(tx, scope, id, sealed, now + kept)
      return { outcome }
    })
  }

  return async (call, change, prepare) => {
    const key = call.method === 'POST' || call.method === 'PATCH' ? idempotencyKey(call) : undefined
    if (key === undefined) {
      await prepare?.()
      return db.write(change)
    }
    const id = repeatId(call, key)
    const name = `${call.principal!.scope} ${id.toString('latin1')}`
    if (running.has(name)) throw inProgress()
    running.add(name)
    try {
      if (prepare) {
        const { scope } = call.principal!
        const stored = await findStored(db, scope, id)
        if (stored && stored.expires_at > clock.now()) return replay(call, id, stored)
        await prepare()
      }
      const settled = await once(call, id, change)
      if ('stored' in settled) return replay(call, id, settled.stored)
      if ('answer' in settled.outcome) return settled.outcome.answer
      throw new Failure(settled.outcome.code, settled.outcome.message, settled.outcome.options)
    } finally {
      running.delete(name)
    }
  }
}

type Settled = { readonly outcome: Outcome } | { readonly stored: Stored }

const inProgress = () =>
  new Failure('idempotency_in_progress', undefined, { headers: { 'retry-after': '1' } })

/**
 * A broken service may work next time, and `If-Match` (412) is judged before anything is handled.
 */
const repeatable = ({ status }: Failure): boolean => status < 500 && status !== 412

/** The change, rolled back by itself where it ends in a failure the caller is to hear again. */
async function attempted(tx: Tx, change: (tx: Tx) => Promise<Answer>): Promise<Outcome> {
  try {
    return { answer: await tx.attempt(() => change(tx)) }
  } catch (error) {
    if (!(error instanceof Failure) || !repeatable(error)) throw error
    const { code, message, errors, headers } = error
    return { code, message, options: { ...(errors && { errors }), ...(headers && { headers }) } }
  }
}
