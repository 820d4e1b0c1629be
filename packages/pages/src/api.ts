/** The only file that sends requests. Failures carry the problem that the server returned. */
import { signal } from '@preact/signals'
import { nowMs } from './clock.ts'
import { mountedUrl } from './mount-path.ts'
import { valueListText } from './value-list.ts'

export interface FieldProblem {
  readonly pointer?: string
  readonly parameter?: string
  readonly code: string
  readonly message: string
}

/** The JSON of an error response (`application/json`). */
export interface Problem {
  readonly error: string
  readonly message: string
  readonly status: number
  readonly request_id?: string
  readonly errors?: readonly FieldProblem[]
  /** Of `/readyz`: the checks that fail. */
  readonly reasons?: readonly { readonly message: string }[]
}

/** A response with a status of 400 or more; status 0: the server did not respond. */
export class ApiFailure extends Error {
  readonly problem: Problem
  /** Seconds of `Retry-After`. */
  readonly retryAfterS: number | undefined

  constructor(problem: Problem, retryAfterS?: number) {
    super(problem.message)
    this.problem = problem
    this.retryAfterS = retryAfterS
  }

  get status(): number {
    return this.problem.status
  }

  get code(): string {
    return this.problem.error
  }
}

/** Grows when a session begins: parts then load their data. */
export const sessionEpoch = signal(0)
/** True while a request was rejected with 401: the sign-in form covers the page. */
export const isSessionOver = signal(false)
/** The number of requests in flight that a reader waits for. */
export const pending = signal(0)
/** When the server stopped responding: after three requests in a row failed. */
export const offlineSince = signal<number | undefined>(undefined)

const TRIES_BEFORE_OFFLINE = 3
let failedInRow = 0
let firstFailureMs = 0

/** The header that marks requests of these pages; the portal sets its own. */
let pageHeader = 'x-gatehook-console'
export const setPageHeader = (name: string): void => {
  pageHeader = name
}

export type Query = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>

/** Appends a query; members that are undefined, null or empty are left out. */
export function withQuery(path: string, query: Query = {}): string {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue
    words.set(name, Array.isArray(value) ? valueListText(value) : String(value))
  }
  const text = words.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2F', '/')
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`
}

export interface SendOptions {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** A 401 is then a failure of this request, and opens no sign-in form. */
  readonly isSignIn?: boolean
}

export interface Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

/** Sends a request. @throws {ApiFailure} for every other status than 2xx. */
export async function send<T>(
  method: string,
  path: string,
  options: SendOptions = {},
): Promise<Reply<T>> {
  const { query, body, signal } = options
  const headers: Record<string, string> = { [pageHeader]: '1', ...options.headers }
  if (body !== undefined) headers['content-type'] ??= 'application/json'
  const init: RequestInit = { method, headers, credentials: 'same-origin' }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal) init.signal = signal
  let response: Response
  let text: string
  pending.value++
  try {
    response = await fetch(mountedUrl(withQuery(path, query)), init)
    text = await response.text()
  } catch (error) {
    if ((error as Error).name !== 'AbortError') noteSilence()
    throw unreachable(error as Error)
  } finally {
    pending.value--
  }
  failedInRow = 0
  offlineSince.value = undefined
  const { status } = response
  const json = text === '' ? undefined : parseJson(text)
  if (response.ok) {
    if (json !== NOT_JSON) return { status, headers: response.headers, body: json as T }
    const message = 'The response is not JSON. A proxy may have replaced it.'
    throw new ApiFailure({ error: 'invalid_response', message, status })
  }
  const failure = failureOf(response, json === NOT_JSON ? undefined : json)
  if (failure.status === 401 && !options.isSignIn) isSessionOver.value = true
  throw failure
}

/** Sends a GET and returns the body. */
export const get = async <T>(path: string, options?: SendOptions): Promise<T> =>
  (await send<T>('GET', path, options)).body

/** Returns why the server is not ready, in the sentences that `/readyz` returns to everyone. */
export async function readReasons(): Promise<readonly string[]> {
  try {
    await send('GET', '/readyz')
    return []
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
    return (error.problem.reasons ?? []).map(({ message }) => message)
  }
}

function noteSilence(): void {
  if (failedInRow++ === 0) firstFailureMs = nowMs()
  if (failedInRow >= TRIES_BEFORE_OFFLINE) offlineSince.value = firstFailureMs
}

function unreachable(cause: Error): Error {
  if (cause.name === 'AbortError') return cause
  const message = 'The server does not respond.'
  return new ApiFailure({ error: 'no_response', message, status: 0 })
}

const NOT_JSON = Symbol('text that is not JSON')

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return NOT_JSON
  }
}

function failureOf(response: Response, body: unknown): ApiFailure {
  const retry = Number(response.headers.get('retry-after'))
  const { status } = response
  const fallback = { error: `status_${status}`, message: `The server returned ${status}.`, status }
  const id = response.headers.get('x-request-id')
  const problem = { ...fallback, ...(id !== null && { request_id: id }), ...(body as object) }
  return new ApiFailure(problem, Number.isFinite(retry) && retry > 0 ? retry : undefined)
}

/** The same request as a shell command with an admin key instead of the session. */
export function curlOf(method: string, path: string, body?: unknown): string {
  const words = ['curl']
  if (method !== 'GET') words.push('-X', method)
  words.push('-H "X-API-Key: $KEY"')
  if (body !== undefined) {
    words.push("-H 'Content-Type: application/json'")
    words.push(`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`)
  }
  return [...words, `"${location.origin}${path}"`].join(' ')
}
