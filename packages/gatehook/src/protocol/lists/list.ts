/**
 * Answers a list request in the requested style (§7.1, §7.2, §7.8). Creates envelopes and headers;
 * `page.ts` reads the rows.
 */

import { BoundedMap } from '../../kernel/bounded-map.ts'
import { lowestRowId, type RowId } from '../../kernel/row-id.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import { pathOfUrl } from '../../kernel/uri.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import type { Answer, Call, ResponseWork } from '../http/call.ts'
import { ownerOf } from '../http/owner.ts'
import type { Query } from '../http/query.ts'
import { type Collection, reachKey, type View } from './collection.ts'
import { bindingOfList, type Cursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type AddedMembers, addMembers } from './definition.ts'
import { fieldsWithout, type PageExpansion } from './expanded-page.ts'
import type { Filter } from './filter.ts'
import { type ListRequest, parseListQuery, type Style } from './grammar.ts'
import { linkHeader, type Position, pagePaths } from './links.ts'
import {
  type ListTask,
  type RowScope,
  readCursorPage,
  readKeysetPage,
  readNumberedPage,
  sortOf,
} from './page.ts'
import { createPageCache } from './page-cache.ts'
import { isWide } from './wide-rows.ts'

export interface ListerOptions {
  readonly db: Database
  readonly cursorKeys: MacKeys
  /** Base of absolute links, without a trailing slash; available once the service listens. */
  readonly publicUrl: () => string
  /** The style when the parameters determine none. */
  readonly defaultStyle: Style
}

/**
 * Answers one list request. `owner`: the person whose rows are listed; default all rows. `scope`:
 * the scope of the rows; default the caller's. `filters`: filters besides those of the request.
 * `cacheable`: the page depends on stored rows only, so it can be cached until the next commit.
 * `expansion`: the rows that the items include. `added`: the members that no column has.
 */
export type Lister = (
  call: Call,
  collection: Collection,
  view: View,
  options?: {
    readonly owner?: number | undefined
    readonly scope?: number
    readonly filters?: readonly Filter[]
    readonly cacheable?: boolean
    readonly expansion?: PageExpansion | undefined
    readonly added?: readonly AddedMembers[]
  },
) => Answer | Promise<Answer>

export function createLister(options: ListerOptions): Lister {
  const getPage = createPageCache(options.db)
  const getParsedQuery = createParsedQueries()
  return (call, collection, view, own) => {
    const { query, path } = call
    const scope = collection.scoped ? (own?.scope ?? call.principal!.scope) : 0
    const rowScope: RowScope = { scope, owner: own?.owner }
    const customer = ownerOf(call).group
    const cursor = query.get('cursor')
    const parse = (): ParsedQuery => {
      const request = parseListQuery(query, collection, view, options.defaultStyle)
      const filters = [...request.filters, ...(own?.filters ?? [])]
      return { request: { ...request, filters }, bindings: new Map() }
    }
    const expansion = own?.added ? addMembers(collection, own.added) : own?.expansion
    const list = { options, collection, view, rowScope, customer, path, cursor, expansion }
    const readPage = (parsed: ParsedQuery) => respond(call, { ...list, ...parsed })
    const text = own?.cacheable ? cacheKeyOf(query) : undefined
    if (text === undefined) return readPage(parse())
    const reach = reachKey(collection)
    const key = `${path}${text}\0${cursor ?? ''}\0${own?.expansion?.key ?? ''}\0${reach}`
    // Fields of other rows can be filters of one caller only.
    const parseKey = `${reach}\0${text}`
    return getPage(key, view, rowScope, () => readPage(getParsedQuery(view, parseKey, parse)))
  }
}

async function respond(
  call: Pick<Call, 'buildResponse'>,
  context: Omit<ListContext, 'work'>,
): Promise<Answer> {
  const { collection, expansion } = context
  const maxRowBytes = (collection.maxRowBytes ?? 0) + (expansion?.maxRowBytes ?? 0)
  const canBeLarge = isWide({ maxRowBytes }) || expansion?.isWide === true
  const { options, request, path } = context
  const { json, positions, headers } = await call.buildResponse(canBeLarge, (work) =>
    renderers[request.style]({ ...context, work }),
  )
  const link = linkHeader(options.publicUrl(), pagePaths(path, request, positions))
  return { status: 200, json, headers: { ...headers, link } }
}

/** A parsed query. All pages of a list share it, so it is cached. */
interface ParsedQuery {
  readonly request: ListRequest
  /** The binding of cursors for each row scope. */
  readonly bindings: Map<string, string>
}

const PARSED_QUERIES_MAX = 256
/** Characters of a query that a cache stores. Longer ones, and their pages, are read again. */
const CACHED_CHARACTERS_MAX = 1_024

/** Caches parsed queries by view and query text. Invalid queries are not cached. */
function createParsedQueries() {
  const caches = new WeakMap<View, BoundedMap<string, ParsedQuery>>()
  return (view: View, text: string, parse: () => ParsedQuery): ParsedQuery => {
    let cache = caches.get(view)
    if (!cache) caches.set(view, (cache = new BoundedMap(PARSED_QUERIES_MAX)))
    return cache.getOrCreate(text, parse)
  }
}

/**
 * Returns the query without its cursor as a cache key. NUL is invalid in parameters, so two queries
 * never share a key. Undefined if the query is long, or contains a credential, which must not be
 * cached.
 */
function cacheKeyOf(query: Query): string | undefined {
  let text = ''
  for (const [parameter, value] of query.entries) {
    if (parameter === 'api_key') return undefined
    text += parameter === 'cursor' ? '\0cursor' : `\0${parameter}\0${value}`
  }
  return text.length > CACHED_CHARACTERS_MAX ? undefined : text
}

interface ListContext extends ParsedQuery {
  readonly options: ListerOptions
  readonly collection: Collection
  readonly rowScope: RowScope
  readonly customer: TurnKey
  readonly cursor: string | undefined
  readonly view: View
  readonly path: string
  readonly work: ResponseWork
  readonly expansion: PageExpansion | undefined
}

interface RenderedPage {
  readonly json: string
  readonly positions: readonly Position[]
  readonly headers?: Record<string, string>
}

const renderers: Readonly<Record<Style, (context: ListContext) => Promise<RenderedPage>>> = {
  cursor: renderCursorPage,
  keyset: renderKeysetPage,
  offset: renderOffsetPage,
  page: renderNumberedPage,
  hypermedia: renderNumberedPage,
}

const dataOf = (items: readonly string[]): string => `"data":[${items.join(',')}]`

function taskOf(context: ListContext): ListTask {
  const { options, collection, view, rowScope, customer, request, work, expansion } = context
  const { style } = request
  const fields = fieldsWithout(view, expansion?.omits ?? [], request.fields)
  const shape = { ...(fields && { fields }), links: style === 'hypermedia' }
  const { db } = options
  const encode = (row: readonly Value[]) => view.item(row, shape)
  return { db, customer, collection, rowScope, request, expansion, work, encode }
}

/** Returns the parameter that selects the style, unless the links repeat it from the request. */
const styleParameter = ({ isStyleExplicit, style }: ListRequest): string =>
  isStyleExplicit ? '' : `pagination=${style}&`

function bindingOfCursors({ bindings, rowScope, collection, request }: ListContext): string {
  const key = `${rowScope.scope} ${rowScope.owner ?? ''}`
  let binding = bindings.get(key)
  if (binding === undefined) {
    // Cursors of another order are invalid after a move between databases.
    const sort = sortOf(collection, request)
    binding = bindingOfList(rowScope, collection.name, { ...request, sort })
    if (bindings.size < PARSED_QUERIES_MAX) bindings.set(key, binding)
  }
  return binding
}

async function renderCursorPage(context: ListContext): Promise<RenderedPage> {
  const { options, request } = context
  const { cursorKeys: keys } = options
  const { limit } = request
  const binding = bindingOfCursors(context)
  const cursor =
    context.cursor === undefined ? undefined : decodeCursor(keys, binding, context.cursor)
  const page = await readCursorPage(taskOf(context), cursor)
  const first = `${options.defaultStyle === 'cursor' ? '' : styleParameter(request)}limit=${limit}`
  const positions: Position[] = [['first', first]]
  const addPosition = (rel: 'prev' | 'next', to: Cursor | null): string => {
    if (to === null) return 'null'
    const text = encodeCursor(keys.current, binding, to)
    positions.push([rel, `limit=${limit}&cursor=${text}`])
    return `"${text}"`
  }
  const prev = addPosition('prev', page.prev)
  const next = addPosition('next', page.next)
  const json =
    `{${dataOf(page.items)},"cursors":{"next":${next},"prev":${prev}},` +
    `"next_cursor":${next},"has_more":${page.next !== null}}`
  return { json, positions }
}

async function renderKeysetPage(context: ListContext): Promise<RenderedPage> {
  const { request, collection } = context
  const { rows, items, more } = await readKeysetPage(taskOf(context))
  const prefix = collection.columns[0]!.idPrefix
  const lowest = prefix === undefined ? 0 : lowestRowId(prefix)
  const last = (rows.at(-1)?.[0] as RowId | undefined) ?? request.afterId ?? lowest
  const positions: Position[] = [['first', `${styleParameter(request)}limit=${request.limit}`]]
  if (more) positions.push(['next', `limit=${request.limit}&after_id=${last}`])
  return {
    json: `{${dataOf(items)},"after_id":${JSON.stringify(last)},"has_more":${more}}`,
    positions,
  }
}

async function renderOffsetPage(context: ListContext): Promise<RenderedPage> {
  const { items, total } = await readNumberedPage(taskOf(context))
  const { limit, offset } = context.request
  const last = total === 0 ? 0 : Math.floor((total - 1) / limit) * limit
  const at = (to: number) => `offset=${to}&limit=${limit}`
  const positions: Position[] = [['first', at(0)]]
  if (offset > 0 && total > 0) {
    positions.push(['prev', at(offset >= total ? last : Math.max(0, offset - limit))])
  }
  if (offset + limit < total) positions.push(['next', at(offset + limit)])
  positions.push(['last', at(last)])
  return {
    json: `{${dataOf(items)},"offset":${offset},"limit":${limit},"total":${total}}`,
    positions,
    headers: { 'x-total-count': String(total) },
  }
}

async function renderNumberedPage(context: ListContext): Promise<RenderedPage> {
  const { options, request, path } = context
  const { items, total } = await readNumberedPage(taskOf(context))
  const { page, limit, style } = request
  const pageCount = Math.ceil(total / limit)
  const styleText = style === 'hypermedia' ? styleParameter(request) : ''
  const at = (to: number) => `${styleText}page=${to}&per_page=${limit}`
  const positions: Position[] = [
    ['self', at(page)],
    ['first', at(1)],
  ]
  if (page > 1 && pageCount > 0) positions.push(['prev', at(Math.min(page - 1, pageCount))])
  if (page < pageCount) positions.push(['next', at(page + 1)])
  positions.push(['last', at(Math.max(1, pageCount))])
  const headers = {
    'x-total-count': String(total),
    'x-page': String(page),
    'x-per-page': String(limit),
  }
  const data = dataOf(items)
  if (style === 'page') {
    const counts = `"page":${page},"per_page":${limit},"total":${total},"total_pages":${pageCount}`
    return { json: `{${data},${counts}}`, positions, headers }
  }
  const from = items.length === 0 ? 0 : request.offset + 1
  const to = items.length === 0 ? 0 : request.offset + items.length
  const meta =
    `{"total":${total},"per_page":${limit},"current_page":${page},"total_pages":${pageCount},` +
    `"from":${from},"to":${to}}`
  const mounted = pathOfUrl(options.publicUrl()) + path
  const links = JSON.stringify(Object.fromEntries(pagePaths(mounted, request, positions)))
  return { json: `{${data},"links":${links},"meta":${meta}}`, positions, headers }
}
