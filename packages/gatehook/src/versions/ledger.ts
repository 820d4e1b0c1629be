/**
 * The ledger (§8.9): who called which version on which route, how often and when last. Counted in
 * memory and added to the database every few seconds in one transaction, so that no request
 * writes. What a crash loses is what was counted since the last flush.
 */
import type { Call } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Database } from '../storage/database.ts'
import { addUsage, type CallerScope, type Usage } from './store.ts'

/** How often a node adds its counts to the database, in real time. */
export const FLUSH_MS = 3000

export const ANONYMOUS = 'anonymous'

export interface Ledger {
  /** Counts one call; `principal` undefined: anybody. */
  note(
    version: string,
    call: Pick<Call, 'route' | 'method'>,
    principal: Principal | undefined,
  ): void
  /** The customers' scopes that called a version since this was asked last. */
  takeCallers(version: string): readonly CallerScope[]
  /** Resolves when all counted so far is stored. Throws as the database does, losing nothing. */
  flush(): Promise<void>
}

interface Tally {
  count: number
  lastMs: number
}

/** Calls of one caller: by route, then by method. Maps in maps: a request joins no text. */
interface Page {
  readonly customer: string
  readonly keyId: string
  readonly clientId: string
  readonly routes: Map<string, Map<string, Tally>>
}

/** By version, by scope, by key or client. */
type Book = Map<string, Map<number, Map<string, Page>>>

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

const newMap = <K, V>(): Map<K, V> => new Map()
const newTally = (): Tally => ({ count: 0, lastMs: 0 })

export function createLedger({ db, clock }: { db: Database; clock: Clock }): Ledger {
  let book: Book = new Map()
  let flushing: Promise<void> | undefined
  /** Who is new in the book, by version: a busy caller once a flush. */
  const fresh = new Map<string, Map<number, CallerScope>>()

  const tallyOf = (use: Omit<Usage, 'count' | 'lastMs'>): Tally => {
    const scopes = entry(book, use.version, newMap<number, Map<string, Page>>)
    const { scope } = use
    const callers = entry(scopes, scope, () => {
      const caller = { scope, lastMs: clock.now() }
      if (scope > 0) entry(fresh, use.version, newMap<number, CallerScope>).set(scope, caller)
      return newMap<string, Page>()
    })
    const { customer, keyId, clientId } = use
    const page = entry(callers, keyId || clientId, () => ({
      ...{ customer, keyId, clientId },
      routes: new Map(),
    }))
    return entry(entry(page.routes, use.route, newMap<string, Tally>), use.method, newTally)
  }

  const store = async () => {
    const written = book
    if (written.size === 0) return
    book = new Map()
    const uses = usesOf(written)
    try {
      await db.write(async (tx) => {
        for (const use of uses) await addUsage(tx, { ...use, route: routeTemplate(use.route) })
      })
    } catch (error) {
      for (const use of uses) {
        const tally = tallyOf(use)
        tally.count += use.count
        tally.lastMs = Math.max(tally.lastMs, use.lastMs)
      }
      throw error
    }
  }

  return {
    note(version, { route, method }, principal) {
      const page = book
        .get(version)
        ?.get(principal?.scope ?? 0)
        ?.get(principal?.keyId ?? principal?.clientId ?? '')
      const known = page?.routes.get(route)?.get(method)
      const tally = known ?? tallyOf({ version, ...callerOf(principal), route, method })
      tally.count++
      tally.lastMs = clock.now()
    },
    takeCallers(version) {
      const callers = [...(fresh.get(version)?.values() ?? [])]
      fresh.delete(version)
      return callers
    },
    async flush() {
      // Those who come meanwhile want their own counts stored: after this flush, another one.
      while (flushing) await flushing.catch(() => undefined)
      flushing = store().finally(() => {
        flushing = undefined
      })
      return flushing
    },
  }
}

const NOBODY = { scope: 0, customer: ANONYMOUS, keyId: '', clientId: '' }

const callerOf = (principal: Principal | undefined) =>
  principal === undefined
    ? NOBODY
    : {
        scope: principal.scope,
        customer: principal.customer,
        keyId: principal.keyId ?? '',
        clientId: principal.clientId ?? '',
      }

/** `/api/things/:id` → `/things/{id}`; `*` stays. */
export const routeTemplate = (route: string): string =>
  route.replace(/^\/api(?=\/)/, '').replace(/:(\w+)/g, '{$1}')

/** In an order of their own, so that two nodes that flush at once do not lock each other out. */
function usesOf(book: Book): Usage[] {
  const uses: Usage[] = []
  for (const [version, scopes] of book) {
    for (const [scope, callers] of scopes) {
      for (const { routes, ...caller } of callers.values()) {
        for (const [route, methods] of routes) {
          for (const [method, tally] of methods) {
            uses.push({ version, scope, ...caller, method, route, ...tally })
          }
        }
      }
    }
  }
  const order = (use: Usage) => `${use.version} ${use.scope} ${use.keyId || use.clientId}`
  const within = (use: Usage) => `${use.route} ${use.method}`
  return uses.sort((a, b) => compare(order(a), order(b)) || compare(within(a), within(b)))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
