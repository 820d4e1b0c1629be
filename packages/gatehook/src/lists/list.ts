/**
 * Answers a list path: query in, page out, in the style asked for (§7.1, §7.2, §7.8). Envelopes and headers
 * are made here; which rows there are is `walk.ts`.
 */
import type { KeyObject } from 'node:crypto'
import type { Answer, Call } from '../http/call.ts'
import type { Database } from '../storage/database.ts'
import type { Collection, View } from './collection.ts'
import { bindingOf, type Cursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type ListRequest, parseListQuery, type Style } from './grammar.ts'
import { linkHeader, type Positions, pagePaths } from './links.ts'
import { cursorPage, keysetPage, numberedPage, type Reach, type Rows } from './walk.ts'

export interface ListerOptions {
  readonly db: Database
  /** Signs cursors. */
  readonly cursorKey: KeyObject
  /** Base of absolute links, without a slash at the end; known once the service listens. */
  readonly publicUrl: () => string
  /** The style where the parameters choose none. */
  readonly defaultStyle: Style
}

/** Answers one list request. `owner`: only this person's rows. */
export type Lister = (
  call: Call,
  collection: Collection,
  view: View,
  options?: { readonly owner?: number | undefined },
) => Promise<Answer>

interface Page {
  readonly envelope: string
  readonly positions: Positions
  readonly headers?: Record<string, string>
}

export function createLister(options: ListerOptions): Lister {
  return async (call, collection, view, own) => {
    const request = parseListQuery(call.query, collection, view, options.defaultStyle)
    const scope = collection.scoped ? call.principal!.scope : 0
    const reach: Reach = { scope, owner: own?.owner }
    const items = (rows: Rows): string => {
      const shown = request.fields ? { fields: request.fields } : {}
      const links = request.style === 'hypermedia'
      const item = { ...shown, links }
      let out = ''
      for (const row of rows) out += (out === '' ? '' : ',') + view.item(row, item)
      return `[${out}]`
    }
    const page = await pages[request.style]({ options, collection, reach, request, items, call })
    const links = pagePaths(call.path, request, page.positions)
    const link = linkHeader(options.publicUrl(), links)
    const headers: Record<string, string> = { ...page.headers }
    if (link !== '') headers.link = link
    return { status: 200, json: page.envelope, headers }
  }
}

interface Asked {
  readonly options: ListerOptions
  readonly collection: Collection
  readonly reach: Reach
  readonly request: ListRequest
  readonly items: (rows: Rows) => string
  readonly call: Call
}

const pages: Readonly<Record<Style, (asked: Asked) => Promise<Page>>> = {
  cursor: byCursor,
  keyset: byKeyset,
  offset: byOffset,
  page: byPage,
  hypermedia: byPage,
}

async function byCursor({ options, collection, reach, request, items }: Asked): Promise<Page> {
  const { sort, filters } = request
  const binding = bindingOf(reach.scope, reach.owner ?? null, collection.name, sort, filters)
  const key = options.cursorKey
  const sent = request.cursor
  const cursor = sent === undefined ? undefined : decodeCursor(key, binding, sent)
  // Backward pages look twice (the page, and whether anything follows): one moment for both.
  const read = (reader: Pick<Database, 'all' | 'get' | 'arrays'>) =>
    cursorPage(reader, collection, reach, request, cursor)
  const backward = cursor?.step === 'before' || cursor?.step === 'upto'
  const page = await (backward ? options.db.snapshot(read) : read(options.db))
  const text = (to: Cursor | null) => (to ? encodeCursor(key, binding, to) : null)
  const next = text(page.next)
  const prev = text(page.prev)
  const limit = ['limit', String(request.limit)] as const
  const positions: [Positions[number][0], Positions[number][1]][] = [['first', [limit]]]
  if (prev !== null) positions.push(['prev', [limit, ['cursor', prev]]])
  if (next !== null) positions.push(['next', [limit, ['cursor', next]]])
  const [quotedNext, quotedPrev] = [JSON.stringify(next), JSON.stringify(prev)]
  const envelope =
    `{"data":${items(page.rows)},"cursors":{"next":${quotedNext},"prev":${quotedPrev}},` +
    `"next_cursor":${quotedNext},"has_more":${next !== null}}`
  return { envelope, positions }
}

async function byKeyset({ options, collection, reach, request, items }: Asked): Promise<Page> {
  const { rows, more } = await keysetPage(options.db, collection, reach, request)
  const last = (rows.at(-1)?.[0] as number | undefined) ?? request.afterId ?? 0
  const limit = ['limit', String(request.limit)] as const
  // The first page has no `after_id` to choose the style by; say it outright.
  const style = ['pagination', 'keyset'] as const
  const named = request.kept.some(([name]) => name === 'pagination')
  const positions: [Positions[number][0], Positions[number][1]][] = [
    ['first', named ? [limit] : [limit, style]],
  ]
  if (more) positions.push(['next', [limit, ['after_id', String(last)]]])
  return {
    envelope: `{"data":${items(rows)},"after_id":${last},"has_more":${more}}`,
    positions,
  }
}

async function byOffset({ options, collection, reach, request, items }: Asked): Promise<Page> {
  const { limit, offset } = request
  const { rows, total } = await options.db.snapshot((reader) =>
    numberedPage(reader, collection, reach, request),
  )
  const last = lastOffset(total, limit)
  const at = (to: number) => [['offset', String(to)] as const, ['limit', String(limit)] as const]
  const positions: [Positions[number][0], Positions[number][1]][] = [['first', at(0)]]
  if (offset > 0 && total > 0) {
    positions.push(['prev', at(offset >= total ? last : Math.max(0, offset - limit))])
  }
  if (offset + limit < total) positions.push(['next', at(offset + limit)])
  positions.push(['last', at(last)])
  return {
    envelope: `{"data":${items(rows)},"offset":${offset},"limit":${limit},"total":${total}}`,
    positions,
    headers: { 'x-total-count': String(total) },
  }
}

const lastOffset = (total: number, limit: number): number =>
  total === 0 ? 0 : Math.floor((total - 1) / limit) * limit

async function byPage(asked: Asked): Promise<Page> {
  const { options, collection, reach, request, items, call } = asked
  const { rows, total } = await options.db.snapshot((reader) =>
    numberedPage(reader, collection, reach, request),
  )
  const { page, limit, style } = request
  const pageCount = Math.ceil(total / limit)
  const at = (to: number) => [['page', String(to)] as const, ['per_page', String(limit)] as const]
  const positions: [Positions[number][0], Positions[number][1]][] = [
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
  const data = `{"data":${items(rows)}`
  if (style === 'page') {
    const envelope = `${data},"page":${page},"per_page":${limit},"total":${total},"total_pages":${pageCount}}`
    return { envelope, positions, headers }
  }
  const from = rows.length === 0 ? 0 : request.offset + 1
  const to = rows.length === 0 ? 0 : request.offset + rows.length
  const meta =
    `{"total":${total},"per_page":${limit},"current_page":${page},"total_pages":${pageCount},` +
    `"from":${from},"to":${to}}`
  const links = JSON.stringify(Object.fromEntries(pagePaths(call.path, request, positions)))
  return { envelope: `${data},"links":${links},"meta":${meta}}`, positions, headers }
}
