/**
 * The `Authorization` header (RFC 9110 §11.4) and Basic pairs in it (RFC 7617): one reader for
 * keys, tokens, persons and OAuth clients. Every function reads its text once. Pure.
 */

export interface Authorization {
  /** In lower case; '' where the header is empty. */
  readonly scheme: string
  /** What follows the scheme, without white space around it; '' where nothing does. */
  readonly value: string
}

export interface BasicPair {
  readonly username: string
  readonly password: string
}

const NAME = 'authorization'
const TAB = 9
const SPACE = 32
const DELETE = 127

const isBlank = (code: number): boolean => code === SPACE || code === TAB

/**
 * Removes the white space HTTP allows around a value (RFC 9110 §5.6.3); `trim` removes a no-break
 * space too.
 */
export function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/** Reads one header line. */
export function readAuthorization(line: string): Authorization {
  const text = trimmed(line)
  let end = 0
  while (end < text.length && !isBlank(text.charCodeAt(end))) end++
  return { scheme: text.slice(0, end).toLowerCase(), value: trimmed(text.slice(end)) }
}

/** The lines of a request: `IncomingHttpHeaders` hides all but the first. */
export function authorizationLines(rawHeaders: readonly string[]): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue
    lines.push(rawHeaders[at + 1]!)
  }
  return lines
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes a Basic value strictly: canonical base64 of UTF-8 without control characters; the first
 * colon splits. Undefined for anything else.
 */
export function readBasic(value: string): BasicPair | undefined {
  const bytes = Buffer.from(value, 'base64')
  if (value === '' || bytes.toString('base64') !== value) return undefined
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return undefined
  }
  const colon = text.indexOf(':')
  if (colon < 0 || hasControl(text)) return undefined
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < SPACE || code === DELETE) return true
  }
  return false
}

/**
 * Decodes the halves of an OAuth client's pair, which are form-encoded inside (RFC 6749 §2.3.1).
 */
export function readClientBasic(value: string): BasicPair | undefined {
  const pair = readBasic(value)
  if (!pair) return undefined
  try {
    return { username: formDecoded(pair.username), password: formDecoded(pair.password) }
  } catch {
    return undefined
  }
}

const formDecoded = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))
