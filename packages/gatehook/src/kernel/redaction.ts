/**
 * Removes secrets from the headers and bodies of a request, and from what own code logs, and bounds
 * their size, before a log has them. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { types } from 'node:util'
import { redactUrl } from './log.ts'
import { isKeyMember, isSecretName } from './named-secrets.ts'

/** Characters of headers, and of a body, that the log stores. */
const EXCERPT_CHARACTERS = 4096
const HEADER_VALUE_CHARACTERS = 512
/** Longer values end before they are redacted: a credential of the excerpt is whole. */
const READ_CHARACTERS = 2 * HEADER_VALUE_CHARACTERS
const TEXT_CHARACTERS = 512
const DEPTH_MAX = 8

const HIDDEN = '[redacted]'

/** A JSON text as a value: the names of its members are not examined. */
const isEncoded = (text: string): boolean => /^\s*["[{]/.test(text) && text.includes(':')

/** Members of the same name are ids. */
const SECRET_HEADER = 'x-session-id'
const isSecretHeader = (name: string, secretFields: ReadonlySet<string>): boolean =>
  name === SECRET_HEADER || isSecretName(name.replace(/^x-/, ''), secretFields)

/** Returns the headers without secret values, up to the limit of an excerpt. */
export function redactHeaders(
  headers: IncomingHttpHeaders | Readonly<Record<string, unknown>>,
  secretFields: ReadonlySet<string>,
): Record<string, string> {
  const redacted: Record<string, string> = {}
  let left = EXCERPT_CHARACTERS
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    const text = redactHeader(
      name.toLowerCase(),
      String(value).slice(0, READ_CHARACTERS),
      secretFields,
    )
    const excerpt = text.slice(0, HEADER_VALUE_CHARACTERS)
    left -= name.length + excerpt.length
    if (left < 0) break
    redacted[name] = excerpt
  }
  return redacted
}

/** Removes credentials, for example `gk_live_…`, and the values of secret parameters. */
export const redactText = (text: string, secretFields: ReadonlySet<string>): string =>
  redactUrl(text, secretFields).toWellFormed()

function redactHeader(name: string, value: string, secretFields: ReadonlySet<string>): string {
  if (isSecretHeader(name, secretFields)) return HIDDEN
  if (name !== 'link') return redactText(value, secretFields)
  // Several URLs: `<url>; rel="next", <url>; rel="prev"`.
  const parts = value.split(/([<>])/)
  return parts.map((part) => redactText(part, secretFields)).join('')
}

/** Returns the JSON form of values that own code logs, and no body has. */
function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Date) return String(value.toJSON())
  // Their members would be their bytes and characters.
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    return `[${value.byteLength} bytes]`
  }
  if (types.isStringObject(value)) return String(value)
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { name, message, stack, ...(cause !== undefined && { cause }) }
}

export interface BodyExcerpt {
  readonly value: unknown
  /** Whether members or characters were left out. */
  readonly truncated: boolean
}

/**
 * Returns a copy of a parsed JSON body without secrets, up to the limit of an excerpt.
 *
 * @param secretFields names of fields and members that are declared secret
 * @param isResponse whether the server wrote it: `errors[].code` is then the code of a mistake
 */
export function redactBody(
  body: unknown,
  secretFields: ReadonlySet<string>,
  isResponse = false,
): BodyExcerpt {
  let left = EXCERPT_CHARACTERS
  let truncated = false
  const take = (characters: number): boolean => {
    left -= characters
    if (left < 0) truncated = true
    return left >= 0
  }
  const copyText = (text: string): string => {
    if (isEncoded(text)) return take(HIDDEN.length + 2) ? HIDDEN : ''
    const excerpt = redactText(text.slice(0, TEXT_CHARACTERS), secretFields)
    if (text.length > TEXT_CHARACTERS) truncated = true
    return take(excerpt.length + 2) ? excerpt : ''
  }
  const copy = (given: unknown, depth: number, isMistake = false): unknown => {
    const value = plainValue(given)
    if (typeof value === 'string') return copyText(value)
    if (typeof value !== 'object' || value === null) {
      take(8)
      return value
    }
    if (depth === DEPTH_MAX) {
      truncated = true
      return null
    }
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (let index = 0; index < value.length && take(2); index++) {
        items.push(copy(value[index], depth + 1, isMistake))
      }
      if (items.length < value.length) truncated = true
      return items
    }
    const members: [string, unknown][] = []
    for (const name in value) {
      if (!take(name.length + 4)) break
      const member = (value as Record<string, unknown>)[name]
      const isSecret = isSecretName(name, secretFields) || isKeyMember(name, member)
      const isHidden = isSecret && !(isMistake && name === 'code')
      const hasMistakes = isResponse && depth === 0 && name === 'errors'
      members.push([
        redactText(name, secretFields),
        isHidden ? HIDDEN : copy(member, depth + 1, hasMistakes),
      ])
    }
    return Object.fromEntries(members)
  }
  const value = copy(body, 0)
  return { value, truncated }
}
