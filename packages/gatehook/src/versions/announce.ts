/**
 * What operators say about a version (§8.5, §13): read strictly, judged against the notice callers
 * are owed, stored with its line in the audit trail. The same act for HTTP, CLI and console.
 */
import { type Actor, type AuditSigner, recordAudit } from '../audit/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { bool, invalidMembers, optional, readMembers } from '../kernel/members.ts'
import type { Random } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import type { Database } from '../storage/database.ts'
import { calendarMembers } from './announcement.ts'
import type { Board, Standing } from './board.ts'
import {
  type Calendar,
  contradictions,
  type Overrides,
  SUPPORTED_MAX,
  shortNotice,
  stateAt,
} from './calendar.ts'
import { insertVersion, lockAnnounced, writeAnnounced } from './store.ts'

/** A version as `/admin/versions` shows it. Instants are ISO 8601. */
export interface ShownVersion {
  readonly version: string
  readonly state: Standing['state']
  readonly released: string
  readonly deprecated_at: string | null
  readonly sunset_at: string | null
  readonly successor: string | null
  readonly migration_guide: string | null
  readonly sunset_link: string | null
  readonly brownouts: readonly { readonly start: string; readonly end: string }[]
}

const iso = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

export const shownVersion = ({ version, state, released, calendar }: Standing): ShownVersion => ({
  version,
  state,
  released,
  deprecated_at: iso(calendar.deprecated_at),
  sunset_at: iso(calendar.sunset_at),
  successor: calendar.successor,
  migration_guide: calendar.migration_guide,
  sunset_link: calendar.sunset_link,
  brownouts: calendar.brownouts.map(({ start, end }) => ({
    start: isoTime(start),
    end: isoTime(end),
  })),
})

const members = { ...calendarMembers, force: optional(bool) }

export interface AnnounceDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly board: Board
}

/**
 * Changes what is announced of a version by the members of §13; those left out stay as they are,
 * `null` takes one back. A sunset of a version nobody called deprecated deprecates it now. Throws
 * 404, 422 `validation_failed`; without `force` 422 `notice_too_short`, and `validation_failed` for
 * the end of the last version that is served.
 */
export async function announce(
  { db, board, ...sources }: AnnounceDeps,
  version: string,
  input: unknown,
  actor: Actor,
): Promise<ShownVersion> {
  if (!board.versions.includes(version)) throw new Failure('not_found')
  const { force, ...wish } = readMembers(input, members)
  await db.write(async (tx) => {
    const now = sources.clock.now()
    await insertVersion(tx, version)
    const stored = await lockAnnounced(tx, version)
    const before = { ...board.declared(version), ...stored.overrides }
    const change = changeOf(wish, before, now)
    const after: Calendar = { ...before, ...change }
    const turn = { board, version, before, after, now }
    judge(turn)
    if (!force) refuseLast(turn)
    const short = shortNotice(before, after, now)
    if (short !== undefined && !force) throw tooShort(short, Object.hasOwn(change, 'sunset_at'))
    const overrides: Overrides = { ...stored.overrides, ...change }
    const next = { version, overrides, revision: stored.revision + 1 }
    await writeAnnounced(tx, next)
    const detail = { ...told(change), ...(force && { force }) }
    await recordAudit(tx, { actor, action: 'version.update', target: version, detail }, sources)
    tx.afterCommit(() => board.apply(version, overrides, next.revision))
  })
  return shownVersion(board.standing(version)!)
}

/** For the audit trail, which people read. */
const told = (change: Overrides): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(change).map(([name, value]) => [
      name,
      typeof value === 'number' ? isoTime(value) : value,
    ]),
  )

type Wish = { readonly [K in keyof Calendar]?: Calendar[K] | null | undefined }

/** The members that were sent, and the deprecation a sunset cannot be without. */
function changeOf(wish: Wish, before: Calendar, now: number): Overrides {
  const sent = Object.entries(wish).filter(([, value]) => value !== undefined)
  const change: Partial<Record<keyof Calendar, unknown>> = Object.fromEntries(sent)
  if (change.brownouts === null) change.brownouts = []
  const sunset = wish.sunset_at
  if (sunset != null && wish.deprecated_at === undefined) {
    const late = before.deprecated_at === null || before.deprecated_at > sunset
    if (late) change.deprecated_at = Math.min(now, sunset)
  }
  return change as Overrides
}

/** A version's calendar before a change and after it. */
interface Turn {
  readonly board: Board
  readonly version: string
  readonly before: Calendar
  readonly after: Calendar
  readonly now: number
}

function judge({ board, version, before, after, now }: Turn): void {
  const wrong = contradictions(after, version)
  if (after.successor !== null && !board.versions.includes(after.successor)) {
    wrong.push({ pointer: '/successor', message: `must be one of ${board.versions.join(', ')}` })
  }
  // Only what this change brings about: a service may be declared with more.
  if (stateAt(after, now) === 'supported' && stateAt(before, now) !== 'supported') {
    const others = board.versions.filter(
      (one) => one !== version && board.standing(one)!.state === 'supported',
    )
    if (others.length >= SUPPORTED_MAX) {
      const message = `at most ${SUPPORTED_MAX} majors are supported: ${others.join(' and ')} are`
      wrong.push({ pointer: '/deprecated_at', message })
    }
  }
  if (wrong.length === 0) return
  throw invalidMembers(wrong.map((one) => ({ ...one, code: 'invalid_value' })))
}

/** Without any version that is served, every call of the API would be answered with 410. */
function refuseLast({ board, version, before, after, now }: Turn): void {
  if (stateAt(before, now) === 'retired' || stateAt(after, now) !== 'retired') return
  const served = (one: string) => one !== version && board.standing(one)!.state !== 'retired'
  if (board.versions.some(served)) return
  const message = `would retire ${version}, the last version that is served; force: true does it`
  throw invalidMembers([{ pointer: '/sunset_at', code: 'invalid_value', message }])
}

function tooShort(why: string, sunset: boolean): Failure {
  const pointer = sunset ? '/sunset_at' : '/deprecated_at'
  return new Failure('notice_too_short', `${why} Send force: true to do it nevertheless.`, {
    errors: [{ pointer, code: 'notice_too_short', message: why }],
  })
}
