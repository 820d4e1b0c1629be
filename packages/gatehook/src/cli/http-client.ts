/**
 * Requests of the command line to a running node. The only file of the CLI that opens connections;
 * `api.ts` chooses the node and the key.
 */
import http from 'node:http'
import https from 'node:https'
import { printable } from '../kernel/printable.ts'
import { CommandError, sentenceOfMistake } from './errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: each command reads the members of its own endpoint
export type JsonBody = any

export interface ApiResponse {
  readonly status: number
  readonly body: JsonBody
  /** `Retry-After` in seconds. */
  readonly retryAfterS?: number | undefined
  /** Whether an earlier request with its `Idempotency-Key` got the response first. */
  readonly isReplayed?: boolean
}

/** Sends a request and reads the whole response. */
export type SendRequest = (
  method: string,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
) => Promise<ApiResponse>

/** Returns the headers of a request whose key is the same in every version of the API. */
export const idempotencyHeaders = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { 'idempotency-key': key, prefer: 'idempotency=caller' }

export const REPLAYED_HEADER = 'idempotent-replayed'

const TIMEOUT_MS = 60_000

/** Returns a sender that authenticates with `key`. It throws `CommandError` if no node responds. */
export function remoteSender(url: string, key: string): SendRequest {
  return async (method, path, body, idempotencyKey) => {
    const response = await fetchFrom(url, path, {
      method,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...idempotencyHeaders(idempotencyKey),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return {
      status: response.status,
      body: jsonOrUndefined(await response.text()),
      retryAfterS: retryAfterOf(response),
      isReplayed: response.headers.has(REPLAYED_HEADER),
    }
  }
}

const PROBE_MS = 2_000

/** Returns whether a node answers at a URL. Its certificate may be of another host. */
export const isGatehook = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { rejectUnauthorized: false, signal: AbortSignal.timeout(PROBE_MS) }
    const request = (url.startsWith('https:') ? https : http).get(`${url}/healthz`, options)
    request.once('error', () => resolve(false))
    request.once('response', (response) => {
      resolve(String(response.headers['x-request-id']).startsWith('req_'))
      response.destroy()
    })
  })

export interface OpenedStream {
  readonly status: number
  readonly retryAfterS: number | undefined
  /** The API's message if the status is not 200. */
  readonly message: string
  /** Chunks of text; undefined if the status is not 200. */
  readonly text: AsyncIterable<string> | undefined
}

/** Opens a response that does not end. Throws `CommandError` if no node responds. */
export async function openStream(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const response = await fetchFrom(url, path, { headers, redirect: 'error', signal })
  const { status } = response
  const retryAfterS = retryAfterOf(response)
  if (status === 200 && response.body) {
    const text = response.body.pipeThrough(new TextDecoderStream())
    return { status, retryAfterS, message: '', text: text as AsyncIterable<string> }
  }
  const [message = ''] = messagesOf(jsonOrUndefined(await response.text()), status)
  return { status, retryAfterS, message, text: undefined }
}

function retryAfterOf({ headers }: Response): number | undefined {
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isNaN(retryAfter) ? undefined : retryAfter
}

/** Returns the sentences of an error response, one for each invalid member. */
export function messagesOf(body: JsonBody, status: number): string[] {
  const errors: JsonBody[] = body?.errors ?? []
  if (errors.length === 0) return [printable(body?.message ?? `The API responded with ${status}.`)]
  return errors.map((error) => printable(sentenceOfMistake(error)))
}

async function fetchFrom(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code
    throw new CommandError(
      `No node answers at ${url}${code ? ` (${code})` : ''}. Start one: gatehook start. ` +
        'On another port: --port PORT. For another machine: --url URL.',
    )
  }
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
