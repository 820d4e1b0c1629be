/**
 * Reads media types and lists of them, `Content-Type` and `Accept` (RFC 9110 §8.3.1, §12.5.1). Each
 * function reads its text once, quoted strings included, and a list is bounded. Pure.
 */
import { trimValue } from './header.ts'

export interface MediaType {
  /** `type/subtype` as it is written, without parameters. */
  readonly type: string
  /** By lower-case name, without quotes; of a repeated parameter the first. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Ranges of an `Accept` header, parameters of a type. */
export const MEDIA_RANGES_MAX = 64

const QUOTE = 34
const COMMA = 44
const SEMICOLON = 59
const BACKSLASH = 92

/** Splits at a sign outside quoted strings; undefined where there are more parts than the bound. */
function partsOf(text: string, sign: number): string[] | undefined {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) at += code === BACKSLASH ? 1 : 0
    else if (code === sign) {
      if (parts.length === MEDIA_RANGES_MAX) return undefined
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts.length > MEDIA_RANGES_MAX ? undefined : parts
}

/** Undefined for what is no `type/subtype`, and for more parameters than the bound. */
export function readMediaType(text: string): MediaType | undefined {
  const [first = '', ...rest] = partsOf(text, SEMICOLON) ?? []
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
    if (!parameters.has(name)) parameters.set(name, unquoted(trimValue(part.slice(equals + 1))))
  }
  return { type, parameters }
}

/** The readable ranges of an `Accept` header; undefined where there are more than the bound. */
export function readAccept(text: string): readonly MediaType[] | undefined {
  return partsOf(text, COMMA)?.flatMap((part) => readMediaType(part) ?? [])
}

/** RFC 9110 §5.6.2. */
const isToken = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

function unquoted(text: string): string {
  if (text.length < 2 || text.charCodeAt(0) !== QUOTE || !text.endsWith('"')) return text
  const inner = text.slice(1, -1)
  return inner.includes('\\') ? inner.replace(/\\(.)/g, '$1') : inner
}
