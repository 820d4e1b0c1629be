/**
 * Counts the requests of each caller per version and route (§8.9). The counts are in memory; one
 * transaction every few seconds adds them to the database, so that no request writes. A crash
 * loses the counts since the last flush.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { addUsage, type CallerScope, listSubjects, type VersionUsage } from './store.ts'

/** The interval, in real time, at which a node adds its counts to the database. */
export const FLUSH_MS = 3000

const ANONYMOUS = 'anonymous'

/**
 * The subjects of an issuer that are counted apart in a version, customer and mode; its tokens can
 * name any number (§16.8). The requests of others are those of the issuer, without a subject.
 */
export const MAX_SUBJECTS = 200

export interface UsageCounter {
  /** Counts one request. `principal` is undefined for an unauthenticated caller. */
  countRequest(
    version: string,
    call: Pick<Call, 'route' | 'method'>,
    principal: Principal | undefined,
  ): void
  /** Returns, and removes, the scopes that called a version since the last flush. */
  takeNewCallers(version: string): readonly CallerScope[]
  /** Stores all counts. Rejects if the database does; the counts are then retained. */
  flush(): Promise<void>
}

interface RouteCount {
  count: number
  lastMs: number
}

/** The counts of one caller by route, then by method. Nested maps need no joined keys. */
interface CallerCounts {
  readonly customer: string
  readonly keyId: string
  readonly clientId: string
  readonly subject: string
  readonly routes: Map<string, Map<string, RouteCount>>
  /** Of an issuer: the number of its subjects. */
  subjects: number
}

/** By version, by scope, by key, client or workload. */
type UsageCounts = Map<string, Map<number, Map<string, CallerCounts>>>

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = create()))
  return value
}

const newMap = <K, V>(): Map<K, V> => new Map()
const newCount = (): RouteCount => ({ count: 0, lastMs: 0 })

export function createUsageCounter({ db, clock }: { db: Database; clock: Clock }): UsageCounter {
  let counts: UsageCounts = new Map()
  let flushing: Promise<void> | undefined
  /** Callers that are new in `counts`, by version: a busy caller appears once per flush. */
  const newCallers = new Map<string, Map<number, CallerScope>>()

  const countOf = (usage: Omit<VersionUsage, 'count' | 'lastMs'>): RouteCount => {
    const { version, scope, customer, keyId, clientId, subject, route, method } = usage
    const scopes = getOrCreate(counts, version, newMap<number, Map<string, CallerCounts>>)
    const callers = getOrCreate(scopes, scope, () => {
      const caller = { scope, lastMs: clock.now() }
      if (scope > 0) {
        getOrCreate(newCallers, version, newMap<number, CallerScope>).set(scope, caller)
      }
      return newMap<string, CallerCounts>()
    })
    const callerAt = (key: string, subject: string) =>
      getOrCreate(callers, key, () => {
        const own = { customer, keyId, clientId, subject }
        return { ...own, routes: newMap<string, Map<string, RouteCount>>(), subjects: 0 }
      })
    const caller = () => {
      if (!subject || callers.has(subject)) return callerAt(subject || keyId || clientId, subject)
      const issuer = callerAt(clientId, '')
      return issuer.subjects++ < MAX_SUBJECTS ? callerAt(subject, subject) : issuer
    }
    const methods = getOrCreate(caller().routes, route, newMap<string, RouteCount>)
    return getOrCreate(methods, method, newCount)
  }

  const storeCounts = async () => {
    const pending = counts
    if (pending.size === 0) return
    counts = new Map()
    const rows = usageRows(pending)
    try {
      await db.write(async (tx) => {
        const stored = (await boundSubjects(tx, rows)).sort(compareRows)
        for (const row of stored) await addUsage(tx, { ...row, route: routeTemplate(row.route) })
      })
    } catch (error) {
      for (const row of rows) {
        const count = countOf(row)
        count.count += row.count
        count.lastMs = Math.max(count.lastMs, row.lastMs)
      }
      throw error
    }
  }

  return {
    countRequest(version, { route, method }, principal) {
      const count =
        counts
          .get(version)
          ?.get(principal?.scope ?? 0)
          ?.get(subjectOf(principal) || (principal?.keyId ?? principal?.clientId ?? ''))
          ?.routes.get(route)
          ?.get(method) ?? countOf({ version, ...callerOf(principal), route, method })
      count.count++
      count.lastMs = clock.now()
    },
    takeNewCallers(version) {
      const callers = [...(newCallers.get(version)?.values() ?? [])]
      newCallers.delete(version)
      return callers
    },
    async flush() {
      // A flush in progress may lack the caller's own counts, so another one follows it.
      while (flushing) await flushing.catch(() => undefined)
      flushing = storeCounts().finally(() => {
        flushing = undefined
      })
      return flushing
    },
  }
}

const UNAUTHENTICATED = { scope: 0, customer: ANONYMOUS, keyId: '', clientId: '', subject: '' }

/** Only an issuer does not say which caller it is. */
const subjectOf = (principal: Principal | undefined): string =>
  principal?.kind === 'workload' ? principal.subject : ''

const callerOf = (principal: Principal | undefined) =>
  principal === undefined
    ? UNAUTHENTICATED
    : {
        scope: principal.scope,
        customer: principal.customer,
        keyId: principal.keyId ?? '',
        clientId: principal.clientId ?? '',
        subject: subjectOf(principal),
      }

/** Returns `/things/{id}` for `/api/things/:id`, and `*` for `*`. */
const routeTemplate = (route: string): string =>
  route.replace(/^\/api(?=\/)/, '').replace(/:(\w+)/g, '{$1}')

/** Removes the subjects beyond the bound: stored ones stay, and new ones are added up to it. */
async function boundSubjects(tx: Tx, rows: readonly VersionUsage[]): Promise<VersionUsage[]> {
  const knownSubjects = new Map<string, Set<string>>()
  const bounded: VersionUsage[] = []
  for (const row of rows) {
    if (!row.subject) {
      bounded.push(row)
      continue
    }
    const issuer = `${row.version} ${row.scope} ${row.clientId}`
    const subjects = knownSubjects.get(issuer) ?? new Set(await listSubjects(tx, row, MAX_SUBJECTS))
    knownSubjects.set(issuer, subjects)
    if (subjects.size < MAX_SUBJECTS) subjects.add(row.subject)
    bounded.push(subjects.has(row.subject) ? row : { ...row, subject: '' })
  }
  return bounded
}

function usageRows(counts: UsageCounts): VersionUsage[] {
  const rows: VersionUsage[] = []
  for (const [version, scopes] of counts) {
    for (const [scope, callers] of scopes) {
      for (const { routes, ...caller } of callers.values()) {
        for (const [route, methods] of routes) {
          for (const [method, count] of methods) {
            rows.push({ version, scope, ...caller, method, route, ...count })
          }
        }
      }
    }
  }
  return rows
}

const callerKey = (row: VersionUsage) =>
  `${row.version} ${row.scope} ${row.keyId || row.clientId} ${row.subject}`
const routeKey = (row: VersionUsage) => `${row.route} ${row.method}`
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The order in which two nodes that flush at once lock rows. */
const compareRows = (a: VersionUsage, b: VersionUsage): number =>
  compare(callerKey(a), callerKey(b)) || compare(routeKey(a), routeKey(b))
