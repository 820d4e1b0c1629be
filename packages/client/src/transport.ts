/**
 * Sends one request: attempts with a time limit each, delays between them, one token refresh.
 * Resolves with the response or rejects with `GatehookError`. The only file that calls `fetch`.
 */
import { type Credential, type Credentials, credentialsOf, type Tokens } from './credentials.ts'
import { type DeprecationNotice, deprecationOf } from './deprecation.ts'
import { type FieldError, GatehookError } from './error.ts'
import { createReadPosition } from './read-after.ts'
import { delayMs, isTransient, retryAfterOf } from './retry.ts'

export interface TransportOptions {
  /** URL of the service: `https://api.example.com`. It may contain a path. */
  readonly baseUrl: string
  /** Version of the requests, for example `v2`. Default: the pinned version of the credential. */
  readonly version?: string | undefined
  /** Maximum number of retries. Default 3. */
  readonly retries?: number | undefined
  /** The longest `Retry-After` that the client waits for, in seconds. Default 60. */
  readonly maxRetryAfterSeconds?: number | undefined
  /** Time limit of each attempt, body included, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Called once for each deprecated version. */
  readonly onDeprecation?: ((notice: DeprecationNotice) => unknown) | undefined
  /** Called and awaited with each new pair of tokens: the previous refresh token is revoked. */
  readonly onTokens?: ((tokens: Tokens) => unknown) | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Waits; rejects if the signal aborts. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
  /** Returns a number in [0, 1), for delays. */
  readonly random?: (() => number) | undefined
  /** Generates idempotency keys. Default: `crypto.randomUUID`. */
  readonly newKey?: (() => string) | undefined
}

export interface CallOptions {
  /** Aborts the request and its delays. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: random for POST and PATCH, the same in all attempts of one request. */
  readonly idempotencyKey?: string | undefined
}

/** A response of the API. `data` is the parsed body, undefined without one (204, 304). */
export interface ApiResponse<T> {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string | undefined
  readonly data: T
}

export type Send = (
  method: string,
  url: string,
  body: unknown,
  options?: CallOptions,
) => Promise<ApiResponse<unknown>>

interface Attempt {
  readonly method: string
  readonly url: string
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
  readonly headers: Record<string, string>
  readonly options: CallOptions
}

const DEFAULTS = { retries: 3, maxRetryAfterSeconds: 60, timeoutMs: 30_000 }

/** Returns the function that sends requests with the options of a client. */
export function createSend(options: TransportOptions & Credential, baseUrl: string): Send {
  const sleep = options.sleep ?? delay
  const retries = options.retries ?? DEFAULTS.retries
  const maxRetryAfterS = options.maxRetryAfterSeconds ?? DEFAULTS.maxRetryAfterSeconds
  const reportedVersions = new Set<string>()
  const readPosition = createReadPosition()

  const readResponse: ReadResponse = ({ headers, data }) => {
    readPosition.store(headers)
    const notice = options.onDeprecation && deprecationOf(headers, data, options.version)
    if (!notice || reportedVersions.has(notice.version)) return
    reportedVersions.add(notice.version)
    options.onDeprecation?.(notice)
  }

  /** Retries transient failures, up to `retries` times. */
  const withRetries = async (
    send: () => Promise<ApiResponse<unknown>>,
    signal: AbortSignal | undefined,
  ) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await send()
      } catch (error) {
        if (!(error instanceof GatehookError) || !isTransient(error)) throw error
        if (attempt > retries || (error.retryAfter ?? 0) > maxRetryAfterS) throw error
        const random = (options.random ?? Math.random)()
        await sleep(delayMs(attempt, error.retryAfter, random), signal)
      }
    }
  }

  const credentials = credentialsOf(
    options,
    async (refreshToken) => {
      const body = JSON.stringify({ refresh_token: refreshToken })
      const headers = { 'content-type': 'application/json' }
      const url = `${baseUrl}/auth/refresh`
      const attempt = { method: 'POST', url, body, headers, options: {} }
      // One attempt: the waiting requests repeat it after their own delays.
      return tokensOf(await attemptOnce(attempt, options, () => {}))
    },
    options.onTokens,
  )

  return async (method, url, body, call = {}) => {
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...readPosition.headers(),
    }
    const isBytes = body instanceof Uint8Array
    if (body !== undefined && !isBytes) headers['content-type'] = 'application/json'
    if (method === 'POST' || method === 'PATCH') {
      const newKey = options.newKey ?? (() => crypto.randomUUID())
      headers['idempotency-key'] = call.idempotencyKey ?? newKey()
    }
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      headers[name.toLowerCase()] = value
    }
    const content = isBytes ? (body as Uint8Array<ArrayBuffer>) : textOf(body)
    const attempt = { method, url, body: content, headers, options: call }
    const send = () => sendWithCredential(attempt, credentials, options, readResponse)
    return await withRetries(send, call.signal)
  }
}

const textOf = (body: unknown) => (body === undefined ? undefined : JSON.stringify(body))

/** Called with each response. */
type ReadResponse = (response: { headers: Headers; data: unknown }) => void

/** Sends one attempt, and another one at once after a token refresh. */
async function sendWithCredential(
  attempt: Attempt,
  credentials: Credentials,
  options: TransportOptions,
  readResponse: ReadResponse,
): Promise<ApiResponse<unknown>> {
  const sendWith = (auth: Record<string, string>) =>
    attemptOnce({ ...attempt, headers: { ...auth, ...attempt.headers } }, options, readResponse)
  const auth = await credentials.headers()
  try {
    return await sendWith(auth)
  } catch (error) {
    const isInvalidToken =
      error instanceof GatehookError && error.status === 401 && error.code === 'invalid_token'
    if (!isInvalidToken || !(await credentials.refresh(auth))) throw error
    return await sendWith(await credentials.headers())
  }
}

async function attemptOnce(
  { method, url, body, headers, options: call }: Attempt,
  options: TransportOptions,
  readResponse: ReadResponse,
): Promise<ApiResponse<unknown>> {
  call.signal?.throwIfAborted()
  const limit = AbortSignal.timeout(call.timeoutMs ?? options.timeoutMs ?? DEFAULTS.timeoutMs)
  const signal = call.signal ? AbortSignal.any([call.signal, limit]) : limit
  let response: Response
  let bytes: Uint8Array
  try {
    // Never follows a redirect, which could send the key to another host.
    const init = { method, headers, signal, redirect: 'manual' as const }
    const send = options.fetch ?? globalThis.fetch
    response = await send(url, body === undefined ? init : { ...init, body })
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (cause) {
    if (call.signal?.aborted) throw call.signal.reason
    const place = placeOf(url)
    if (limit.aborted) {
      throw new GatehookError('timeout', `${method} ${place} took too long.`, { cause })
    }
    throw new GatehookError('network_error', `${method} ${place} got no response.`, { cause })
  }
  const data = parseBody(bytes, response.headers.get('content-type'))
  readResponse({ headers: response.headers, data })
  if (!response.ok && response.status !== 304) throw errorOf(response, data)
  const requestId = response.headers.get('x-request-id') ?? undefined
  return { status: response.status, headers: response.headers, requestId, data }
}

/** Returns origin and path. The rest of a URL can contain a credential or personal data. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'an invalid URL'
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** Types whose bodies are text: `text/csv`, `application/json`, `application/x-ndjson`, … */
const TEXT_TYPE = /^$|^text\/|json|xml|javascript|urlencoded/i

/**
 * Returns the value of a JSON body, other text unchanged, the bytes of any other type, undefined
 * for an empty body.
 */
function parseBody(bytes: Uint8Array, contentType: string | null): unknown {
  if (bytes.length === 0) return undefined
  const [type = ''] = (contentType ?? '').split(';')
  if (!TEXT_TYPE.test(type)) return bytes
  const text = new TextDecoder().decode(bytes)
  if (!/[/+]json\b/i.test(type)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Reads the error envelope (§10.1), also one with fewer members (OAuth, a retired version). */
function errorOf(response: Response, body: unknown): GatehookError {
  const envelope = (typeof body === 'object' && body !== null ? body : {}) as {
    error?: unknown
    message?: unknown
    error_description?: unknown
    request_id?: unknown
    errors?: unknown
    details?: unknown
  }
  const hasCode = typeof envelope.error === 'string'
  const message = envelope.message ?? envelope.error_description
  return new GatehookError(
    hasCode ? (envelope.error as string) : 'unexpected_response',
    typeof message === 'string' ? message : `The API responded with ${response.status}.`,
    {
      status: response.status,
      requestId:
        response.headers.get('x-request-id') ??
        (typeof envelope.request_id === 'string' ? envelope.request_id : undefined),
      errors: Array.isArray(envelope.errors) ? (envelope.errors as FieldError[]) : [],
      retryAfter: retryAfterOf(response.headers.get('retry-after'), Date.now()),
      details: envelope.details,
      body,
    },
  )
}

function tokensOf({ status, requestId, data }: ApiResponse<unknown>): Tokens {
  const { access_token, refresh_token, expires_in } = Object(data) as Record<string, unknown>
  if (typeof access_token !== 'string') {
    const details = { status, requestId }
    throw new GatehookError('unexpected_response', 'The API returned no access token.', details)
  }
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === 'string' ? refresh_token : undefined,
    expiresIn: typeof expires_in === 'number' ? expires_in : undefined,
  }
}

function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
