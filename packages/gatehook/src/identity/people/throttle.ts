/**
 * Limits failed passwords (§3.8): 10 per account and 100 per address in a sliding window of 5 min.
 * A client that the account recognizes has a counter of its own instead: other clients cannot lock
 * it out.
 *
 * `check` rejects before the password waits for a thread, and counts nothing. `begin` counts the
 * attempt as failed just before it is hashed, in a transaction that locks the counters: concurrent
 * attempts, on any number of nodes, get at most the limit of passwords hashed.
 */

import { createHmac, type KeyObject } from 'node:crypto'
import { addressBlock } from '../../kernel/address.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import { retryAfterS } from '../../kernel/time.ts'
import type { Database, Reader, Row, Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { Namespace } from './namespace.ts'

/** The purpose of the keys that hash names. */
export const THROTTLE_PURPOSE = 'throttle'

export const WINDOW_MS = 5 * 60_000
const LIMITS = { account: 10, address: 100, client: 10 } as const
/** Attempts stored for a counter without a limit; the oldest are evicted. */
const MAX_ATTEMPTS = 200

type CounterKind = keyof typeof LIMITS

/** Identifies an attempt: its account and its client. */
export interface AttemptIdentity {
  /** People and operators may have the same name. */
  readonly realm: 'person' | 'operator'
  /** The rows among which the name is unique. */
  readonly namespace: Namespace
  /** Folded. */
  readonly username: string
  readonly address: string
  /** The id of the request, for the audit trail. */
  readonly requestId?: string | undefined
  /** `ClientRecognition.clientKey`. */
  readonly clientKey?: string | undefined
}

/** A limit that was reached; reported once until the next attempt is allowed. */
export interface ThrottleReport extends Omit<AttemptIdentity, 'clientKey'> {
  readonly limit: CounterKind
  readonly retryAfterS: number
}

/** An attempt that counts as failed until it succeeds or is withdrawn. */
interface PasswordAttempt {
  readonly counters: readonly Counter[]
  readonly at: number
}

/** The counters before an attempt. */
interface ThrottleStatus {
  /** Recent failures of the account and of the address together. */
  readonly failures: number
  /** Whether a person's recognized client reached its limit: it is slowed down (`login.ts`). */
  readonly isExhausted: boolean
}

export interface Throttle {
  /** Returns the counters. Throws `rate_limited` with `Retry-After`. */
  check(identity: AttemptIdentity): Promise<ThrottleStatus>
  /** Counts an attempt as failed. Throws `rate_limited` with `Retry-After`. */
  begin(identity: AttemptIdentity): Promise<PasswordAttempt>
  /**
   * Clears the counters of account and client, and removes the attempt from the address's. `work`
   * runs in the same transaction.
   */
  recordSuccess(attempt: PasswordAttempt, work?: (tx: Tx) => Promise<void>): Promise<void>
  /** Removes an attempt whose password was not verified. */
  withdraw(attempt: PasswordAttempt): Promise<void>
}

export interface ThrottleDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** Called in the transaction that stores the report. */
  readonly report: (tx: Tx, report: ThrottleReport) => Promise<void>
}

interface Counter {
  readonly name: string
  /** Its names under keys from before a rotation of the master secret, which also count. */
  readonly olderNames?: readonly string[]
  readonly kind: CounterKind
  readonly limit: number
}

interface CounterRow extends Row {
  readonly attempts: string
  readonly told_until: number
}

const selectCounter = prepareStatement(
  'SELECT attempts, told_until FROM gh_throttle WHERE subject = ?',
)
/** Locks the counter until the transaction ends. */
const lockCounter = prepareStatement(
  `INSERT INTO gh_throttle (subject, expires_at) VALUES (?, ?)
   ON CONFLICT (subject) DO UPDATE SET expires_at = excluded.expires_at
   RETURNING attempts, told_until`,
)
const updateAttempts = prepareStatement('UPDATE gh_throttle SET attempts = ? WHERE subject = ?')
const updateReport = prepareStatement('UPDATE gh_throttle SET told_until = ? WHERE subject = ?')
const deleteCounter = prepareStatement('DELETE FROM gh_throttle WHERE subject = ?')

/** Whether a counted instant is in the window. One of a clock that was ahead counts no more. */
export const isInWindow = (at: number, now: number, windowMs: number): boolean =>
  Math.abs(now - at) < windowMs

const recentAttempts = (row: CounterRow | undefined, now: number): number[] =>
  (JSON.parse(row?.attempts ?? '[]') as number[]).filter((at) => isInWindow(at, now, WINDOW_MS))

/** Returns the milliseconds until the next attempt is allowed. */
const waitMsOf = (attempts: readonly number[], limit: number, now: number): number =>
  attempts.length < limit ? 0 : attempts[attempts.length - limit]! + WINDOW_MS - now

const createReport = (
  { realm, namespace, username, address, requestId }: AttemptIdentity,
  { kind }: Counter,
  waitMs: number,
): ThrottleReport => ({
  realm,
  namespace,
  username,
  address,
  requestId,
  limit: kind,
  retryAfterS: retryAfterS(waitMs),
})

/** Returns the 429 `rate_limited` of too many failed passwords. */
export const tooManyFailures = (retryAfterS: number): Failure =>
  new Failure('rate_limited', 'Too many failed attempts. Wait, then retry.', {
    headers: { 'retry-after': String(retryAfterS) },
  })

/** Returns the attempts of a counter and of its older names, oldest first. */
async function withOlderAttempts(
  reader: Reader,
  { olderNames = [] }: Counter,
  attempts: readonly number[],
  now: number,
): Promise<readonly number[]> {
  if (olderNames.length === 0) return attempts
  const allAttempts = [...attempts]
  for (const name of olderNames) {
    const row = await reader.get<CounterRow>(selectCounter([name]))
    allAttempts.push(...recentAttempts(row, now))
  }
  return allAttempts.sort((a, b) => a - b)
}

/** Counts an attempt; returns the report of a limit that rejects it. */
const countAttempt = (
  { db, report }: ThrottleDeps,
  identity: AttemptIdentity,
  counters: readonly Counter[],
  now: number,
): Promise<ThrottleReport | undefined> =>
  db.write(async (tx) => {
    const attemptsOf: number[][] = []
    for (const counter of counters) {
      const row = (await tx.get<CounterRow>(lockCounter([counter.name, now + WINDOW_MS])))!
      const attempts = recentAttempts(row, now)
      const allAttempts = await withOlderAttempts(tx, counter, attempts, now)
      const waitMs = waitMsOf(allAttempts, counter.limit, now)
      if (waitMs > 0) {
        const limitReport = createReport(identity, counter, waitMs)
        if (row.told_until <= now) await report(tx, limitReport)
        await tx.run(updateReport([now + waitMs, counter.name]))
        return limitReport
      }
      attemptsOf.push(attempts)
    }
    for (const [index, { name }] of counters.entries()) {
      const attempts = [...attemptsOf[index]!, now].slice(-MAX_ATTEMPTS)
      await tx.run(updateAttempts([JSON.stringify(attempts), name]))
    }
    return undefined
  })

async function removeAttempt(tx: Tx, { name }: Counter, at: number, now: number): Promise<void> {
  const row = await tx.get<CounterRow>(lockCounter([name, now + WINDOW_MS]))
  const attempts = recentAttempts(row, now)
  const index = attempts.indexOf(at)
  if (index >= 0) attempts.splice(index, 1)
  await tx.run(updateAttempts([JSON.stringify(attempts), name]))
}

/** Returns the counters of an attempt, in the order in which every transaction locks them. */
function countersOf(vault: Vault, identity: AttemptIdentity): readonly Counter[] {
  const { realm, namespace, username, address, clientKey } = identity
  // Users type passwords into the name field by mistake, so names are stored as keyed hashes.
  const name = JSON.stringify([namespace.key, username])
  const hashName = (key: KeyObject) =>
    `${realm}:${createHmac('sha256', key).update(name).digest('base64url')}`
  const [counterName, ...olderNames] = vault.macKeys(THROTTLE_PURPOSE).accepted.map(hashName)
  const isRecognized = clientKey !== undefined
  const accountLimit = isRecognized ? Infinity : LIMITS.account
  const addressLimit = isRecognized ? Infinity : LIMITS.address
  const counters: Counter[] = [
    { name: counterName!, olderNames, kind: 'account', limit: accountLimit },
    { name: `address:${addressBlock(address)}`, kind: 'address', limit: addressLimit },
  ]
  if (isRecognized) {
    const limit = realm === 'person' ? Infinity : LIMITS.client
    counters.push({ name: `client:${clientKey}`, kind: 'client', limit })
  }
  return counters
}

/** Reads the counters; a rejection that is stored already costs no write. */
async function readCounters(
  reader: Reader,
  identity: AttemptIdentity,
  counters: readonly Counter[],
  now: number,
) {
  let report: ThrottleReport | undefined
  let isReported = false
  let failures = 0
  let isExhausted = false
  for (const counter of counters) {
    const row = await reader.get<CounterRow>(selectCounter([counter.name]))
    const attempts = await withOlderAttempts(reader, counter, recentAttempts(row, now), now)
    const waitMs = waitMsOf(attempts, counter.limit, now)
    if (waitMs > 0 && !report) {
      report = createReport(identity, counter, waitMs)
      isReported = row !== undefined && row.told_until > now
    }
    if (counter.kind === 'client') isExhausted = attempts.length >= LIMITS.client
    else failures += attempts.length
  }
  return { report, isReported, status: { failures, isExhausted } }
}

export function createThrottle(deps: ThrottleDeps): Throttle {
  const { db, clock, vault } = deps
  const begin = async (identity: AttemptIdentity): Promise<PasswordAttempt> => {
    const at = clock.now()
    const counters = countersOf(vault, identity)
    const report = await countAttempt(deps, identity, counters, at)
    if (report) throw tooManyFailures(report.retryAfterS)
    return { counters, at }
  }
  const withdraw = ({ counters, at }: PasswordAttempt): Promise<void> =>
    db.write(async (tx) => {
      for (const counter of counters) await removeAttempt(tx, counter, at, clock.now())
    })
  return {
    begin,
    withdraw,
    async check(identity) {
      const now = clock.now()
      const counters = countersOf(vault, identity)
      const { report, isReported, status } = await readCounters(db, identity, counters, now)
      if (!report) return status
      if (isReported) throw tooManyFailures(report.retryAfterS)
      // Stores the report; the window may have moved meanwhile.
      await withdraw(await begin(identity))
      return status
    },
    async recordSuccess({ counters, at }, work) {
      await db.write(async (tx) => {
        for (const counter of counters) {
          if (counter.kind === 'address') {
            await removeAttempt(tx, counter, at, clock.now())
            continue
          }
          for (const name of [counter.name, ...(counter.olderNames ?? [])]) {
            await tx.run(deleteCounter([name]))
          }
        }
        await work?.(tx)
      })
    },
  }
}
