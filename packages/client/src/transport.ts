/**
 * One call: attempts with a time limit each, pauses between them, the token renewed once, and the
 * answer as data or a `GatehookError`. The only file that calls `fetch`.
 */
import { type Credential, type Credentials, credentialsOf, type Tokens } from './credentials.ts'
import { type DeprecationNotice, deprecationOf } from './deprecation.ts'
import { type FieldError, GatehookError } from './error.ts'
import { delayMs, isTransient, retryAfterOf } from './retry.ts'

export interface TransportOptions {
  /** Where the service lives: `https://api.example.com`. A path in it is kept. */
  readonly baseUrl: string
  /** The version called, for example `v2`. Without it the service takes the credential's pin. */
  readonly version?: string | undefined
  /** How often a failed attempt is tried again. Default 3. */
  readonly retries?: number | undefined
  /** A longer `Retry-After` is not waited for; the error carries it. Seconds, default 60. */
  readonly maxRetryAfterSeconds?: number | undefined
  /** Limit of each attempt, body included, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Called once for each version whose answers say that it will end. */
  readonly onDeprecation?: ((notice: DeprecationNotice) => unknown) | undefined
  /** Called, and awaited, with each new pair of tokens: store it, the old refresh token is dead. */
  readonly onTokens?: ((tokens: Tokens) => unknown) | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Waits; rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
  /** In [0, 1); for the pauses only. */
  readonly random?: (() => number) | undefined
  /** Makes idempotency keys. Default: `crypto.randomUUID`. */
  readonly newKey?: (() => string) | undefined
}

export interface CallOptions {
  /** Ends the call, its pauses included; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: a random one for POST and PATCH, the same in all attempts of this call. */
  readonly idempotencyKey?: string | undefined
}

/** An answer of the API. `data` is the parsed body, undefined where there is none (204, 304). */
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
  readonly body: string | undefined
  readonly headers: Record<string, string>
  readonly options: CallOptions
}

const DEFAULTS = { retries: 3, maxRetryAfterSeconds: 60, timeoutMs: 30_000 }

export function createSend(options: TransportOptions & Credential, baseUrl: string): Send {
  const sleep = options.sleep ?? pause
  const retries = options.retries ?? DEFAULTS.retries
  const longest = options.maxRetryAfterSeconds ?? DEFAULTS.maxRetryAfterSeconds
  const noted = new Set<string>()

  const note = ({ headers, data }: { headers: Headers; data: unknown }) => {
    const notice = options.onDeprecation && deprecationOf(headers, data, options.version)
    if (!notice || noted.has(notice.version)) return
    noted.add(notice.version)
    options.onDeprecation?.(notice)
  }

  /** Tries until it works, the failure is not transient, or the attempts are used up. */
  const persist = async (
    once: () => Promise<ApiResponse<unknown>>,
    signal: AbortSignal | undefined,
  ) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once()
      } catch (error) {
        if (!(error instanceof GatehookError) || !isTransient(error)) throw error
        if (attempt > retries || (error.retryAfter ?? 0) > longest) throw error
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
      // One attempt: the calls that wait for it come back to it with their own pauses.
      return tokensOf(await attemptOnce(attempt, options, () => {}))
    },
    options.onTokens,
  )

  return async (method, url, body, call = {}) => {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (method === 'POST' || method === 'PATCH') {
      const make = options.newKey ?? (() => crypto.randomUUID())
      headers['idempotency-key'] = call.idempotencyKey ?? make()
    }
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      headers[name.toLowerCase()] = value
    }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const attempt = { method, url, body: text, headers, options: call }
    const once = () => withCredential(attempt, credentials, options, note)
    return await persist(once, call.signal)
  }
}

/** One attempt, and a second at once when the token was refused and could be renewed. */
async function withCredential(
  attempt: Attempt,
  credentials: Credentials,
  options: TransportOptions,
  note: (answer: { headers: Headers; data: unknown }) => void,
): Promise<ApiResponse<unknown>> {
  const go = (auth: Record<string, string>) =>
    attemptOnce({ ...attempt, headers: { ...auth, ...attempt.headers } }, options, note)
  const auth = await credentials.headers()
  try {
    return await go(auth)
  } catch (error) {
    const refused =
      error instanceof GatehookError && error.status === 401 && error.code === 'invalid_token'
    if (!refused || !(await credentials.renew(auth))) throw error
    return await go(await credentials.headers())
  }
}

async function attemptOnce(
  { method, url, body, headers, options: call }: Attempt,
  options: TransportOptions,
  note: (answer: { headers: Headers; data: unknown }) => void,
): Promise<ApiResponse<unknown>> {
  call.signal?.throwIfAborted()
  const limit = AbortSignal.timeout(call.timeoutMs ?? options.timeoutMs ?? DEFAULTS.timeoutMs)
  const signal = call.signal ? AbortSignal.any([call.signal, limit]) : limit
  let response: Response
  let text: string
  try {
    // A redirect is never followed: it could carry the key to another host.
    const init = { method, headers, signal, redirect: 'manual' as const }
    const send = options.fetch ?? globalThis.fetch
    response = await send(url, body === undefined ? init : { ...init, body })
    text = await response.text()
  } catch (cause) {
    if (call.signal?.aborted) throw call.signal.reason
    if (limit.aborted) throw new GatehookError('timeout', 'The API took too long.', { cause })
    throw new GatehookError('network_error', 'The API could not be reached.', { cause })
  }
  const data = parsed(text, response.headers.get('content-type'))
  note({ headers: response.headers, data })
  if (!response.ok && response.status !== 304) throw refusalOf(response, data)
  const requestId = response.headers.get('x-request-id') ?? undefined
  return { status: response.status, headers: response.headers, requestId, data }
}

/** JSON as its value; other text as it is; nothing as undefined. */
function parsed(text: string, contentType: string | null): unknown {
  if (text === '') return undefined
  if (!/[/+]json\b/i.test(contentType ?? '')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The envelope of rule §10.1, also where it says less (410 of a retired version, OAuth). */
function refusalOf(response: Response, body: unknown): GatehookError {
  const envelope = (typeof body === 'object' && body !== null ? body : {}) as {
    error?: unknown
    message?: unknown
    error_description?: unknown
    request_id?: unknown
    errors?: unknown
  }
  const known = typeof envelope.error === 'string'
  const said = envelope.message ?? envelope.error_description
  return new GatehookError(
    known ? (envelope.error as string) : 'unexpected_response',
    typeof said === 'string' ? said : `The API answered ${response.status}.`,
    {
      status: response.status,
      requestId:
        response.headers.get('x-request-id') ??
        (typeof envelope.request_id === 'string' ? envelope.request_id : undefined),
      errors: Array.isArray(envelope.errors) ? (envelope.errors as FieldError[]) : [],
      retryAfter: retryAfterOf(response.headers.get('retry-after'), Date.now()),
      body,
    },
  )
}

function tokensOf({ status, requestId, data }: ApiResponse<unknown>): Tokens {
  const { access_token, refresh_token, expires_in } = Object(data) as Record<string, unknown>
  if (typeof access_token !== 'string') {
    const details = { status, requestId }
    throw new GatehookError('unexpected_response', 'The API gave no access token.', details)
  }
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === 'string' ? refresh_token : undefined,
    expiresIn: typeof expires_in === 'number' ? expires_in : undefined,
  }
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
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
