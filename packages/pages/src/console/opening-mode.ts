/** The mode in which the console opens, where the URL names none. */
import { get, withQuery } from '../api.ts'
import type { CursorPage } from '../list-page.ts'
import type { Mode } from './scope.ts'

/** Administration is possible with live keys only: such keys alone are no live use of the API. */
const ADMIN = 'admin'
const ROWS_READ = 100

/**
 * Returns `test` while all data is test data: live mode has no event of a row, no client, and no
 * key except those of administration. Returns `live` if a request fails.
 */
export async function openingMode(): Promise<Mode> {
  const list = async <T>(path: string, fields?: string) =>
    (await get<CursorPage<T>>(withQuery(path, { mode: 'live', limit: ROWS_READ, fields }))).data
  try {
    const [events, clients, keys] = await Promise.all([
      list<{ readonly object: string | null }>('/admin/events', 'id,object'),
      list<unknown>('/admin/clients'),
      list<{ readonly scopes: readonly string[] }>('/admin/keys'),
    ])
    const isUsed =
      clients.length > 0 ||
      events.some(({ object }) => object !== null) ||
      keys.some(({ scopes }) => !scopes.includes(ADMIN))
    return isUsed ? 'live' : 'test'
  } catch {
    return 'live'
  }
}
