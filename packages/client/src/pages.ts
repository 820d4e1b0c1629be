/** Lists: query text of parameters, and the parameters of the next page in each style. Pure. */

export type ParamValue = string | number | boolean | Date

type Operand = ParamValue | readonly (ParamValue | undefined)[] | undefined

/**
 * Query parameters of a list: a page's (`limit`, `cursor`, `offset`, `after_id`, `page`,
 * `per_page`, `pagination`), `sort`, `fields` and filters. A filter with an operator is an object:
 * `{amount: {gte: 100}}` is `amount[gte]=100`. An array is a list with commas, whose values are in
 * quotes where they need it; a `Date` is ISO 8601. `undefined` is omitted, also in an array.
 * `{note: {null: true}}` selects nulls; `null` itself is a `TypeError`.
 */
export interface ListParams {
  readonly [name: string]: Operand | { readonly [operator: string]: Operand }
}

/** The body of a list. Its members depend on the pagination style. */
export interface ListEnvelope<Row> {
  readonly data: readonly Row[]
  readonly cursors?: { readonly next: string | null; readonly prev: string | null }
  readonly next_cursor?: string | null
  readonly has_more?: boolean
  readonly after_id?: number | string
  readonly offset?: number
  readonly limit?: number
  readonly page?: number
  readonly per_page?: number
  readonly total?: number
  readonly total_pages?: number
  readonly links?: { readonly [rel: string]: string | undefined }
  readonly meta?: { readonly [name: string]: number }
}

/** Returns `?a=1&b[gte]=2`, or an empty string. Throws a `TypeError` for null. */
export function queryText(params: ListParams): string {
  const query = new URLSearchParams()
  const append = (name: string, value: Operand) => {
    if (value !== undefined) query.append(name, valueText(name, value))
  }
  for (const [name, value] of Object.entries(params)) {
    if (isOperators(value)) {
      for (const [operator, operand] of Object.entries(value)) {
        append(`${name}[${operator}]`, operand)
      }
    } else append(name, value)
  }
  return query.size === 0 ? '' : `?${query}`
}

const isOperators = (value: ListParams[string]): value is { readonly [name: string]: Operand } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

function valueText(name: string, value: Exclude<Operand, undefined>): string {
  if (value === null) {
    throw new TypeError(
      `The parameter ${name} is null. Write { null: true } to select nulls, or omit it.`,
    )
  }
  if (!Array.isArray(value)) return value instanceof Date ? value.toISOString() : String(value)
  return value
    .filter((item) => item !== undefined)
    .map((item) => quoteInList(valueText(name, item)))
    .join(',')
}

/** Quotes a value that a list would separate (`[in]`). */
const quoteInList = (text: string): string =>
  text === '' || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/**
 * Returns the parameters of the next page; undefined on the last one. The envelope decides the
 * style, because the service selects one if the request does not.
 */
export function nextParams(
  params: ListParams,
  envelope: ListEnvelope<unknown>,
): ListParams | undefined {
  const { links, cursors, data } = envelope
  if (links) {
    // Only the query of the link: a link can never send the credential to another host.
    const next = links.next
    if (next === undefined || next === null) return undefined
    return {
      ...flatParams(params),
      ...Object.fromEntries(new URL(next, 'http://link').searchParams),
    }
  }
  if (cursors || envelope.next_cursor !== undefined) {
    const next = cursors?.next ?? envelope.next_cursor
    return next ? { ...params, cursor: next } : undefined
  }
  if (envelope.after_id !== undefined) {
    return envelope.has_more ? { ...params, after_id: envelope.after_id } : undefined
  }
  if (envelope.page !== undefined) {
    const more = envelope.page < (envelope.total_pages ?? 0)
    return more ? { ...params, page: envelope.page + 1 } : undefined
  }
  if (envelope.offset !== undefined) {
    const offset = envelope.offset + data.length
    const more = data.length > 0 && offset < (envelope.total ?? 0)
    return more ? { ...params, offset } : undefined
  }
  return undefined
}

/** Writes operators as parameter names, so that the parameters of a link replace them. */
const flatParams = (params: ListParams): ListParams =>
  Object.fromEntries(new URLSearchParams(queryText(params)))
