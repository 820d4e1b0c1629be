/**
 * Parses the `Authorization` header (RFC 9110 §11.4) and its Basic credentials (RFC 7617), with the
 * same rules for keys, tokens, persons and OAuth clients. Each function reads its text once. Pure.
 */
import { isBlank, trimValue } from './header.ts'

export interface Authorization {
  /** In lower case; '' if the header is empty. */
  readonly scheme: string
  /** The text after the scheme, trimmed; '' if there is none. */
  readonly value: string
}

interface BasicPair {
  readonly username: string
  readonly password: string
}

export function parseAuthorization(line: string): Authorization {
  const text = trimValue(line)
  let end = 0
  while (end < text.length && !isBlank(text.charCodeAt(end))) end++
  return { scheme: text.slice(0, end).toLowerCase(), value: trimValue(text.slice(end)) }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes a Basic value: canonical base64 of UTF-8 without control characters, split at the first
 * colon. Returns undefined for any other value.
 *
 * @see RFC 7617 §2
 */
export function parseBasic(value: string): BasicPair | undefined {
  const bytes = Buffer.from(value, 'base64')
  if (value === '' || bytes.toString('base64') !== value) return undefined
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return undefined
  }
  const colon = text.indexOf(':')
  if (colon < 0 || /[\x00-\x1f\x7f]/.test(text)) return undefined
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/**
 * Decodes the Basic value of an OAuth client, whose id and secret are also form-encoded. Returns
 * undefined for a malformed value.
 *
 * @see RFC 6749 §2.3.1
 */
export function parseClientBasic(value: string): BasicPair | undefined {
  const pair = parseBasic(value)
  if (!pair) return undefined
  try {
    return { username: decodeForm(pair.username), password: decodeForm(pair.password) }
  } catch {
    return undefined
  }
}

const decodeForm = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

/** The `WWW-Authenticate` value after a failed Basic attempt (§3.1, RFC 7617). */
export const BASIC_CHALLENGE = 'Basic realm="gatehook", charset="UTF-8"'

export interface BearerChallenge {
  readonly error?: 'invalid_token' | 'insufficient_scope' | undefined
  /** The scopes of the request; empty: any token suffices. */
  readonly scopes: readonly string[]
  /** The URL of the metadata of the resource (RFC 9728 §5.1). */
  readonly metadata: string
}

/** Returns the challenge of a path that accepts access tokens (§16.1, RFC 6750 §3). */
export function bearerChallenge({ error, scopes, metadata }: BearerChallenge): string {
  const scope = scopes.length > 0 && `scope="${scopes.join(' ')}"`
  const resource = `resource_metadata="${metadata}"`
  const others = error === 'insufficient_scope' ? [scope, resource] : [resource, scope]
  return `Bearer ${[error && `error="${error}"`, ...others].filter(Boolean).join(', ')}`
}
