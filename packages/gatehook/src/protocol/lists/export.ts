/**
 * Exports a whole list as NDJSON or CSV: `GET` with `Accept: application/x-ndjson` or `text/csv`.
 * The response is a stream, as fast as the caller reads; a caller that ends early resumes with
 * `after_id` or a cursor.
 */

import type { Shares } from '../../kernel/budget.ts'
import { Failure } from '../../kernel/failure.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import type { Answer, Call } from '../http/call.ts'
import { selectMediaType } from '../http/content-negotiation.ts'
import { parameterFailure, type Query } from '../http/query.ts'
import { sendParts } from '../http/send-parts.ts'
import { createStreamLimits } from '../http/stream-limits.ts'
import type { Collection, View } from './collection.ts'
import { csvRow, encodeCsvCell } from './csv.ts'
import { bindingOfList, decodeCursor, encodeCursor } from './cursor.ts'
import { EXPAND } from './expanded-page.ts'
import { type ExportChunk, readExportChunks } from './export-rows.ts'
import type { Filter } from './filter.ts'
import { type ListRequest, parseListQuery } from './grammar.ts'
import { createWalk, type RowScope } from './page.ts'
import type { Walk } from './walk.ts'

/** The media types of an export. */
export const EXPORT_TYPES = ['application/x-ndjson', 'text/csv'] as const
type ExportType = (typeof EXPORT_TYPES)[number]

/** Exports that run at a time. Each reads in turns with other requests. */
export const EXPORT_SHARES: Shares = {
  ...{ caller: 2, group: 4, process: 16 },
  ...{ small: 2, stalledMs: Number.POSITIVE_INFINITY },
}
/** The longest time of an export. Its caller resumes it. */
const LONGEST_MS = 3_600_000
/** `cursors=true` adds `{"_cursor": …}` lines to NDJSON, from which an export resumes. */
const CURSORS = 'cursors'
const PAGE_PARAMETERS = ['limit', 'offset', 'page', 'per_page', 'pagination']

/** Returns the media type of an export; undefined if the caller prefers a page as JSON. */
export const exportTypeOf = ({ headers }: Pick<Call, 'headers'>): ExportType | undefined =>
  selectMediaType(headers.accept, EXPORT_TYPES)

interface ExporterOptions {
  readonly db: Database
  readonly cursorKeys: MacKeys
}

interface ExportedList {
  readonly collection: Collection
  readonly view: View
  readonly rowScope: RowScope
  /** Filters besides those of the request. */
  readonly filters?: readonly Filter[]
}

/** Exports the rows of a scope. Throws before the first byte, or cuts the connection. */
export type Exporter = (call: Call, list: ExportedList, type: ExportType) => Promise<Answer>

export function createExporter({ db, cursorKeys }: ExporterOptions): Exporter {
  const limits = createStreamLimits(EXPORT_SHARES, 'exports')
  return async (call, { collection, view, rowScope, filters = [] }, type) => {
    const { principal, query } = call
    if (!principal) throw new Failure('unauthorized', 'An export requires a credential.')
    limits.admit(principal)
    const parsed = readRequest(query, collection, view)
    const request = { ...parsed, filters: [...parsed.filters, ...filters] }
    const binding = bindingOfList(rowScope, collection.name, request)
    const walk = walkOf({ collection, rowScope, request }, query, (cursor) =>
      decodeCursor(cursorKeys, binding, cursor),
    )
    const encode = rowEncoder(type, view, request)
    const chunks = readExportChunks(db, walk, encode, () => call.startPace(true))
    // Mistakes of the request are found by the first read, before the response begins.
    const first = await chunks.next()
    const hasCursors = type === 'application/x-ndjson' && query.get(CURSORS) === 'true'
    const cursorLine = (chunk: ExportChunk | undefined): string => {
      if (!hasCursors) return ''
      const cursor = { step: 'after', keys: chunk?.keys ?? [] } as const
      const text = chunk ? encodeCursor(cursorKeys.current, binding, cursor) : null
      return `${JSON.stringify({ _cursor: text })}\n`
    }
    async function* texts() {
      if (type === 'text/csv') yield csvRow(namesOf(view, request))
      if (!first.done) yield first.value.text + cursorLine(first.value)
      for await (const chunk of chunks) yield chunk.text + cursorLine(chunk)
      yield cursorLine(undefined)
    }
    return {
      status: 200,
      headers: {
        'content-type': type === 'text/csv' ? 'text/csv; charset=utf-8; header=present' : type,
        'cache-control': 'no-store',
      },
      longestMs: LONGEST_MS,
      async stream(out) {
        const leave = limits.enter(principal, out.cut)
        if (!leave) return out.cut() // several requests arrived at once
        try {
          await sendParts(texts(), out)
        } finally {
          leave()
        }
      },
    }
  }
}

/** Parses filters, sort and fields as those of a list; an export has no pages. */
function readRequest(query: Query, collection: Collection, view: View): ListRequest {
  const foreign = PAGE_PARAMETERS.find((name) => query.has(name))
  if (foreign !== undefined) {
    throw parameterFailure('invalid_parameter', foreign, 'is for pages; an export has all rows')
  }
  if (query.has(EXPAND)) {
    throw parameterFailure('invalid_parameter', EXPAND, 'is for pages; export each resource')
  }
  const cursors = query.get(CURSORS)
  if (cursors !== undefined && cursors !== 'true' && cursors !== 'false') {
    throw parameterFailure('invalid_parameter', CURSORS, 'must be true or false')
  }
  const others = collection.parameters?.filter((name) => name !== EXPAND) ?? []
  const parameters = [...others, CURSORS]
  return parseListQuery(query, { ...collection, parameters }, view, 'cursor')
}

/** Returns the rows of the export, from the position of `cursor` or `after_id` on. */
function walkOf(
  task: Parameters<typeof createWalk>[0],
  query: Query,
  decode: (cursor: string) => ReturnType<typeof decodeCursor>,
): Walk {
  const walk = createWalk(task)
  const text = query.get('cursor')
  if (text === undefined) {
    const { afterId } = task.request
    return { ...walk, anchor: afterId === undefined ? undefined : [afterId] }
  }
  const { step, keys } = decode(text)
  if (step === 'before' || step === 'upto') {
    throw parameterFailure('invalid_cursor', 'cursor', 'leads backward; an export goes forward')
  }
  return { ...walk, anchor: keys, inclusive: step === 'from' }
}

const namesOf = ({ fields }: View, request: ListRequest): readonly string[] =>
  fields.filter((name) => request.fields?.has(name) ?? true)

/** Returns the encoder of a row as a line. */
function rowEncoder(
  type: ExportType,
  view: View,
  request: ListRequest,
): (row: readonly Value[]) => string {
  const options = request.fields ? { fields: request.fields } : {}
  if (type === 'application/x-ndjson') return (row) => `${view.item(row, options)}\n`
  const names = namesOf(view, request)
  return (row) => {
    const values = JSON.parse(view.item(row, options)) as Record<string, unknown>
    return csvRow(names.map((name) => encodeCsvCell(values[name], view.anyJson?.has(name))))
  }
}
