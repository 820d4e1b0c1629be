/** The `Idempotency-Key` header, and which requests are the same request (§11.1). */
import { createHmac, hash, type KeyObject } from 'node:crypto'
import { Failure } from '../../kernel/failure.ts'
import { credentialName } from '../../kernel/principal.ts'
import type { Call } from '../http/call.ts'
import { MediaBody } from '../http/media-body.ts'
import { preferenceValues } from '../http/preferences.ts'
import { versionParameters } from '../http/query.ts'

const KEY_MAX_CHARACTERS = 255

/**
 * Returns the request's idempotency key, bare or quoted; undefined without the header. Throws
 * `invalid_idempotency_key`.
 *
 * @see draft-ietf-httpapi-idempotency-key-header §2.1
 */
export function readIdempotencyKey({ rawHeaders }: Call): string | undefined {
  const values = rawHeaders.filter(
    (_text, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'idempotency-key',
  )
  if (values.length === 0) return undefined
  const text = values[0]!.trim()
  const key = /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text
  if (values.length > 1 || !/^[\x21-\x7e]+$/.test(key) || key.length > KEY_MAX_CHARACTERS) {
    throw new Failure('invalid_idempotency_key')
  }
  return key
}

/**
 * Derives the hash that the ids of a request's record contain: SHA-256 over credential, method,
 * path, version and key.
 */
export function deriveRecordHash(call: Call, key: string): Buffer {
  const { principal, method, path, version = null } = call
  return hashParts([credentialName(principal!), method, path, version, key])
}

/**
 * Derives the hash of a request whose key is valid for the caller as a whole. With its key, a
 * request of another method, path or content is rejected, and one of another version is a repeat.
 */
export const deriveCallerHash = ({ principal }: Call, key: string): Buffer =>
  hashParts([credentialName(principal!), key])

/** Returns the method and the path of a request, without its version. */
export const targetOf = ({ method, path, versionSegment }: Call): string =>
  `${method} ${versionSegment === undefined ? path : path.replace(`/${versionSegment}`, '')}\n`

const hashParts = (parts: readonly (string | null)[]): Buffer =>
  hash('sha256', JSON.stringify(parts), 'buffer')

/** Returns whether the request has the preference `idempotency=caller`. */
export const prefersCallerKeys = (call: Pick<Call, 'headers'>): boolean =>
  preferenceValues(call, 'idempotency').includes('caller')

type Content = Pick<Call, 'body' | 'query'>
type CountsWork = Pick<Call, 'startWork'>

/** Computes the HMAC of the content of a request under a key. */
export type FingerprintCall = (key: KeyObject) => Buffer

/**
 * Reads the content of a request once for all keys. The HMAC is keyed because a body may contain a
 * password: a bare hash would allow a reader of the database to guess it.
 *
 * @param target - what else a repeat must have
 */
export async function readFingerprint(
  call: Content & CountsWork,
  target = '',
): Promise<FingerprintCall> {
  const [text] = await contentTexts(call, [call])
  return (key) => createHmac('sha256', key).update(target).update(text!).digest()
}

/** Returns the content of requests, which is work of `call` (§11.5). */
export async function contentTexts(
  call: CountsWork,
  contents: readonly Content[],
): Promise<string[]> {
  const work = call.startWork()
  const texts: string[] = []
  for (const content of contents) {
    const text = work.measure(contentText)(content)
    texts.push(text)
    await work.count(text.length)
  }
  return texts
}

/** Returns the content that a repeat must have: the body, and the query if there is one. */
function contentText({ body, query }: Content): string {
  const sent = query.entries.filter(([name]) => name !== 'api_key' && !versionParameters.has(name))
  return (sent.length === 0 ? '' : `${JSON.stringify(sent)}\n`) + canonicalText(body)
}

/** Returns a body as text that does not depend on member order and white space; bytes as a hash. */
const canonicalText = (body: unknown): string =>
  body instanceof MediaBody
    ? JSON.stringify([body.contentType, hash('sha256', body.bytes)])
    : (JSON.stringify(canonicalize(body)) ?? '')

function canonicalize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonicalize)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  // Pairs, because an object would move integer-like names to its front.
  return { members: members.map(([name, member]) => [name, canonicalize(member)]) }
}
