/**
 * Verifies keys and access tokens for an application beside Gatehook (`POST /keys/verify`), caches
 * the answers, and bridges an outage. It stores hashes of questions, and no credential.
 */
import { GatehookError } from './error.ts'
import { createMiddleware, type VerifierMiddleware } from './middleware.ts'
import { createSend } from './transport.ts'
import {
  type Verification,
  type VerificationQuestion,
  VerifierUnavailable,
  type Verify,
} from './verification.ts'
import { createVerifierCache, type QuestionName } from './verifier-cache.ts'

export interface Verifier extends VerifierMiddleware {
  /**
   * Rejects with `VerifierUnavailable` without a verdict, and with `GatehookError` if the service
   * rejects the request itself, such as the key of the application.
   */
  readonly verify: Verify
}

export interface VerifierOptions {
  /** URL of the service; it may contain a path, and contains no user name or password. */
  readonly url: string
  /** A key with the scope `keys:verify` or `keys:verify_all`: visible ASCII characters. */
  readonly key: string
  /** How long an active credential is cached: 0 to 5 s. Default 5. A refusal is cached for 1 s. */
  readonly cacheS?: number | undefined
  /** Time limit of a request. Default 1,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How old the last active answer may be while the service gives no answer (network, time limit,
   * 5xx): 0 to 300 s. Default 0.
   */
  readonly staleS?: number | undefined
  /**
   * Called with each failed verification; a mistake of the function does not change the answer. Log
   * codes and status: `body` and `cause` contain text of others. Default: a line of these on the
   * error output of the process, once in 10 s, without any credential.
   */
  readonly onFailure?: ((error: GatehookError) => unknown) | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Returns epoch milliseconds. */
  readonly now?: (() => number) | undefined
}

const REFUSAL_MS = 1000

/**
 * Creates a verifier.
 *
 * @throws TypeError for a missing or malformed key, or a URL that is not http or https or contains
 *   a user name or a password
 * @throws RangeError for a `cacheS` beyond 5 or a `staleS` beyond 300
 * @example
 * const verifier = createVerifier({ url: 'https://api.example.com', key, staleS: 60 })
 * app.get('/reports', verifier.express({ scopes: ['reports:read'] }), listReports)
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { timeoutMs = 1000, fetch, now = Date.now } = options
  const apiKey = keyOf(options.key)
  const cacheMs = secondsWithin('cacheS', options.cacheS ?? 5, 5) * 1000
  const staleMs = secondsWithin('staleS', options.staleS ?? 0, 300) * 1000
  const baseUrl = baseUrlOf(options.url)
  const send = createSend({ baseUrl, apiKey, retries: 0, timeoutMs, fetch }, baseUrl)
  const cache = createVerifierCache(now)
  const print = createPrinter(now)
  const { onFailure = (error) => print(`no verification: ${describeFailure(error)}`) } = options

  const report = async (error: GatehookError) => {
    try {
      await onFailure(error)
    } catch (thrown) {
      print(`onFailure failed: ${causesOf(thrown).join('; ') || typeof thrown}`)
    }
  }
  const request = async (question: VerificationQuestion): Promise<Verification> => {
    const { data } = await send('POST', `${baseUrl}/keys/verify`, question)
    if (typeof (data as Verification | undefined)?.active === 'boolean') return data as Verification
    throw new GatehookError('unexpected_response', 'The service returned no verification.')
  }

  const verify: Verify = async (question) => {
    const name = await nameOf(question)
    const isCached = (question.cost ?? 0) === 0
    const recent = isCached && cache.recall(name, cacheMs, REFUSAL_MS)
    if (recent) return recent
    try {
      const answer = await request(question)
      cache.add(name, answer, isCached)
      return answer
    } catch (error) {
      if (!(error instanceof GatehookError)) throw error
      void report(error)
      if (isOutage(error)) {
        const last = isCached && cache.recall(name, staleMs, 0)
        if (last) return last
      } else {
        cache.end(name.credential)
        if (error.status !== 429) throw error
      }
      throw new VerifierUnavailable(error)
    }
  }
  return { verify, ...createMiddleware(verify) }
}

const PRINTED_EACH_MS = 10_000

/** Prints lines for the operator of the application; the client sees none of them. */
function createPrinter(now: () => number): (line: string) => void {
  let printedAt = Number.NEGATIVE_INFINITY
  return (line) => {
    const ageMs = now() - printedAt
    if (ageMs >= 0 && ageMs < PRINTED_EACH_MS) return // below 0 the clock was set back
    printedAt = now()
    console.error(`gatehook-client: ${line.replace(/[\x00-\x1f\x7f]/g, ' ').slice(0, PRINTED_MAX)}`)
  }
}

/**
 * Returns the codes of an error and its causes, and the text of this client. Text of others can
 * contain a URL, a header or the body, and so a credential.
 */
function describeFailure({ code, status, message, requestId, cause }: GatehookError): string {
  const ownText = status === 0 ? `${code} ${message}` : code
  const facts = [status > 0 && `status ${status}`, requestId && `request ${requestId}`]
  return [ownText, ...facts.filter(Boolean), ...causesOf(cause)].join('; ')
}

/** Returns the code, else the type, of an error and of its causes. */
function causesOf(error: unknown): string[] {
  const causes: string[] = []
  for (let at = error; at instanceof Error && causes.length < 3; at = at.cause) {
    const { code } = at as { code?: unknown }
    causes.push(typeof code === 'string' ? code : at.name)
  }
  return causes
}

const PRINTED_MAX = 500

/**
 * Returns whether the service gave no answer. Any other failure is an answer. A 429 means that the
 * credential is unknown, and that strangers may have used up the limit of the application.
 */
const isOutage = ({ status }: GatehookError): boolean => status === 0 || status >= 500

/** Returns a key without the space around it, which is no part of a header. */
function keyOf(text: string | undefined): string {
  const key = text?.trim()
  if (!key) throw new TypeError('key has no value: a key with keys:verify or keys:verify_all.')
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new TypeError('key is malformed: a key has visible ASCII characters only.')
}

/** Returns origin and path. A mistake names no URL, which may contain a password. */
function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError('url must be http or https.')
  if (url.username || url.password) {
    throw new TypeError('url contains a user name or a password: the verifier sends only its key.')
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function secondsWithin(name: string, value: number, max: number): number {
  if (value >= 0 && value <= max) return value
  throw new RangeError(`${name} is ${value}; it must be 0 to ${max} seconds.`)
}

async function nameOf(question: VerificationQuestion): Promise<QuestionName> {
  const { credential, scopes = [], address, resource } = question
  const [ofCredential, inputs] = await Promise.all([
    hashOf(credential),
    hashOf(JSON.stringify([credential, [...scopes].sort(), address, resource])),
  ])
  return { credential: ofCredential, inputs }
}

async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
