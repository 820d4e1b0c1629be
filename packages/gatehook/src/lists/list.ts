/**
 * Answers a list path: query in, page out, in the style asked for (§7.1, §7.2, §7.8). Envelopes and
 * headers are made here; which rows there are is `walk.ts`.
 */

import type { Answer, Call } from '../http/call.ts'
import { ownerOf } from '../http/egress.ts'
import type { Query } from '../http/query.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { MacKeys } from '../kernel/secret.ts'
import type { TurnKey } from '../kernel/turns.ts'
import type { Database, Value } from '../storage/database.ts'
import type { Collection, View } from './collection.ts'
import { bindingOf, type Cursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type ListRequest, parseListQuery, type Style } from './grammar.ts'
import { linkHeader, type Position, pagePaths } from './links.ts'
import { createPageCache } from './page-cache.ts'
import { cursorPage, keysetPage, type ListTask, numberedPage, type Reach } from './walk.ts'

export interface ListerOptions {
  readonly db: Database
  /** Sign cursors. */
  readonly cursorKeys: MacKeys
  /** Base of absolute links, without a slash at the end; known once the service listens. */
  readonly publicUrl: () => string
  /** The style where the parameters choose none. */
  readonly defaultStyle: Style
}

/**
 * Answers one list request. `owner`: only this person's rows. `scope`: of this customer and mode,
 * by default the caller's. `timeless`: a page follows from what is stored alone, so it may be kept
 * while nothing is written.
 */
export type Lister = (
  call: Call,
  collection: Collection,
  view: View,
  options?: {
    readonly owner?: number | undefined
    readonly scope?: number
    readonly timeless?: boolean
  },
) => Answer | Promise<Answer>

export function createLister(options: ListerOptions): Lister {
  const cached = createPageCache(options.db)
  const readings = createReadings()
  return (call, collection, view, own) => {
    const { query, path } = call
    const scope = collection.scoped ? (own?.scope ?? call.principal!.scope) : 0
    const reach: Reach = { scope, owner: own?.owner }
    const customer = ownerOf(call)
    const cursor = query.get('cursor')
    const read = (): Reading => ({
      request: parseListQuery(query, collection, view, options.defaultStyle),
      bindings: new Map(),
    })
    const beginLarge = () => call.beginLarge()
    const make = (reading: Reading) =>
      answer({ options, collection, view, reach, customer, path, cursor, beginLarge, ...reading })
    const text = own?.timeless ? textOf(query) : undefined
    if (text === undefined) return make(read())
    const name = `${path}${text}\0${cursor ?? ''}`
    return cached(name, view, reach, () => make(readings(view, text, read)))
  }
}

async function answer(asked: Omit<Asked, 'mostBytes'>): Promise<Answer> {
  const mostBytes = asked.collection.wide ? await asked.beginLarge() : undefined
  const { options, request, path } = asked
  const { json, positions, headers } = await pages[request.style]({ ...asked, mostBytes })
  const link = linkHeader(options.publicUrl(), pagePaths(path, request, positions))
  return { status: 200, json, headers: { ...headers, link } }
}

/** A query understood: the same for every page of a walk, so it is worth keeping. */
interface Reading {
  readonly request: ListRequest
  /** What cursors are bound to, by whose rows are asked for. */
  readonly bindings: Map<string, string>
}

const MAX_READINGS = 256

/** Readings by view, and by what the query says. Those that fail are not kept. */
function createReadings() {
  const kept = new WeakMap<View, BoundedMap<string, Reading>>()
  return (view: View, text: string, read: () => Reading): Reading => {
    let known = kept.get(view)
    if (!known) kept.set(view, (known = new BoundedMap(MAX_READINGS)))
    return known.getOrCreate(text, read)
  }
}

/**
 * What a query says but for its cursor; NUL stands in no parameter, so no two queries share a text.
 * Undefined where it has a credential in it, which no memory keeps.
 */
function textOf(query: Query): string | undefined {
  let text = ''
  for (const [parameter, value] of query.entries) {
    if (parameter === 'api_key') return undefined
    text += parameter === 'cursor' ? '\0cursor' : `\0${parameter}\0${value}`
  }
  return text
}

interface Asked extends Reading {
  readonly options: ListerOptions
  readonly collection: Collection
  readonly reach: Reach
  readonly customer: TurnKey
  readonly cursor: string | undefined
  readonly view: View
  readonly path: string
  readonly beginLarge: Call['beginLarge']
  /** Of the response; undefined where rows are small. */
  readonly mostBytes: number | undefined
}

interface Page {
  readonly json: string
  readonly positions: readonly Position[]
  readonly headers?: Record<string, string>
}

const pages: Readonly<Record<Style, (asked: Asked) => Promise<Page>>> = {
  cursor: byCursor,
  keyset: byKeyset,
  offset: byOffset,
  page: byPage,
  hypermedia: byPage,
}

const dataOf = (items: readonly string[]): string => `"data":[${items.join(',')}]`

function taskOf(asked: Asked): ListTask {
  const { options, collection, view, reach, customer, request, mostBytes } = asked
  const { fields, style } = request
  const shape = { ...(fields && { fields }), links: style === 'hypermedia' }
  const { db } = options
  const encode = (row: readonly Value[]) => view.item(row, shape)
  return { db, customer, collection, reach, request, mostBytes, encode }
}

/** Chooses the style where the position alone would not; as it stands once it was sent. */
const outright = ({ named, style }: ListRequest): string => (named ? '' : `pagination=${style}&`)

function boundTo({ bindings, reach, collection, request }: Asked): string {
  const whose = `${reach.scope} ${reach.owner ?? ''}`
  let binding = bindings.get(whose)
  if (binding === undefined) {
    const filters = request.filters.map((filter) => JSON.stringify(filter)).sort()
    binding = bindingOf(reach.scope, reach.owner ?? null, collection.name, request.sort, filters)
    if (bindings.size < MAX_READINGS) bindings.set(whose, binding)
  }
  return binding
}

async function byCursor(asked: Asked): Promise<Page> {
  const { options, request } = asked
  const { cursorKeys: keys } = options
  const { limit } = request
  const binding = boundTo(asked)
  const cursor = asked.cursor === undefined ? undefined : decodeCursor(keys, binding, asked.cursor)
  const page = await cursorPage(taskOf(asked), cursor)
  const first = `${options.defaultStyle === 'cursor' ? '' : outright(request)}limit=${limit}`
  const positions: Position[] = [['first', first]]
  const show = (rel: 'prev' | 'next', to: Cursor | null): string => {
    if (to === null) return 'null'
    const text = encodeCursor(keys.current, binding, to)
    positions.push([rel, `limit=${limit}&cursor=${text}`])
    return `"${text}"`
  }
  const prev = show('prev', page.prev)
  const next = show('next', page.next)
  const json =
    `{${dataOf(page.items)},"cursors":{"next":${next},"prev":${prev}},` +
    `"next_cursor":${next},"has_more":${page.next !== null}}`
  return { json, positions }
}

async function byKeyset(asked: Asked): Promise<Page> {
  const { request } = asked
  const { rows, items, more } = await keysetPage(taskOf(asked))
  const last = (rows.at(-1)?.[0] as number | undefined) ?? request.afterId ?? 0
  const positions: Position[] = [['first', `${outright(request)}limit=${request.limit}`]]
  if (more) positions.push(['next', `limit=${request.limit}&after_id=${last}`])
  return { json: `{${dataOf(items)},"after_id":${last},"has_more":${more}}`, positions }
}

async function byOffset(asked: Asked): Promise<Page> {
  const { items, total } = await numberedPage(taskOf(asked))
  const { limit, offset } = asked.request
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

async function byPage(asked: Asked): Promise<Page> {
  const { request, path } = asked
  const { items, total } = await numberedPage(taskOf(asked))
  const { page, limit, style } = request
  const pageCount = Math.ceil(total / limit)
  const chosen = style === 'hypermedia' ? outright(request) : ''
  const at = (to: number) => `${chosen}page=${to}&per_page=${limit}`
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
  const shown = dataOf(items)
  if (style === 'page') {
    const counts = `"page":${page},"per_page":${limit},"total":${total},"total_pages":${pageCount}`
    return { json: `{${shown},${counts}}`, positions, headers }
  }
  const from = items.length === 0 ? 0 : request.offset + 1
  const to = items.length === 0 ? 0 : request.offset + items.length
  const meta =
    `{"total":${total},"per_page":${limit},"current_page":${page},"total_pages":${pageCount},` +
    `"from":${from},"to":${to}}`
  const links = JSON.stringify(Object.fromEntries(pagePaths(path, request, positions)))
  return { json: `{${shown},"links":${links},"meta":${meta}}`, positions, headers }
}
