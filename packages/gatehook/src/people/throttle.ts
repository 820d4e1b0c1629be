/**
 * How many failed password attempts an account and an address have (§3.8). Each attempt is written
 * down before the password is looked at, in one transaction that waits for its neighbours: however
 * many come at once, on however many nodes, no more than the limit are ever judged.
 */
import { createHmac } from 'node:crypto'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Reader, Row, Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'

export const WINDOW_MS = 5 * 60_000
const LIMITS = { account: 10, address: 100 } as const

export interface Who {
  /** Of people, or of operators: the same name may be both. */
  readonly realm: 'person' | 'operator'
  /** Folded. */
  readonly username: string
  readonly address: string
}

/** What was refused, told once until it is allowed again. */
export interface Refusal extends Who {
  readonly by: keyof typeof LIMITS
  readonly retryAfterS: number
}

/** An attempt that counts as failed until something better is known of it. */
export interface Attempt {
  readonly subjects: readonly string[]
  readonly at: number
}

export interface Throttle {
  /** Throws `rate_limited` with `Retry-After`. */
  begin(who: Who): Promise<Attempt>
  /** The password was right: the account's count is cleared, the address's loses this attempt. */
  succeeded(attempt: Attempt): Promise<void>
  /** The password was never looked at. */
  withdrawn(attempt: Attempt): Promise<void>
}

export interface ThrottleDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** In the transaction that notes the refusal. */
  readonly tell: (tx: Tx, refusal: Refusal) => Promise<void>
}

interface Count extends Row {
  readonly attempts: string
  readonly told_until: number
}

const find = fixed('SELECT attempts, told_until FROM gh_throttle WHERE subject = ?')
/** Whoever comes next for the same subject waits here until this transaction is done. */
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

const counting = (row: Count | undefined, now: number): number[] =>
  (JSON.parse(row?.attempts ?? '[]') as number[]).filter((at) => at > now - WINDOW_MS)

/** Until one more is allowed; 0: it is now. */
const waitMs = (attempts: readonly number[], limit: number, now: number): number =>
  attempts.length < limit ? 0 : attempts[attempts.length - limit]! + WINDOW_MS - now

const limits = [LIMITS.account, LIMITS.address]

const refusalOf = (who: Who, at: number, wait: number): Refusal => ({
  ...who,
  by: at === 0 ? 'account' : 'address',
  retryAfterS: Math.max(1, Math.ceil(wait / 1000)),
})

/** What has been told already costs no write, however often it is tried. */
async function refusedAlready(
  reader: Reader,
  who: Who,
  subjects: readonly string[],
  now: number,
): Promise<Refusal | undefined> {
  for (const [at, subject] of subjects.entries()) {
    const row = await reader.get<Count>(find([subject]))
    const wait = waitMs(counting(row, now), limits[at]!, now)
    if (wait > 0 && row!.told_until > now) return refusalOf(who, at, wait)
  }
  return undefined
}

/** Writes the attempt down, or what refuses it. */
const counted = (
  { db, tell }: ThrottleDeps,
  who: Who,
  subjects: readonly string[],
  now: number,
): Promise<Refusal | undefined> =>
  db.write(async (tx) => {
    const rows: number[][] = []
    for (const [at, subject] of subjects.entries()) {
      const row = (await tx.get<Count>(take([subject, now + WINDOW_MS])))!
      const attempts = counting(row, now)
      const wait = waitMs(attempts, limits[at]!, now)
      if (wait > 0) {
        const refusal = refusalOf(who, at, wait)
        if (row.told_until <= now) await tell(tx, refusal)
        await tx.run(told([now + wait, subject]))
        return refusal
      }
      rows.push(attempts)
    }
    for (const [at, subject] of subjects.entries()) {
      await tx.run(put([JSON.stringify([...rows[at]!, now]), subject]))
    }
    return undefined
  })

async function takenBack(tx: Tx, subject: string, at: number, now: number): Promise<void> {
  const attempts = counting(await tx.get<Count>(take([subject, now + WINDOW_MS])), now)
  const place = attempts.indexOf(at)
  if (place >= 0) attempts.splice(place, 1)
  await tx.run(put([JSON.stringify(attempts), subject]))
}

export function createThrottle(deps: ThrottleDeps): Throttle {
  const { db, clock, vault } = deps
  const key = vault.key('throttle')
  // What is typed for a name may be a password by mistake: it is not kept in the clear. The account
  // stands before the address everywhere, or two attempts could wait for each other.
  const subjectsOf = ({ realm, username, address }: Who) => [
    `${realm}:${createHmac('sha256', key).update(username).digest('base64url')}`,
    `address:${address}`,
  ]
  return {
    async begin(who) {
      const at = clock.now()
      const subjects = subjectsOf(who)
      const refusal =
        (await refusedAlready(db, who, subjects, at)) ?? (await counted(deps, who, subjects, at))
      if (refusal) {
        throw new Failure('rate_limited', 'Too many failed attempts. Wait and try again.', {
          headers: { 'retry-after': String(refusal.retryAfterS) },
        })
      }
      return { subjects, at }
    },
    async succeeded({ subjects: [account, address], at }) {
      await db.write(async (tx) => {
        await tx.run(clear([account]))
        await takenBack(tx, address!, at, clock.now())
      })
    },
    async withdrawn({ subjects, at }) {
      await db.write(async (tx) => {
        for (const subject of subjects) await takenBack(tx, subject, at, clock.now())
      })
    },
  }
}
