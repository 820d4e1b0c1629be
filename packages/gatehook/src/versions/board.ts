/**
 * Where each version stands at this moment. What was declared and what was announced since meet
 * here; everything answers need is made once per change, so that a request costs one look-up and
 * one look at the clock.
 */
import type { Warning } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import {
  type Brownout,
  brownoutAt,
  type Calendar,
  NOTHING_ANNOUNCED,
  type Overrides,
  type Span,
  type State,
  spanAround,
  stateAt,
  type VersionDefinition,
} from './calendar.ts'
import type { VersionChange } from './change.ts'
import { type Announcement, deprecationWarning, retirementBody, signalHeaders } from './signals.ts'

export interface Standing extends Announcement {
  readonly released: string
  readonly state: State
  readonly brownout: Brownout | undefined
  /** Whether calls are answered with 410 now: retired, or in a brownout. */
  readonly gone: boolean
  /** Undefined while the version is supported. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The warning for a route's template: `/api/things/:id`. */
  readonly warning: (route: string) => Warning
  /** JSON text of the 410; '' while the version is not retired. */
  readonly retirement: string
}

export interface Board {
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  standing(version: string): Standing | undefined
  /** The oldest version that is not retired; where all are, the newest (§8.4). */
  oldest(): string
  /** The version itself, or, once it is retired, the first of its successors that is not. */
  living(version: string): string
  /** The calendar as declared, without what was announced since. */
  declared(version: string): Calendar
  /** Takes over what the database says; an older revision than the known one is ignored. */
  apply(version: string, overrides: Overrides, revision: number): void
}

export interface BoardDeps {
  readonly clock: Clock
  readonly definitions: readonly VersionDefinition[]
  readonly changes: readonly VersionChange[]
  readonly publicUrl: () => string
}

/** One version's place. `standing` is made anew when its span ends or its base changes. */
interface Place extends Span {
  readonly released: string
  readonly declared: Calendar
  calendar: Calendar
  revision: number
  standing: Standing
}

/** A route's collection: `/api/things/:id` → `things`. */
const COLLECTION = /^\/api\/([^/]+)/

export function createBoard(deps: BoardDeps): Board {
  const { clock, definitions, publicUrl } = deps
  const versions = definitions.map(({ name }) => name)
  const places = new Map<string, Place>()
  const stand = standingOf(deps, versions)

  const renew = (version: string, place: Place): Standing => {
    Object.assign(place, spanAround(place.calendar, clock.now()))
    place.standing = stand(version, place)
    return place.standing
  }

  const standing = (version: string): Standing | undefined => {
    const place = places.get(version)
    if (place === undefined) return undefined
    const now = clock.now()
    const current = now >= place.fromMs && now < place.untilMs
    if (current && place.standing.base === publicUrl()) return place.standing
    return renew(version, place)
  }

  for (const { name, released, ...announced } of definitions) {
    const declared: Calendar = { ...NOTHING_ANNOUNCED, ...announced }
    const place = { released, declared, calendar: declared, revision: 0 }
    const made = { ...place, ...spanAround(declared, clock.now()) }
    places.set(name, { ...made, standing: stand(name, place) })
  }

  return {
    versions,
    standing,
    oldest: () => versions.find((one) => standing(one)!.state !== 'retired') ?? versions.at(-1)!,
    living(version) {
      let name = version
      for (let hops = 0; hops < versions.length; hops++) {
        const { state, calendar } = standing(name) ?? {}
        if (state !== 'retired' || calendar?.successor == null) break
        name = calendar.successor
      }
      return name
    },
    declared: (version) => places.get(version)!.declared,
    apply(version, overrides, revision) {
      const place = places.get(version)
      if (place === undefined || revision <= place.revision) return
      place.revision = revision
      place.calendar = { ...place.declared, ...overrides }
      renew(version, place)
    },
  }
}

/** Makes what answers need of a version at this moment. */
function standingOf({ clock, changes, publicUrl }: BoardDeps, versions: readonly string[]) {
  return (version: string, place: Pick<Place, 'calendar' | 'released'>): Standing => {
    const at = versions.indexOf(version)
    const now = clock.now()
    const successor = place.calendar.successor ?? versions[at + 1] ?? null
    const last = versions.indexOf(successor ?? version)
    const between = changes.filter((change) => {
      const came = versions.indexOf(change.version)
      return came > at && came <= last
    })
    const calendar = { ...place.calendar, successor }
    const announcement = { version, calendar, base: publicUrl(), changes: between }
    const state = stateAt(calendar, now)
    const brownout = brownoutAt(calendar, now)
    return {
      ...announcement,
      released: place.released,
      state,
      brownout,
      gone: state === 'retired' || brownout !== undefined,
      headers: state === 'supported' ? undefined : signalHeaders(announcement),
      warning: remembered((route) => deprecationWarning(announcement, COLLECTION.exec(route)?.[1])),
      retirement: state === 'retired' ? retirementBody(announcement) : '',
    }
  }
}

/** Route templates are few and fixed, so what is made for one is kept. */
function remembered(make: (route: string) => Warning): (route: string) => Warning {
  const made = new Map<string, Warning>()
  return (route) => {
    let warning = made.get(route)
    if (warning === undefined) made.set(route, (warning = make(route)))
    return warning
  }
}
