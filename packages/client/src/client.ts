/** The public interface: a client of one Gatehook service, and its collections. */
import type { Credential } from './credentials.ts'
import { GatehookError } from './error.ts'
import { type ListEnvelope, type ListParams, nextParams, queryText } from './pages.ts'
import {
  type ApiResponse,
  type CallOptions,
  createSend,
  type Send,
  type TransportOptions,
} from './transport.ts'

export type { Credential, Tokens } from './credentials.ts'
export type { DeprecationNotice } from './deprecation.ts'
export { type FieldError, GatehookError } from './error.ts'
export type { ListEnvelope, ListParams, ParamValue } from './pages.ts'
export type { ApiResponse, CallOptions } from './transport.ts'
export {
  type ActiveCredential,
  type RefusedCredential,
  type Verification,
  type VerificationQuestion,
  VerifierUnavailable,
} from './verification.ts'
export { createVerifier, type Verifier, type VerifierOptions } from './verifier.ts'

export type ClientOptions = TransportOptions & Credential

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

export interface Client {
  /**
   * Returns a collection of the API (`orders` is `/api/{version}/orders`), or with a leading slash
   * of the service (`/webhooks`, `/events`).
   */
  collection<Row, Create = Partial<Row>, Patch = Partial<Create>>(
    name: string,
  ): Collection<Row, Create, Patch>
  /**
   * Sends any request. `path` as in `collection`; credential, retries and errors do not differ. A
   * `Uint8Array` is sent as it is, with its `content-type` in `headers`; a response that is neither
   * JSON nor text is a `Uint8Array`.
   */
  request<T = unknown>(
    method: string,
    path: string,
    options?: CallOptions & { readonly query?: ListParams; readonly body?: unknown },
  ): Promise<ApiResponse<T>>
}

/**
 * Creates a client of the service at `baseUrl`. It holds no connection and needs no closing. All
 * methods reject with {@link GatehookError}, or with the reason of the caller's `signal`.
 *
 * @throws TypeError for a `baseUrl` that is not http or https, or an API key and tokens together
 * @example
 * const client = createClient({ baseUrl: 'https://api.example.com', apiKey, version: 'v2' })
 * const order = await client.collection<Order>('orders').get(7)
 */
export function createClient(options: ClientOptions): Client {
  const base = new URL(options.baseUrl)
  if (!/^https?:$/.test(base.protocol)) throw new TypeError('baseUrl must be http or https.')
  const baseUrl = `${base.origin}${base.pathname.replace(/\/+$/, '')}`
  const api = options.version === undefined ? '/api' : `/api/${segment(options.version)}`
  const urlOf = (path: string) => baseUrl + (path.startsWith('/') ? path : `${api}/${path}`)
  const send = createSend(options, baseUrl)
  return {
    collection: <Row, Create, Patch>(name: string) =>
      collectionAt<Row, Create, Patch>(urlOf(name), send),
    request: async <T>(
      method: string,
      path: string,
      { query, body, ...callOptions }: CallOptions & { query?: ListParams; body?: unknown } = {},
    ) => {
      const url = urlOf(path) + queryText(query ?? {})
      return (await send(method.toUpperCase(), url, body, callOptions)) as ApiResponse<T>
    },
  }
}

function collectionAt<Row, Create, Patch>(url: string, send: Send): Collection<Row, Create, Patch> {
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
    get: async (id, options) => row('GET', `/${segment(id)}`, undefined, options),
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
function segment(value: Id): string {
  const text = String(value)
  if (text === '' || text === '.' || text === '..') throw new TypeError(`"${text}" is not an id.`)
  return encodeURIComponent(text)
}
