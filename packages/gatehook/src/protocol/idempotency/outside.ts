/**
 * Runs a change that another system makes (§17.5): no transaction is open meanwhile. With an
 * `Idempotency-Key` a first transaction claims the record, and a second one stores the response.
 * The outcome of a record without a response is unknown once its time has passed.
 */
import { hash } from 'node:crypto'
import { type Clock, steadyNow } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { writeFor } from '../http/authorized-write.ts'
import type { Answer, Call } from '../http/call.ts'
import { ownerOf } from '../http/owner.ts'
import { prefersDryRun } from './dry-run.ts'
import {
  deriveRecordHash,
  type FingerprintCall,
  readFingerprint,
  readIdempotencyKey,
} from './key.ts'
import {
  failureOutcome,
  inProgress,
  type RequestOutcome,
  readOutcome,
  replayOutcome,
  rightsOf,
  writeOutcome,
} from './outcome.ts'
import { FINGERPRINT_PURPOSE, RETENTION_MS } from './perform.ts'
import { recordIdsAt, recordTimes } from './record-ids.ts'
import {
  createClaim,
  findRecord,
  type IdempotencyRecord,
  reclaimRecord,
  releaseRecord,
  reopenRecord,
  storeResponse,
} from './store.ts'
import { readStoredResponse } from './stored-response.ts'
import { RESPONSE_PURPOSE, responseRow } from './tables.ts'

/** The outcome in another system. A repeat gets a `known` one; `none`: it left no effect. */
export interface OutsideResult {
  readonly outcome: { readonly answer: Answer } | { readonly failure: Failure }
  readonly effect: 'known' | 'unknown' | 'none'
}

interface OutsideOptions {
  /** The longest time of the change. */
  readonly lastsMs: number
  /** Whether the other system recognizes the key of a repeat. */
  readonly isRepeatable: boolean
}

/** @param send - receives the key that the other system gets; undefined without one */
export type PerformOutside = (
  call: Call,
  options: OutsideOptions,
  send: (key: string | undefined) => Promise<OutsideResult>,
) => Promise<Answer>

interface OutsideDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** Runs before each change, in the transaction of the claim. */
  readonly recordChange: (tx: Tx, call: Call) => Promise<void>
}

/** How long another node may still store the response after the time of a change. */
const MARGIN_MS = 5_000

/** How long before its end a record without a response can be claimed again. */
const repeatableMs = ({ lastsMs }: OutsideOptions): number => RETENTION_MS - lastsMs - MARGIN_MS

/** `isResent`: an earlier attempt has an unknown outcome. */
type Claim =
  | { readonly id: Uint8Array; readonly isResent: boolean }
  | { readonly record: IdempotencyRecord }

export function createPerformOutside(deps: OutsideDeps): PerformOutside {
  const { db, clock, vault, recordChange } = deps
  const running = new Set<string>()
  const claimRecord = createClaim(db)
  const keys = vault.macKeys(FINGERPRINT_PURPOSE)
  const isSame = (fingerprint: FingerprintCall, record: IdempotencyRecord): boolean =>
    keys.accepted.some((key) => fingerprint(key).equals(record.fingerprint))
  const claim = (
    call: Call,
    fingerprintCall: FingerprintCall,
    recordHash: Buffer,
    options: OutsideOptions,
  ): Promise<Claim> => {
    const { scope } = call.principal!
    const { group: customer, caller } = ownerOf(call)
    const fingerprint = fingerprintCall(keys.current)
    return db.write(
      async (tx): Promise<Claim> => {
        const times = recordTimes(clock)
        const ids = recordIdsAt(recordHash, times)
        const expiresAt = times.now + RETENTION_MS
        if (await claimRecord(tx, { scope, ids, fingerprint, expiresAt, times })) {
          await recordChange(tx, call)
          return { id: ids.current, isResent: false }
        }
        const record = await findRecord(tx, scope, ids, times)
        if (!record) throw inProgress()
        if (record.answer_bytes !== null || !isSame(fingerprintCall, record)) return { record }
        if (record.expires_at - repeatableMs(options) > times.now) throw inProgress()
        if (!options.isRepeatable) throw new Failure('outcome_unknown')
        if (!(await reclaimRecord(tx, scope, record, expiresAt))) throw inProgress()
        return { id: record.id, isResent: true }
      },
      { customer, caller, authority: call },
    )
  }
  const replay = async (
    call: Call,
    fingerprint: FingerprintCall,
    record: IdempotencyRecord,
  ): Promise<Answer> => {
    if (!isSame(fingerprint, record)) throw new Failure('idempotency_key_reused')
    return replayOutcome(call, db, readOutcome(await readStoredResponse(deps, call, record)))
  }
  /**
   * Stores the outcome for repeats, or releases the record. After an unknown outcome the record
   * stays: the repeat must be the same request, and the other system recognizes it by its id.
   */
  const settle = (call: Call, id: Uint8Array, result: OutsideResult, options: OutsideOptions) =>
    db.write(async (tx) => {
      const { scope } = call.principal!
      const { effect } = result
      if (effect === 'none') return releaseRecord(tx, scope, id)
      if (effect === 'unknown' && options.isRepeatable) {
        return reopenRecord(tx, scope, id, steadyNow(clock) + repeatableMs(options))
      }
      const stored = storedOutcomeOf(result)
      const text = writeOutcome({ ...stored, ...rightsOf(call.principal!) })
      const response = vault.encrypt(RESPONSE_PURPOSE, responseRow(scope, id), text)
      const expiresAt = steadyNow(clock) + RETENTION_MS
      return storeResponse(tx, scope, id, { response, expiresAt, isSecret: false })
    })

  return async (call, options, send) => {
    if (prefersDryRun(call)) {
      throw new Failure('invalid_request', 'A forwarded request has no dry run. It was not sent.')
    }
    const acceptsKey = call.method === 'POST' || call.method === 'PATCH'
    const key = acceptsKey ? readIdempotencyKey(call) : undefined
    if (key === undefined) {
      if (call.principal!.caller) await writeFor(call, db)((tx) => recordChange(tx, call))
      return answerOrThrow(await send(undefined))
    }
    const recordHash = deriveRecordHash(call, key)
    const name = recordHash.toString('latin1')
    if (running.has(name)) throw inProgress()
    running.add(name)
    try {
      const fingerprint = await readFingerprint(call)
      const claimed = await claim(call, fingerprint, recordHash, options)
      if ('record' in claimed) return await replay(call, fingerprint, claimed.record)
      const result = await send(hash('sha256', claimed.id, 'base64url'))
      const effect = claimed.isResent ? effectOfRepeat(result) : result.effect
      await settle(call, claimed.id, { ...result, effect }, options)
      return answerOrThrow(result)
    } finally {
      running.delete(name)
    }
  }
}

/**
 * Returns the effect of a repeat after an unknown outcome. A refusal of it says nothing about the
 * earlier attempt, and a 409 may mean that this one still runs.
 */
function effectOfRepeat({ outcome, effect }: OutsideResult): OutsideResult['effect'] {
  const { status } = 'answer' in outcome ? outcome.answer : outcome.failure
  return effect === 'none' || status === 409 ? 'unknown' : effect
}

function answerOrThrow({ outcome }: OutsideResult): Answer {
  if ('answer' in outcome) return outcome.answer
  throw outcome.failure
}

/** Returns what repeats get. */
function storedOutcomeOf({ outcome, effect }: OutsideResult): RequestOutcome {
  if (effect === 'unknown') return failureOutcome(new Failure('outcome_unknown'))
  return 'answer' in outcome ? outcome : failureOutcome(outcome.failure)
}
