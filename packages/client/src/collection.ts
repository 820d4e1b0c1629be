/** The collections of a client: their operations, and their pages in every style. */
import { GatehookError } from './error.ts'
import { type ListEnvelope, type ListParams, nextParams, queryText } from './pages.ts'
import type { CallOptions, Send } from './transport.ts'

/** The id of a row: an integer for resources, a string for webhooks and events. */
export type Id = number | string

/** One page of a list. Iteration yields its rows and the rows of all later pages. */
export interface Page<Row> extends AsyncIterable<Row> {
  readonly data: readonly Row[]
  /** The number of rows in the whole list; undefined in styles that do not count. */
  readonly total: number | undefined
  readonly hasMore: boolean
  /** The unchanged response body. */
  readonly envelope: ListEnvelope<Row>
  /** Fetches the next page; undefined on the last one. */
  next(): Promise<Page<Row> | undefined>
}

/** A list: awaited, the first page; iterated, every row, fetched page by page. */
export type List<Row> = Promise<Page<Row>> & AsyncIterable<Row>

export interface Collection<Row, Create = Partial<Row>, Patch = Partial<Create>> {
  /**
   * Lists rows. The parameters select the pagination style (`offset`, `after_id`, `page`, `cursor`,
   * `pagination`); without one, the service does. With `fields` rows have these members only.
   *
   * @example
   * for await (const order of orders.list({ status: 'paid' })) console.log(order.id)
   */
  list<const Name extends keyof Row & string>(
    params: ListParams & { readonly fields: readonly Name[]; readonly expand?: undefined },
    options?: CallOptions,
  ): List<Pick<Row, Name>>
  list(params?: ListParams, options?: CallOptions): List<Row>
  get(id: Id, options?: CallOptions): Promise<Row>
  create(body: Create, options?: CallOptions): Promise<Row>
  /** Sends a merge patch (RFC 7396): omitted members do not change, `null` clears. */
  update(id: Id, patch: Patch, options?: CallOptions): Promise<Row>
  delete(id: Id, options?: CallOptions): Promise<void>
  /** Performs an action of the resource: `orders.act(7, 'pay')`. */
  act<Result = Row>(id: Id, action: string, body?: unknown, options?: CallOptions): Promise<Result>
}

interface ExpandOption {
  readonly expand?: string | readonly string[] | undefined
}

export function collectionAt<Row, Create, Patch>(
  url: string,
  send: Send,
): Collection<Row, Create, Patch> {
  const row = async (method: string, path: string, body: unknown, options?: CallOptions) =>
    (await send(method, url + path, body, options)).data as Row
  const list = (params: ListParams = {}, options?: CallOptions): List<Row> => {
    const first = pageOf<Row>(url, send, params, options)
    return Object.assign(first, {
      [Symbol.asyncIterator]: async function* () {
        yield* await first
      },
    })
  }
  return {
    list: list as Collection<Row>['list'],
    get: async (id, { expand, ...options }: CallOptions & ExpandOption = {}) =>
      row('GET', `/${segment(id)}${queryText({ expand })}`, undefined, options),
    create: (body, options) => row('POST', '', body, options),
    update: async (id, patch, options) => row('PATCH', `/${segment(id)}`, patch, options),
    delete: async (id, options) =>
      void (await row('DELETE', `/${segment(id)}`, undefined, options)),
    act: async <Result>(id: Id, action: string, body?: unknown, options?: CallOptions) => {
      const path = `${url}/${segment(id)}/${segment(action)}`
      return (await send('POST', path, body, options)).data as Result
    },
  }
}

async function pageOf<Row>(
  url: string,
  send: Send,
  params: ListParams,
  options: CallOptions | undefined,
): Promise<Page<Row>> {
  const { data, status, requestId } = await send('GET', url + queryText(params), undefined, options)
  const envelope = data as ListEnvelope<Row>
  if (!Array.isArray(envelope?.data)) {
    const details = { status, requestId, body: data }
    throw new GatehookError('unexpected_response', 'The API returned no list.', details)
  }
  const after = nextParams(params, envelope)
  const page: Page<Row> = {
    data: envelope.data,
    total: envelope.total ?? envelope.meta?.total,
    hasMore: after !== undefined,
    envelope,
    next: async () => after && (await pageOf<Row>(url, send, after, options)),
    async *[Symbol.asyncIterator]() {
      for (let at: Page<Row> | undefined = page; at; at = await at.next()) yield* at.data
    },
  }
  return page
}

/** Returns one path segment. Throws for `.` and `..`, which would resolve to another path. */
export function segment(value: Id): string {
  const text = String(value)
  if (text === '' || text === '.' || text === '..') throw new TypeError(`"${text}" is not an id.`)
  return encodeURIComponent(text)
}
