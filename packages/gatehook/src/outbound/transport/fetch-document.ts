/**
 * Fetches a JSON document whose URL a caller chose, under the guard of receivers (§9.9): the dialed
 * address is checked, redirects are not followed, and every part of the response is bounded.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { FetchDocument } from '../../kernel/fetched-document.ts'
import { parseJsonBody } from '../../protocol/http/json-body.ts'
import { httpDateMs, type Outcome, type Send } from './attempt.ts'

const TIMEOUT_MS = 5_000

interface FetchDeps {
  readonly send: Send
  readonly userAgent: string
  readonly clock: Pick<Clock, 'now'>
}

/** The error says why, for the log: callers must not learn it. */
export const createDocumentFetcher =
  ({ send, userAgent, clock }: FetchDeps): FetchDocument =>
  async (url, maxBytes) => {
    const headers = { accept: 'application/json', 'user-agent': userAgent }
    const request = { method: 'GET', url, headers, body: null, timeoutMs: TIMEOUT_MS } as const
    const outcome = await send(request)
    if (outcome.kind === 'failed') throw new Error(outcome.message)
    const text = readBody(outcome, maxBytes)
    const lifetimeMs = cacheLifetimeMs(outcome.headers, clock.now())
    return { value: parseJsonBody(Buffer.from(text)), lifetimeMs }
  }

type Response = Extract<Outcome, { kind: 'answered' }>

function readBody({ status, headers, body, isWhole }: Response, maxBytes: number): string {
  if (status !== 200) throw new Error(`the status is ${status}`)
  if (!isJson(headers['content-type'] ?? '')) throw new Error('the media type is not JSON')
  if (!isWhole || Buffer.byteLength(body) > maxBytes) {
    throw new Error(`the body is incomplete, or longer than ${maxBytes} bytes`)
  }
  // Invalid UTF-8 was decoded to this character.
  if (body.includes('\uFFFD')) throw new Error('the body is not valid UTF-8')
  return body
}

function isJson(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type === 'application/json' || /^application\/[^/]+\+json$/.test(type)
}

/** Returns how long a shared cache may reuse a response (RFC 9111 §4.2). */
function cacheLifetimeMs(headers: Readonly<Record<string, string>>, nowMs: number): number {
  const control = headers['cache-control'] ?? ''
  if (/\b(?:no-store|no-cache|private)\b/i.test(control)) return 0
  const age = Number(/^\d{1,9}$/.exec(headers.age ?? '')?.[0] ?? 0)
  const seconds =
    /\bs-maxage="?(\d{1,9})/i.exec(control)?.[1] ??
    /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control)?.[1]
  if (seconds !== undefined) return Math.max(0, Number(seconds) - age) * 1000
  const expiresMs = httpDateMs(headers.expires ?? '')
  return expiresMs === undefined ? 0 : Math.max(0, expiresMs - nowMs)
}
