/** One page of a list of the API, whose cursor is in the URL of the page. */
import { type Query, withQuery } from './api.ts'
import { type Loaded, useLoaded } from './loaded.ts'
import { place, query } from './router.ts'

/** Rows of a page. */
export const LIMIT = 50

/** A page of a list with both directions. */
export interface CursorPage<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
  readonly has_more: boolean
  readonly cursors?: { readonly next: string | null; readonly prev: string | null }
}

interface ListPage<T> {
  /** The path of the request, for the call line. */
  readonly path: string
  readonly list: Loaded<CursorPage<T>>
  /** The URL of another page of the list; undefined without a cursor. */
  readonly pageHref: (cursor: string | null | undefined) => string | undefined
}

/** Loads 50 rows of a list; `everyMs` repeats the request. */
export function useListPage<T>(
  path: string,
  parameters: Query,
  options: { readonly everyMs?: number } = {},
): ListPage<T> {
  const cursor = query.value.get('cursor') ?? undefined
  const full = withQuery(path, { limit: LIMIT, ...parameters, cursor })
  const list = useLoaded<CursorPage<T>>(full, options)
  const pageHref = (next: string | null | undefined) =>
    next
      ? withQuery(place.value.path, { ...Object.fromEntries(query.value), cursor: next })
      : undefined
  return { path: full, list, pageHref }
}
