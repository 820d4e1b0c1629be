/**
 * Decides what a caller may read of a request that the server stored: its path, its headers, its
 * bodies and its caller (§3.6, §6.7, §12.2). A reader of stored data needs the scopes that the
 * first reader of the same data needed. `admin` implies every scope. Pure.
 */
import type { Principal } from '../../kernel/principal.ts'
import { holdsScope } from './scopes.ts'

export interface StoredDataScopes {
  /** The scope of each operation by method and route template; undefined: none is required. */
  readonly operations: ReadonlyMap<string, string | undefined>
  /** The scopes of `.visible()` by the name of the field, in any resource and version. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  /** The collection whose rows sign in; undefined if there is none. */
  readonly people: string | undefined
}

export interface StoredDataRights {
  /** Whether the reader may read headers and bodies of a request, and values in its path. */
  mayRead(method: string, route: string): boolean
  /** Whether the reader may read who sent a request: the row, key or operator of this kind. */
  mayIdentify(callerKind: string): boolean
  /** Whether the reader may read the ids of events. */
  readonly readsEvents: boolean
  /** Fields whose values the reader may not read. */
  readonly hiddenFields: ReadonlySet<string>
}

export type RightsOf = (reader: Pick<Principal, 'scopes'>) => StoredDataRights

/** Kinds of callers that are no persons. */
const OF_CREDENTIALS: ReadonlySet<string> = new Set(['key', 'client', 'workload'])

export function createStoredDataRights({ operations, fields, people }: StoredDataScopes): RightsOf {
  const readScopeOf = (collection: string) => operations.get(`GET /api/${collection}`)
  return (reader) => {
    const holds = (scope: string | undefined) => scope === undefined || holdsScope(reader, scope)
    const hidden = [...fields].filter(([, scopes]) => !scopes.every(holds)).map(([name]) => name)
    return {
      mayRead: (method, route) => {
        const scopes = scopesToRead(operations, method, route)
        return scopes === undefined ? holds('admin') : scopes.every(holds)
      },
      mayIdentify: (kind) =>
        kind === 'person' && people !== undefined
          ? holds(readScopeOf(people))
          : holds(OF_CREDENTIALS.has(kind) ? 'keys:read' : 'admin'),
      readsEvents: holds('events:read'),
      hiddenFields: new Set(hidden),
    }
  }
}

/** Contains a request to any other route (§16.11). */
const AGENT_MESSAGE = 'POST /mcp'

/**
 * Returns the scopes that the reader of a request to a route needs: the one that reads what the
 * path names and, for an action or another path that nothing reads, the one that calls it.
 * Undefined for an unknown path and for messages of agents.
 */
function scopesToRead(
  operations: StoredDataScopes['operations'],
  method: string,
  route: string,
): readonly (string | undefined)[] | undefined {
  const own = `${method} ${route}`
  if (own === AGENT_MESSAGE) return undefined
  const readable = nearestRead(operations, route)
  if (readable === undefined) return operations.has(own) ? [operations.get(own)] : undefined
  const isRead = readable === `GET ${route}`
  return isRead ? [operations.get(readable)] : [operations.get(readable), operations.get(own)]
}

/** Returns the operation that reads a path or its nearest parent; undefined: there is none. */
function nearestRead(
  operations: StoredDataScopes['operations'],
  route: string,
): string | undefined {
  for (let path = route; path.length > 1; path = path.slice(0, path.lastIndexOf('/'))) {
    if (operations.has(`GET ${path}`)) return `GET ${path}`
  }
  return undefined
}
