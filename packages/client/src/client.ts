/** The public interface: a client of one Gatehook service. */
import { type Collection, collectionAt, type Id, segment } from './collection.ts'
import type { Credential } from './credentials.ts'
import { GatehookError } from './error.ts'
import { type ListParams, queryText } from './pages.ts'
import {
  type ApiResponse,
  type CallOptions,
  createSend,
  type TransportOptions,
} from './transport.ts'
import type { ApiSource, TypedClient, TypedClientOptions, TypesOf } from './typed-api.ts'

export type { Collection, Id, List, Page } from './collection.ts'
export type { Credential, Tokens } from './credentials.ts'
export type { DeprecationNotice } from './deprecation.ts'
export { type FieldError, GatehookError } from './error.ts'
export type { ListEnvelope, ListParams, ParamValue } from './pages.ts'
export type { ApiResponse, CallOptions } from './transport.ts'
export type { ApiError, ApiEvent, ApiSource, ApiTypes, TypedClient, TypesOf } from './typed-api.ts'
export {
  type ActiveCredential,
  type RefusedCredential,
  type Verification,
  type VerificationQuestion,
  VerifierUnavailable,
} from './verification.ts'
export { createVerifier, type Verifier, type VerifierOptions } from './verifier.ts'

export type ClientOptions = TransportOptions & Credential

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
export function createClient(options: ClientOptions): Client
/**
 * Creates a client that knows the names and values of an API: `createClient<typeof api>` with the
 * declaration, or with the types that `gatehook client types` writes. It requires their `version`.
 *
 * @example
 * import type { api } from './service.ts'
 * const client = createClient<typeof api>({ baseUrl, apiKey, version: 'v2' })
 * const invoice = await client.collection('invoices').act(id, 'finalize')
 */
export function createClient<S extends ApiSource>(
  options: TypedClientOptions<S>,
): TypedClient<TypesOf<S>>
export function createClient(options: ClientOptions): Client {
  const base = new URL(options.baseUrl)
  if (!/^https?:$/.test(base.protocol)) throw new TypeError('baseUrl must be http or https.')
  const baseUrl = `${base.origin}${base.pathname.replace(/\/+$/, '')}`
  const api = options.version === undefined ? '/api' : `/api/${segment(options.version)}`
  const urlOf = (path: string) => baseUrl + (path.startsWith('/') ? path : `${api}/${path}`)
  const send = createSend(options, baseUrl)
  const client = {
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
    route: async (name: string, request: AnyRouteRequest = {}, callOptions?: CallOptions) => {
      const [method = '', path = ''] = name.split(' ')
      const url =
        urlOf(pathOf(path, request.params ?? {}).slice(1)) + queryText(request.query ?? {})
      const { input } = request
      const isMedia = input instanceof Object && 'body' in input && input.body instanceof Uint8Array
      const { media, body } = (isMedia ? input : { body: input }) as {
        media?: string
        body: unknown
      }
      const headers = {
        accept: 'application/json, */*;q=0.5', // the route decides what it responds with
        ...(media !== undefined && { 'content-type': media }),
        ...callOptions?.headers,
      }
      return (await send(method, url, body, { ...callOptions, headers })).data
    },
    events: collectionAt(`${baseUrl}/events`, send),
    isError: (error: unknown, code: string) =>
      error instanceof GatehookError && error.code === code,
  }
  return client
}

/** The request of a route, without its types. */
interface AnyRouteRequest {
  readonly params?: Readonly<Record<string, Id>>
  readonly query?: ListParams
  readonly input?: unknown
}

/** Returns the path of a route with its values. Throws for a missing one. */
const pathOf = (path: string, params: Readonly<Record<string, Id>>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}.`)
    return segment(value)
  })
