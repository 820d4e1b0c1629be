/**
 * Parses media types and lists of them: `Content-Type` and `Accept` (RFC 9110 §8.3.1, §12.5.1).
 * Each function reads its text once and bounds its lists. Pure.
 */
import { trimValue } from './header.ts'

export interface MediaType {
  /** `type/subtype` as sent, without parameters. */
  readonly type: string
  /** By lower-case name, without quotes; the first of a repeated parameter. */
  readonly parameters: ReadonlyMap<string, string>
}

/** The maximum of ranges in an `Accept` header, and of parameters of a type. */
export const MEDIA_RANGES_MAX = 64

const QUOTE = 34
export const COMMA = 44
const SEMICOLON = 59
const BACKSLASH = 92

/** Splits at a separator outside quoted strings; undefined for more parts than the maximum. */
export function splitUnquoted(text: string, separator: number): string[] | undefined {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) at += code === BACKSLASH ? 1 : 0
    else if (code === separator) {
      if (parts.length === MEDIA_RANGES_MAX) return undefined
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts.length > MEDIA_RANGES_MAX ? undefined : parts
}

/** Parses a media type; undefined if it is malformed or has too many parameters. */
export function parseMediaType(text: string): MediaType | undefined {
  const [first = '', ...rest] = splitUnquoted(text, SEMICOLON) ?? []
  const type = trimValue(first)
  const slash = type.indexOf('/')
  if (slash < 0 || !isToken(type.slice(0, slash)) || !isToken(type.slice(slash + 1))) {
    return undefined
  }
  const parameters = new Map<string, string>()
  for (const part of rest) {
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const name = trimValue(part.slice(0, equals)).toLowerCase()
    if (!parameters.has(name)) parameters.set(name, unquote(trimValue(part.slice(equals + 1))))
  }
  return { type, parameters }
}

/** Parses the well-formed ranges of an `Accept` header; undefined for more than the maximum. */
export function parseAccept(text: string): readonly MediaType[] | undefined {
  return splitUnquoted(text, COMMA)?.flatMap((part) => parseMediaType(part) ?? [])
}

/** RFC 9110 §5.6.2. */
const isToken = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

function unquote(text: string): string {
  if (text.length < 2 || text.charCodeAt(0) !== QUOTE || !text.endsWith('"')) return text
  const inner = text.slice(1, -1)
  return inner.includes('\\') ? inner.replace(/\\(.)/g, '$1') : inner
}
