/**
 * Verifies that a delivery is authentic, recent and unchanged (§9.13). The clock is an argument.
 * `delivery.ts` deduplicates and responds.
 */
import { findHeader, type HeadersLike } from './headers.ts'
import {
  type Bytes,
  copyBytes,
  deriveKey,
  fromBase64,
  fromHex,
  HEADER,
  isMacValid,
  type Scheme,
  signedContent,
} from './signature.ts'

/**
 * The body of a delivery. `created` is in Unix seconds; `data.object` is the state at that time.
 */
export interface WebhookEvent<T = Record<string, unknown>> {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly livemode: boolean
  readonly data: { readonly object: T }
}

/**
 * - `missing_signature`: the request has no signature of an accepted scheme.
 * - `malformed_signature`: a signature header is malformed.
 * - `timestamp_outside_window`: the signed time is too old or too far ahead: a replay, or a clock
 *   error.
 * - `signature_mismatch`: no secret yields this signature over these bytes.
 * - `invalid_event`: the signature is valid, but the body is not an event (`receiver()` only).
 */
export type VerificationErrorCode =
  | 'missing_signature'
  | 'malformed_signature'
  | 'timestamp_outside_window'
  | 'signature_mismatch'
  | 'invalid_event'

/** The delivery is not authentic. Respond with 400 and `code`; `message` is for the log. */
export class WebhookVerificationError extends Error {
  readonly code: VerificationErrorCode

  constructor(code: VerificationErrorCode, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}

/** A `Date`, or Unix time in seconds; numbers above 1e11 are milliseconds, as of `Date.now()`. */
export type Instant = number | Date

export interface VerifyRules {
  /**
   * The secrets of the registration, in any order: two during a rotation. None may be missing, a
   * placeholder such as `whsec_…`, or contain white space or quotes, as of a configuration file.
   */
  readonly secrets: string | readonly string[]
  /** The maximum difference between the signed time and `now`, in seconds. Default: 300. */
  readonly toleranceSeconds?: number | undefined
  /** The current time. Default: the machine's clock. */
  readonly now?: Instant | (() => Instant) | undefined
  /**
   * The accepted schemes. Default: `['B', 'standard']`. A contains no time, so an old delivery
   * stays valid forever: name A only if the sender has no other scheme.
   */
  readonly schemes?: readonly Scheme[] | undefined
}

export interface VerifyOptions extends VerifyRules {
  /** The raw bytes as received. */
  readonly body: Bytes
  readonly headers: HeadersLike
}

export interface VerifiedWebhook<Event = WebhookEvent> {
  /** The parsed body; undefined if the signed bytes are not JSON. */
  readonly event: Event | undefined
  /** The scheme that was verified. */
  readonly scheme: Scheme
  /** The signed time in Unix seconds; absent with scheme A. */
  readonly timestamp?: number
  /** The signed `webhook-id`; Standard Webhooks only. */
  readonly id?: string
}

/** The parsed signature header: the prefix of the signed content, and the MACs. */
interface SignatureClaim {
  readonly scheme: Scheme
  readonly prefix: string
  readonly macs: readonly Uint8Array<ArrayBuffer>[]
  readonly timestamp?: number
  readonly id?: string
}

/** A sender has at most three live secrets; the maximum bounds the work for a header. */
const MAX_SIGNATURES = 10
const DEFAULT_TOLERANCE_S = 300
const DEFAULT_SCHEMES: readonly Scheme[] = ['B', 'standard']
const WHITE_OR_QUOTE = '[\\s"\'`\u2018-\u201f]'
/** A secret of a registration contains none. */
const WITH_WHITE_OR_QUOTE = new RegExp(WHITE_OR_QUOTE)
/** The secret of another sender may contain them, as the example of GitHub does. */
const AROUND_SECRET = new RegExp(`^${WHITE_OR_QUOTE}|${WHITE_OR_QUOTE}$`)

/** Texts in the place of a secret, without separators. */
const PLACEHOLDER_WORDS: ReadonlySet<string> = new Set(
  (
    ' undefined null nil none unset notset empty missing todo tbd changeme replaceme placeholder ' +
    'yoursecret yourwebhooksecret'
  ).split(' '),
)

/** Whether a secret is the text of an example, or of a variable that is not set. */
function isPlaceholder(secret: string): boolean {
  const rest = secret.replace(/^whsec_?/i, '')
  if (PLACEHOLDER_WORDS.has(rest.toLowerCase().replace(/[-_]/g, ''))) return true
  return rest.startsWith('<') || rest.includes('…') || rest.includes('...')
}
const UNIX_SECONDS = /^(?:0|[1-9][0-9]{0,11})$/

/**
 * Verifies a delivery by one scheme: `Gatehook-Signature` if present, else `webhook-signature`.
 * `X-Hub-Signature-256`, which does not protect from replays, counts if `schemes` names A.
 *
 * @example
 * const { event } = await verify({ body, headers, secrets: [secret] })
 * @throws {WebhookVerificationError} The delivery is not authentic.
 * @throws {TypeError} A secret is missing or a placeholder, or has white space or quotes around it;
 *   or the body was parsed before.
 */
export async function verify<Event = WebhookEvent>(
  options: VerifyOptions,
): Promise<VerifiedWebhook<Event>> {
  const secrets = requireSecrets(options.secrets)
  const body = copyBytes(options.body)
  const claim = parseSignature(options.headers, options.schemes ?? DEFAULT_SCHEMES)
  const { scheme, timestamp, id } = claim
  if (timestamp !== undefined) {
    const tolerance = options.toleranceSeconds ?? DEFAULT_TOLERANCE_S
    // In this form, NaN is rejected as well.
    if (!(Math.abs(unixSeconds(options.now) - timestamp) <= tolerance)) {
      throw new WebhookVerificationError(
        'timestamp_outside_window',
        `The signed time differs from the clock by more than ${tolerance} s.`,
      )
    }
  }
  if (!(await matchesAnySecret(claim, secrets, body))) {
    throw new WebhookVerificationError(
      'signature_mismatch',
      'No secret yields this signature. Compare the secrets with that of the registration.',
    )
  }
  return {
    event: parseJson(body) as Event | undefined,
    scheme,
    ...(timestamp !== undefined && { timestamp }),
    ...(id !== undefined && { id }),
  }
}

/**
 * @throws {TypeError} A secret is missing or a placeholder, or begins or ends with white space or a
 *   quote.
 */
export function requireSecrets(
  secrets: string | readonly string[],
  fault: RegExp = AROUND_SECRET,
): readonly string[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  if (list.length === 0 || list.some((secret) => typeof secret !== 'string' || secret === '')) {
    throw new TypeError('At least one secret is required, and none may be missing or empty.')
  }
  if (list.some((secret) => isPlaceholder(secret as string))) {
    throw new TypeError(
      'A secret is a placeholder. Configure the text that registration and rotation return: ' +
        'whsec_ and 44 characters.',
    )
  }
  if (list.some((secret) => fault.test(secret as string))) {
    throw new TypeError('A secret contains white space or quotes. Configure it without them.')
  }
  return list as readonly string[]
}

/**
 * @throws {TypeError} A secret of a registration is missing or a placeholder, or contains white
 *   space or quotes.
 */
export const requireRegisteredSecrets = (secrets: string | readonly string[]): void =>
  void requireSecrets(secrets, WITH_WHITE_OR_QUOTE)

async function matchesAnySecret(
  claim: SignatureClaim,
  secrets: readonly string[],
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const content = signedContent(claim.prefix, body)
  for (const secret of secrets) {
    const key = await deriveKey(secret, claim.scheme)
    if (!key) continue
    for (const mac of claim.macs) if (await isMacValid(key, mac, content)) return true
  }
  return false
}

function parseSignature(headers: HeadersLike, schemes: readonly Scheme[]): SignatureClaim {
  const parsers = { B: parseB, standard: parseStandard, A: parseA }
  for (const scheme of ['B', 'standard', 'A'] as const) {
    const value = schemes.includes(scheme) ? findHeader(headers, HEADER[scheme]) : undefined
    if (value !== undefined) return parsers[scheme](value, headers)
  }
  throw new WebhookVerificationError('missing_signature', 'The request has no signature.')
}

function parseA(value: string): SignatureClaim {
  const match = /^sha256=([0-9a-fA-F]+)$/.exec(value.trim())
  if (!match) throw malformedHeader(HEADER.A)
  return { scheme: 'A', prefix: '', macs: decodeMacs(HEADER.A, [match[1]!], fromHex) }
}

function parseB(value: string): SignatureClaim {
  const times: string[] = []
  const signatures: string[] = []
  for (const part of value.split(',')) {
    const at = part.indexOf('=')
    if (at < 0) throw malformedHeader(HEADER.B)
    const name = part.slice(0, at).trim()
    if (name === 't') times.push(part.slice(at + 1).trim())
    // Unknown names belong to future schemes.
    else if (name === 'v1') signatures.push(part.slice(at + 1).trim())
  }
  const [time] = times
  if (times.length !== 1 || !UNIX_SECONDS.test(time!)) throw malformedHeader(HEADER.B)
  const macs = decodeMacs(HEADER.B, signatures, fromHex)
  return { scheme: 'B', prefix: `${time}.`, macs, timestamp: Number(time) }
}

function parseStandard(value: string, headers: HeadersLike): SignatureClaim {
  const id = findHeader(headers, HEADER.standardId)?.trim() ?? ''
  const time = findHeader(headers, HEADER.standardTimestamp)?.trim() ?? ''
  if (!/^[\x21-\x7e]{1,255}$/.test(id)) throw malformedHeader(HEADER.standardId)
  if (!UNIX_SECONDS.test(time)) throw malformedHeader(HEADER.standardTimestamp)
  const signatures = value
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => part.slice(3))
  const macs = decodeMacs(HEADER.standard, signatures, fromBase64)
  return { scheme: 'standard', prefix: `${id}.${time}.`, macs, timestamp: Number(time), id }
}

/** Decodes MACs and skips malformed ones, which cannot match. */
function decodeMacs(
  name: string,
  texts: readonly string[],
  decode: (text: string) => Uint8Array<ArrayBuffer> | undefined,
): Uint8Array<ArrayBuffer>[] {
  if (texts.length === 0 || texts.length > MAX_SIGNATURES) throw malformedHeader(name)
  return texts.map(decode).filter((bytes) => bytes !== undefined)
}

const malformedHeader = (name: string) =>
  new WebhookVerificationError('malformed_signature', `The header ${name} is malformed.`)

/** Returns the instant of `now` in Unix seconds; without one, that of the machine's clock. */
export function unixSeconds(now: VerifyRules['now']): number {
  const instant = typeof now === 'function' ? now() : (now ?? Date.now())
  const value = instant instanceof Date ? instant.getTime() : instant
  return instant instanceof Date || value > 1e11 ? Math.floor(value / 1000) : value
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}
