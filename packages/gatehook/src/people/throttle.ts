/**
 * Counts failed passwords (§3.8): 10 per account and 100 per address in a sliding 5 minutes. A
 * client that is known for the account has a count of its own instead, so that others cannot
 * lock it out.
 *
 * `check` rejects before the password waits for a thread, and counts nothing. `begin` counts the
 * attempt as failed just before it is hashed, in one transaction that waits for its neighbours: no
 * number of concurrent attempts, on any number of nodes, gets more than the limit hashed.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { addressBlock } from '../kernel/address.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Reader, Row, Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'

/** The keys of names. */
export const THROTTLE_PURPOSE = 'throttle'

export const WINDOW_MS = 5 * 60_000
const LIMITS = { account: 10, address: 100, client: 10 } as const
/** Instants stored for a subject whose limit does not apply; the oldest leave. */
const STORED_MAX = 200

export interface Who {
  /** Of people, or of operators: the same name may be both. */
  readonly realm: 'person' | 'operator'
  /** Folded. */
  readonly username: string
  readonly address: string
  /** `Acquaintance.known`. */
  readonly known?: string | undefined
}

/** A limit that was reached; reported once until the next attempt is allowed. */
export interface Refusal extends Omit<Who, 'known'> {
  readonly by: keyof typeof LIMITS
  readonly retryAfterS: number
}

/** An attempt that counts as failed unless it is reported as succeeded or withdrawn. */
export interface Attempt {
  readonly subjects: readonly Subject[]
  readonly at: number
}

/** What the counts say before an attempt. */
export interface Standing {
  /** Recent failures of the account and of the address together. */
  readonly failures: number
  /** A person's known client used up its own count: it may go on, slowly (`sign-in.ts`). */
  readonly isExhausted: boolean
}

export interface Throttle {
  /** Throws `rate_limited` with `Retry-After`. */
  check(who: Who): Promise<Standing>
  /** Throws `rate_limited` with `Retry-After`. */
  begin(who: Who): Promise<Attempt>
  /**
   * The password was right: the counts of account and client are cleared, the address's loses this
   * attempt. `also` runs in the same transaction.
   */
  succeeded(attempt: Attempt, also?: (tx: Tx) => Promise<void>): Promise<void>
  /** The password was not verified. */
  withdrawn(attempt: Attempt): Promise<void>
}

export interface ThrottleDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** In the transaction that stores the refusal. */
  readonly tell: (tx: Tx, refusal: Refusal) => Promise<void>
}

interface Subject {
  readonly name: string
  /** Its names under keys of before a rotation of the master secret: they count, too. */
  readonly older?: readonly string[]
  readonly by: keyof typeof LIMITS
  readonly limit: number
}

interface Count extends Row {
  readonly attempts: string
  readonly told_until: number
}

const find = fixed('SELECT attempts, told_until FROM gh_throttle WHERE subject = ?')
/** The next transaction for the same subject waits here until this one ends. */
const take = fixed(
  `INSERT INTO gh_throttle (subject, expires_at) VALUES (?, ?)
   ON CONFLICT (subject) DO UPDATE SET expires_at = excluded.expires_at
   RETURNING attempts, told_until`,
)
const put = fixed('UPDATE gh_throttle SET attempts = ? WHERE subject = ?')
const told = fixed('UPDATE gh_throttle SET told_until = ? WHERE subject = ?')
const clear = fixed('DELETE FROM gh_throttle WHERE subject = ?')
const purge = fixed('DELETE FROM gh_throttle WHERE expires_at <= ?')

export const purgeThrottle = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) => tx.run(purge([nowMs])))

const recent = (row: Count | undefined, now: number): number[] =>
  (JSON.parse(row?.attempts ?? '[]') as number[]).filter((at) => at > now - WINDOW_MS)

/** Milliseconds until one more is allowed; 0: now. */
const waitMs = (attempts: readonly number[], limit: number, now: number): number =>
  attempts.length < limit ? 0 : attempts[attempts.length - limit]! + WINDOW_MS - now

const refusalOf = ({ known: _, ...who }: Who, { by }: Subject, wait: number): Refusal => ({
  ...who,
  by,
  retryAfterS: Math.max(1, Math.ceil(wait / 1000)),
})

const rejected = ({ retryAfterS }: Refusal): Failure => tooManyFailures(retryAfterS)

export const tooManyFailures = (retryAfterS: number): Failure =>
  new Failure('rate_limited', 'Too many failed attempts. Wait and try again.', {
    headers: { 'retry-after': String(retryAfterS) },
  })

/** The attempts of a subject, oldest first: its own, and those under its older names. */
async function allAttempts(
  reader: Reader,
  { older = [] }: Subject,
  own: readonly number[],
  now: number,
): Promise<readonly number[]> {
  if (older.length === 0) return own
  const attempts = [...own]
  for (const name of older) attempts.push(...recent(await reader.get<Count>(find([name])), now))
  return attempts.sort((a, b) => a - b)
}

/** Counts the attempt, or gives what refuses it. */
const count = (
  { db, tell }: ThrottleDeps,
  who: Who,
  subjects: readonly Subject[],
  now: number,
): Promise<Refusal | undefined> =>
  db.write(async (tx) => {
    const rows: number[][] = []
    for (const subject of subjects) {
      const row = (await tx.get<Count>(take([subject.name, now + WINDOW_MS])))!
      const attempts = recent(row, now)
      const all = await allAttempts(tx, subject, attempts, now)
      const wait = waitMs(all, subject.limit, now)
      if (wait > 0) {
        const refusal = refusalOf(who, subject, wait)
        if (row.told_until <= now) await tell(tx, refusal)
        await tx.run(told([now + wait, subject.name]))
        return refusal
      }
      rows.push(attempts)
    }
    for (const [index, { name }] of subjects.entries()) {
      await tx.run(put([JSON.stringify([...rows[index]!, now].slice(-STORED_MAX)), name]))
    }
    return undefined
  })

async function takeBack(tx: Tx, { name }: Subject, at: number, now: number): Promise<void> {
  const attempts = recent(await tx.get<Count>(take([name, now + WINDOW_MS])), now)
  const place = attempts.indexOf(at)
  if (place >= 0) attempts.splice(place, 1)
  await tx.run(put([JSON.stringify(attempts), name]))
}

/** What is counted, in the order in which every transaction takes the rows. */
function subjectsOf(vault: Vault, { realm, username, address, known }: Who): readonly Subject[] {
  // What is typed as a name may be a password by mistake: it is not stored in the clear.
  const nameUnder = (key: KeyObject) =>
    `${realm}:${createHmac('sha256', key).update(username).digest('base64url')}`
  const [name, ...older] = vault.macKeys(THROTTLE_PURPOSE).accepted.map(nameUnder)
  const ofOthers = (by: 'account' | 'address') => (known === undefined ? LIMITS[by] : Infinity)
  const ofAccount = { name: name!, older, limit: ofOthers('account') }
  const account = { ...ofAccount, by: 'account' } as const
  const block = `address:${addressBlock(address)}`
  const place = { name: block, by: 'address', limit: ofOthers('address') } as const
  if (known === undefined) return [account, place]
  const limit = realm === 'person' ? Infinity : LIMITS.client
  return [account, place, { name: `client:${known}`, by: 'client', limit }]
}

/** Reads the counts; a refusal that is stored already costs no write, however often it is tried. */
async function read(reader: Reader, who: Who, subjects: readonly Subject[], now: number) {
  let refusal: Refusal | undefined
  let isReported = false
  let failures = 0
  let isExhausted = false
  for (const subject of subjects) {
    const row = await reader.get<Count>(find([subject.name]))
    const attempts = await allAttempts(reader, subject, recent(row, now), now)
    const wait = waitMs(attempts, subject.limit, now)
    if (wait > 0 && !refusal) {
      refusal = refusalOf(who, subject, wait)
      isReported = row !== undefined && row.told_until > now
    }
    if (subject.by === 'client') isExhausted = attempts.length >= LIMITS.client
    else failures += attempts.length
  }
  return { refusal, isReported, failures, isExhausted }
}

export function createThrottle(deps: ThrottleDeps): Throttle {
  const { db, clock, vault } = deps
  const begin = async (who: Who): Promise<Attempt> => {
    const at = clock.now()
    const subjects = subjectsOf(vault, who)
    const refusal = await count(deps, who, subjects, at)
    if (refusal) throw rejected(refusal)
    return { subjects, at }
  }
  const withdrawn = ({ subjects, at }: Attempt): Promise<void> =>
    db.write(async (tx) => {
      for (const subject of subjects) await takeBack(tx, subject, at, clock.now())
    })
  return {
    begin,
    withdrawn,
    async check(who) {
      const now = clock.now()
      const subjects = subjectsOf(vault, who)
      const { refusal, isReported, ...standing } = await read(db, who, subjects, now)
      if (!refusal) return standing
      if (isReported) throw rejected(refusal)
      // Stores the refusal; the window may have moved meanwhile.
      await withdrawn(await begin(who))
      return standing
    },
    async succeeded({ subjects, at }, also) {
      await db.write(async (tx) => {
        for (const subject of subjects) {
          if (subject.by === 'address') await takeBack(tx, subject, at, clock.now())
          else
            for (const name of [subject.name, ...(subject.older ?? [])]) await tx.run(clear([name]))
        }
        await also?.(tx)
      })
    },
  }
}
