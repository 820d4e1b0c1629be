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

export interface Verifier extends VerifierMiddleware {
  /** Rejects with `VerifierUnavailable`, or `GatehookError` if the service rejects the request. */
  readonly verify: Verify
}

export interface VerifierOptions {
  /** URL of the service; it may contain a path. */
  readonly url: string
  /** A key with the scope `keys:verify` or `keys:verify_all`. */
  readonly key: string
  /** How long an active credential is cached: 0 to 5 s. Default 5. A refusal is cached for 1 s. */
  readonly cacheS?: number | undefined
  /** Time limit of a request. Default 1,000. */
  readonly timeoutMs?: number | undefined
  /** How old the last active answer may be while the service is away: 0 to 300 s. Default 0. */
  readonly staleS?: number | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Returns epoch milliseconds. */
  readonly now?: (() => number) | undefined
}

const MAX_ANSWERS = 10_000
const REFUSAL_MS = 1000

/**
 * Creates a verifier.
 *
 * @throws RangeError for a `cacheS` beyond 5 or a `staleS` beyond 300
 * @example
 * const verifier = createVerifier({ url: 'http://gatehook:8788', key, staleS: 60 })
 * app.get('/reports', verifier.express({ scopes: ['reports:read'] }), listReports)
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { key: apiKey, timeoutMs = 1000, fetch, now = Date.now } = options
  const cacheMs = secondsWithin('cacheS', options.cacheS ?? 5, 5) * 1000
  const staleMs = secondsWithin('staleS', options.staleS ?? 0, 300) * 1000
  const baseUrl = options.url.replace(/\/+$/, '')
  const send = createSend({ baseUrl, apiKey, retries: 0, timeoutMs, fetch }, baseUrl)
  const answers = new Map<string, { readonly answer: Verification; readonly at: number }>()

  const request = async (question: VerificationQuestion): Promise<Verification> => {
    const { data } = await send('POST', `${baseUrl}/keys/verify`, question)
    if (typeof (data as Verification | undefined)?.active === 'boolean') return data as Verification
    throw new GatehookError('unexpected_response', 'The service returned no verification.')
  }
  const recall = (name: string, activeMs: number, refusalMs: number) => {
    const entry = answers.get(name)
    if (!entry) return undefined
    const { answer, at } = entry
    const ageMs = now() - at
    if (!answer.active) return ageMs < refusalMs ? answer : undefined
    const hasExpired = answer.expires_at !== null && Date.parse(answer.expires_at) <= now()
    return ageMs < activeMs && !hasExpired ? answer : undefined
  }
  const store = (name: string, answer: Verification) => {
    answers.delete(name)
    answers.set(name, { answer, at: now() })
    if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value!)
  }

  const verify: Verify = async (question) => {
    const name = (question.cost ?? 0) === 0 ? await nameOf(question) : undefined
    const recent = name && recall(name, cacheMs, REFUSAL_MS)
    if (recent) return recent
    try {
      const answer = await request(question)
      if (name) store(name, answer)
      return answer
    } catch (error) {
      if (!(error instanceof GatehookError) || !isOutage(error)) throw error
      const last = name && recall(name, staleMs, 0)
      if (last) return last
      throw new VerifierUnavailable(error)
    }
  }
  return { verify, ...createMiddleware(verify) }
}

/** Whether the service did not answer; another 4xx is a mistake of the application. */
const isOutage = ({ status, code }: GatehookError): boolean =>
  status === 0 || status === 429 || status >= 500 || code === 'unexpected_response'

function secondsWithin(name: string, value: number, max: number): number {
  if (value >= 0 && value <= max) return value
  throw new RangeError(`${name} is ${value}; it must be 0 to ${max} seconds.`)
}

/** Returns a hash of all inputs. */
async function nameOf(question: VerificationQuestion): Promise<string> {
  const { credential, scopes = [], address, resource } = question
  const text = JSON.stringify([credential, [...scopes].sort(), address, resource])
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
