/**
 * An operator's change of a version's calendar (§8.5, §13): validates it, checks the notice that
 * callers are owed, and stores it with its audit record. HTTP, CLI and console share it.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditSigner, recordAudit } from '../../history/audit/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Random } from '../../kernel/random.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import {
  type Calendar,
  type CalendarOverrides,
  calendarMistakes,
  forceReason,
  SUPPORTED_MAX,
  stateAt,
} from './calendar.ts'
import { calendarMembers } from './calendar-body.ts'
import { insertVersion, lockCalendar, updateCalendarRow } from './store.ts'
import type { VersionStatus, VersionStatuses } from './version-statuses.ts'

const day = b.text().describe('The day of its release.').example('2026-06-01')
const url = b.text({ format: 'uri' }).nullable().example('https://example.com/versions/v3')

/** A version in the JSON of `/admin/versions`. Instants are ISO 8601. */
export const apiVersion = b
  .object({
    version: b.text().describe('The name of the version.').example('v2'),
    state: b.oneOf(['supported', 'deprecated', 'retired']).describe('Its state today.'),
    released: day,
    deprecated_at: b.time().nullable().describe('From then on, responses announce its end.'),
    sunset_at: b.time().nullable().describe('From then on, requests get 410.'),
    successor: b.text().nullable().describe('The version to move to.').example('v3'),
    migration_guide: url.describe('The migration guide.'),
    sunset_link: url.describe('A page about the sunset.'),
    brownouts: b
      .list(b.object({ start: b.time().describe('Begins.'), end: b.time().describe('Ends.') }))
      .describe('Announced windows in which the version is not served.'),
  })
  .named('ApiVersion')
  .columns({
    version: {},
    state: {
      states: [['state', { supported: ['ok'], deprecated: ['warn'], retired: ['bad'] }]],
    },
    released: {},
    deprecated_at: {},
    sunset_at: {},
    successor: {},
    migration_guide: { title: 'guide', isWide: true },
  })

export type VersionRepresentation = JsonOf<typeof apiVersion>

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

export const representVersion = (status: VersionStatus): VersionRepresentation => {
  const { version, state, released, calendar } = status
  return {
    version,
    state,
    released,
    deprecated_at: isoOrNull(calendar.deprecated_at),
    sunset_at: isoOrNull(calendar.sunset_at),
    successor: calendar.successor,
    migration_guide: calendar.migration_guide,
    sunset_link: calendar.sunset_link,
    brownouts: calendar.brownouts.map(({ start, end }) => ({
      start: isoTime(start),
      end: isoTime(end),
    })),
  }
}

/** The body of a change. `force` shortens the notice that callers are owed. */
export const calendarUpdate = {
  ...calendarMembers,
  force: b.bool().optional().describe('Shortens the notice that callers are owed.').example(false),
}

type CalendarChange = ValuesOf<typeof calendarUpdate>

export interface CalendarUpdateDeps {
  readonly db: Pick<Database, 'write'>
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly statuses: VersionStatuses
}

/**
 * Changes the calendar of a version. Omitted members stay as they are; `null` removes an
 * announcement. A sunset of a supported version also deprecates it.
 *
 * Throws 404 `not_found` and 422 `validation_failed`. Without `force` it also throws 422
 * `notice_too_short`, and `validation_failed` if no version would be served.
 */
export async function updateCalendar(
  { db, statuses, ...sources }: CalendarUpdateDeps,
  version: string,
  { force, ...body }: CalendarChange,
  actor: Actor,
): Promise<VersionRepresentation> {
  if (!statuses.versions.includes(version)) throw new Failure('not_found')
  await db.write(async (tx) => {
    const now = sources.clock.now()
    await insertVersion(tx, version)
    const storedCalendar = await lockCalendar(tx, version)
    const before = { ...statuses.declaredCalendar(version), ...storedCalendar.overrides }
    const changes = changesOf(body, before, now)
    const after: Calendar = { ...before, ...changes }
    const update: CalendarUpdate = { statuses, version, before, after, now }
    validateUpdate(update)
    if (!force) {
      requireServedVersion(update)
      const reason = forceReason(before, after, now)
      if (reason !== undefined) throw noticeTooShort(reason, Object.hasOwn(changes, 'sunset_at'))
    }
    const overrides: CalendarOverrides = { ...storedCalendar.overrides, ...changes }
    const next = { version, overrides, revision: storedCalendar.revision + 1 }
    await updateCalendarRow(tx, next)
    const detail = { ...auditDetail(changes), ...(force && { force }) }
    await recordAudit(tx, { actor, action: 'version.update', target: version, detail }, sources)
    tx.afterCommit(() => statuses.applyOverrides(version, overrides, next.revision))
  })
  return representVersion(statuses.statusOf(version)!)
}

const auditDetail = (changes: CalendarOverrides): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [
      name,
      typeof value === 'number' ? isoTime(value) : value,
    ]),
  )

type CalendarBody = { readonly [K in keyof Calendar]?: Calendar[K] | null | undefined }

/** Returns the sent members, and the deprecation that a sunset requires. */
function changesOf(body: CalendarBody, before: Calendar, now: number): CalendarOverrides {
  const sent = Object.entries(body).filter(([, value]) => value !== undefined)
  const changes: Partial<Record<keyof Calendar, unknown>> = Object.fromEntries(sent)
  if (changes.brownouts === null) changes.brownouts = []
  const sunset = body.sunset_at
  if (sunset != null && body.deprecated_at === undefined) {
    const isLate = before.deprecated_at === null || before.deprecated_at > sunset
    if (isLate) changes.deprecated_at = Math.min(now, sunset)
  }
  return changes as CalendarOverrides
}

interface CalendarUpdate {
  readonly statuses: VersionStatuses
  readonly version: string
  readonly before: Calendar
  readonly after: Calendar
  readonly now: number
}

function validateUpdate({ statuses, version, before, after, now }: CalendarUpdate): void {
  const mistakes = calendarMistakes(after, version)
  if (after.successor !== null && !statuses.versions.includes(after.successor)) {
    const message = `must be one of ${statuses.versions.join(', ')}`
    mistakes.push({ pointer: '/successor', message })
  }
  // A declaration may support more versions; an update must not add one.
  if (stateAt(after, now) === 'supported' && stateAt(before, now) !== 'supported') {
    const others = statuses.versions.filter(
      (other) => other !== version && statuses.statusOf(other)!.state === 'supported',
    )
    if (others.length >= SUPPORTED_MAX) {
      const message = `at most ${SUPPORTED_MAX} majors are supported: ${others.join(' and ')} are`
      mistakes.push({ pointer: '/deprecated_at', message })
    }
  }
  if (mistakes.length === 0) return
  throw invalidMembers(mistakes.map((mistake) => ({ ...mistake, code: 'invalid_value' as const })))
}

/** Without a served version, every request of the API would get 410. */
function requireServedVersion({ statuses, version, before, after, now }: CalendarUpdate): void {
  if (stateAt(before, now) === 'retired' || stateAt(after, now) !== 'retired') return
  const isServed = (other: string) =>
    other !== version && statuses.statusOf(other)!.state !== 'retired'
  if (statuses.versions.some(isServed)) return
  const message = `would retire ${version}, the last version that is served; force: true does it`
  throw invalidMembers([{ pointer: '/sunset_at', code: 'invalid_value', message }])
}

function noticeTooShort(reason: string, hasSunset: boolean): Failure {
  const pointer = hasSunset ? '/sunset_at' : '/deprecated_at'
  return new Failure('notice_too_short', `${reason} Send force: true to override this.`, {
    errors: [{ pointer, code: 'notice_too_short', message: reason }],
  })
}
