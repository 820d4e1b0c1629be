/**
 * Whether a delivery is the sender's, fresh and unchanged (rules §9.13). Pure but for the clock,
 * which is an argument. Deduplication and answers are in `receiver.ts`.
 */
import { type HeadersLike, header } from './headers.ts'
import {
  type Bytes,
  fromBase64,
  fromHex,
  HEADER,
  keyOf,
  macIsValid,
  rawBytes,
  type Scheme,
  signedContent,
} from './signature.ts'

/**
 * The body of a delivery. `created` is Unix time in seconds; `data.object` the state at that time.
 */
export interface WebhookEvent<T = Record<string, unknown>> {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly livemode: boolean
  readonly data: { readonly object: T }
}

/**
 * - `missing_signature`: none of the headers looked for is there.
 * - `malformed_signature`: a header is there, but not in the form of its scheme.
 * - `timestamp_outside_window`: signed too long ago, or too far ahead: a replay, or a wrong clock.
 * - `signature_mismatch`: no secret of ours made this signature over these bytes.
 * - `invalid_event`: signed by us, but not an event (only `receiver()` asks).
 */
export type VerificationErrorCode =
  | 'missing_signature'
  | 'malformed_signature'
  | 'timestamp_outside_window'
  | 'signature_mismatch'
  | 'invalid_event'

/** The delivery must not be believed. Answer 400 with `code`; `message` is for your log. */
export class WebhookVerificationError extends Error {
  readonly code: VerificationErrorCode

  constructor(code: VerificationErrorCode, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}

/**
 * Unix time in seconds, or a `Date`. Numbers above 1e11 are milliseconds, so `Date.now()` is right
 * too.
 */
export type Instant = number | Date

export interface VerifyRules {
  /** The registration's secrets. During a rotation the old and the new one, in any order. */
  readonly secrets: string | readonly string[]
  /** How far the signed time may lie from `now`, in seconds, both ways. Default 300. */
  readonly toleranceSeconds?: number | undefined
  /** The receiver's clock. Default: the machine's. */
  readonly now?: Instant | (() => Instant) | undefined
  /**
   * Which schemes are looked at; others count as absent. Default: all. A has no time in it, so that
   * an old delivery stays valid for ever: `['B', 'standard']` refuses it.
   */
  readonly schemes?: readonly Scheme[] | undefined
}

export interface VerifyOptions extends VerifyRules {
  /** The raw bytes as received, before any parser. */
  readonly body: Bytes
  readonly headers: HeadersLike
}

export interface VerifiedWebhook<Event = WebhookEvent> {
  /** The parsed body; undefined where the signed bytes are not JSON. */
  readonly event: Event | undefined
  /** The scheme that decided. */
  readonly scheme: Scheme
  /** The signed time in seconds; A has none. */
  readonly timestamp?: number
  /** The signed `webhook-id`; Standard Webhooks only. */
  readonly id?: string
}

/** What one header claims: this text was signed, and one of these is the MAC. */
interface Claim {
  readonly scheme: Scheme
  readonly prefix: string
  readonly macs: readonly Uint8Array<ArrayBuffer>[]
  readonly timestamp?: number
  readonly id?: string
}

/** A sender has three live secrets at most; without a bound, a header could order work at will. */
const MAX_SIGNATURES = 10
const DEFAULT_TOLERANCE_S = 300
const UNIX_SECONDS = /^(?:0|[1-9][0-9]{0,11})$/

/**
 * Verifies one delivery. `Gatehook-Signature` decides where it is present, else
 * `webhook-signature`; `X-Hub-Signature-256` only where it stands alone, because it cannot be told
 * from a replay.
 *
 * @throws WebhookVerificationError for everything a sender can get wrong.
 * @throws TypeError for what only the caller can: no secret, or a body that was parsed already.
 */
export async function verify<Event = WebhookEvent>(
  options: VerifyOptions,
): Promise<VerifiedWebhook<Event>> {
  const secrets = secretsOf(options.secrets)
  const body = rawBytes(options.body)
  const claim = readClaim(options.headers, options.schemes ?? ['A', 'B', 'standard'])
  const { scheme, timestamp, id } = claim
  if (timestamp !== undefined) {
    const tolerance = options.toleranceSeconds ?? DEFAULT_TOLERANCE_S
    // Written so that a NaN on either side refuses.
    if (!(Math.abs(unixSeconds(options.now) - timestamp) <= tolerance)) {
      throw new WebhookVerificationError(
        'timestamp_outside_window',
        `The signed time is more than ${tolerance} s from ours.`,
      )
    }
  }
  if (!(await anySecretMade(claim, secrets, body))) {
    throw new WebhookVerificationError('signature_mismatch', 'No secret made this signature.')
  }
  return {
    event: parsed(body) as Event | undefined,
    scheme,
    ...(timestamp !== undefined && { timestamp }),
    ...(id !== undefined && { id }),
  }
}

/** @throws TypeError when there is no secret, or an empty one: that would let anybody in. */
export function secretsOf(secrets: string | readonly string[]): readonly string[] {
  const list = typeof secrets === 'string' ? [secrets] : secrets
  if (list.length === 0 || list.some((secret) => typeof secret !== 'string' || secret === '')) {
    throw new TypeError('At least one secret is needed, and none may be empty.')
  }
  return list
}

async function anySecretMade(
  claim: Claim,
  secrets: readonly string[],
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const content = signedContent(claim.prefix, body)
  for (const secret of secrets) {
    const key = await keyOf(secret, claim.scheme)
    if (!key) continue
    for (const given of claim.macs) if (await macIsValid(key, given, content)) return true
  }
  return false
}

function readClaim(headers: HeadersLike, schemes: readonly Scheme[]): Claim {
  const readers = { B: claimB, standard: claimStandard, A: claimA }
  for (const scheme of ['B', 'standard', 'A'] as const) {
    const value = schemes.includes(scheme) ? header(headers, HEADER[scheme]) : undefined
    if (value !== undefined) return readers[scheme](value, headers)
  }
  throw new WebhookVerificationError('missing_signature', 'The request carries no signature.')
}

function claimA(value: string): Claim {
  const match = /^sha256=([0-9a-fA-F]+)$/.exec(value.trim())
  if (!match) throw malformed(HEADER.A)
  return { scheme: 'A', prefix: '', macs: macsOf(HEADER.A, [match[1]!], fromHex) }
}

function claimB(value: string): Claim {
  const times: string[] = []
  const signatures: string[] = []
  for (const part of value.split(',')) {
    const at = part.indexOf('=')
    if (at < 0) throw malformed(HEADER.B)
    const name = part.slice(0, at).trim()
    if (name === 't') times.push(part.slice(at + 1).trim())
    // Other names are of schemes yet to come; a sender may add them without breaking anyone.
    else if (name === 'v1') signatures.push(part.slice(at + 1).trim())
  }
  const [time] = times
  if (times.length !== 1 || !UNIX_SECONDS.test(time!)) throw malformed(HEADER.B)
  const macs = macsOf(HEADER.B, signatures, fromHex)
  return { scheme: 'B', prefix: `${time}.`, macs, timestamp: Number(time) }
}

function claimStandard(value: string, headers: HeadersLike): Claim {
  const id = header(headers, HEADER.standardId)?.trim() ?? ''
  const time = header(headers, HEADER.standardTimestamp)?.trim() ?? ''
  if (!/^[\x21-\x7e]{1,255}$/.test(id)) throw malformed(HEADER.standardId)
  if (!UNIX_SECONDS.test(time)) throw malformed(HEADER.standardTimestamp)
  const signatures = value
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => part.slice(3))
  const macs = macsOf(HEADER.standard, signatures, fromBase64)
  return { scheme: 'standard', prefix: `${id}.${time}.`, macs, timestamp: Number(time), id }
}

/** Texts that are no MAC at all are left out: they match nothing. */
function macsOf(
  name: string,
  texts: readonly string[],
  decode: (text: string) => Uint8Array<ArrayBuffer> | undefined,
): Uint8Array<ArrayBuffer>[] {
  if (texts.length === 0 || texts.length > MAX_SIGNATURES) throw malformed(name)
  return texts.map(decode).filter((bytes) => bytes !== undefined)
}

const malformed = (name: string) =>
  new WebhookVerificationError('malformed_signature', `The header ${name} is not well formed.`)

function unixSeconds(now: VerifyRules['now']): number {
  const instant = typeof now === 'function' ? now() : (now ?? Date.now())
  const value = instant instanceof Date ? instant.getTime() : instant
  return instant instanceof Date || value > 1e11 ? Math.floor(value / 1000) : value
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}
