/**
 * Parses JSON bodies strictly (§10.4), once their values are counted (§11.5). It rejects input that
 * `JSON.parse` accepts silently: duplicate members, prototype keys, numbers that lose digits, lone
 * surrogates. JSON texts of others are parsed here, except the parts of a token (`tokens/jws.ts`),
 * the encrypted state of an operator's sign-in (`people/operator-openid.ts`), responses for its
 * library (`transport/fetch-bounded.ts` counts them), and objects from SQL
 * (`emissions/recorder.ts`). Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import type { MistakeCode } from '../../kernel/mistakes.ts'
import { findNumberMistake } from '../fields/json-number.ts'
import { pointerPart } from '../fields/reading.ts'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-text.ts'

export const MAX_DEPTH = 32
/** The most values of a JSON text of a caller, an upstream or another server. */
export const JSON_VALUES_MAX = 50_000

/**
 * The most names of members, of which repeated ones count only in wide objects: a new name costs
 * ten times a value, because the engine of JavaScript stores each and forms a class of objects.
 */
export const JSON_NAMES_MAX = 5_000
/** An object with more members is wide: their names are in a table of its own. */
export const WIDE_MEMBERS = 100

/** The numbers of parts by which a JSON text costs time, beside its bytes. */
export interface JsonSize {
  readonly values: number
  /** Different names of members, as written, and each one of a wide object. */
  readonly names: number
}

/**
 * Measures a JSON text without parsing it. Its values are one more than its commas and opening
 * brackets outside strings: 50,000 empty objects in 150 KB of text take 3 MB once they are parsed.
 *
 * @throws `payload_too_large` as soon as the text has more. Linear in the bytes.
 */
export function measureJson(
  bytes: Uint8Array,
  maxValues = JSON_VALUES_MAX,
  maxNames = JSON_NAMES_MAX,
): JsonSize {
  // As Latin-1, each byte is one character, and the marks of JSON are no part of others.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const mark = /[",[\]{}]/g
  const narrow = new Set<string>()
  const sizes: number[] = []
  let [members, wide, values, strings] = [0, 0, 1, 0]
  for (let match = mark.exec(text); match; match = mark.exec(text)) {
    const code = text.charCodeAt(match.index)
    if (code === QUOTE) {
      const end = endOfString(text, match.index)
      mark.lastIndex = end + 1
      strings++
      if (isName(text, end)) {
        if (++members > WIDE_MEMBERS) wide++
        else narrow.add(text.slice(match.index + 1, end))
        if (wide + narrow.size > maxNames) throw tooManyNames(maxNames)
      }
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      const outer = sizes.pop()
      if (outer === undefined) break // nothing is open: the parser stops here, too
      members = outer
    } else {
      values++
      if (code !== COMMA) {
        sizes.push(members)
        members = 0
      }
    }
    // A value is at most one string, and the name of a member another one.
    if (values > maxValues || strings > 2 * maxValues) throw tooManyValues(maxValues)
  }
  return { values, names: wide + narrow.size }
}

/** Whether the string that ends at a place is the name of a member. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (isSpace(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === COLON
}

// The decoder skips a byte order mark, which some clients send (allowed by RFC 8259 §8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns whether the value at a path may have no mistake; a path names members and elements. */
type IsStrict = (path: Iterable<string | number>) => boolean

interface JsonBounds {
  /** Default: everywhere. */
  readonly isStrict?: IsStrict
  /** The size of the text, if it was measured before. */
  readonly size?: JsonSize
}

/**
 * Parses a body, whose bytes are bounded.
 *
 * @throws `payload_too_large` (413) beyond the bounds of `measureJson`, before the text is parsed;
 *   `invalid_json` (400) with the mistake and its position as a JSON pointer.
 */
export function parseJsonBody(
  bytes: Uint8Array,
  { isStrict = () => true, size }: JsonBounds = {},
): unknown {
  if (!size) measureJson(bytes)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Failure('invalid_json', 'The body is not valid UTF-8.')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1]
    const where = position === undefined ? '' : ` It breaks at character ${position}.`
    throw new Failure('invalid_json', `The body is not valid JSON.${where}`)
  }
  checkStrictly(text, isStrict)
  return value
}

export const tooManyValues = (max: number): Failure => tooMany(max, 'values')

const tooManyNames = (max: number): Failure => tooMany(max, 'names of members')

const tooMany = (max: number, parts: string): Failure =>
  new Failure('payload_too_large', `The body has more than ${max.toLocaleString('en')} ${parts}.`)

/** An open object or array during the scan. */
interface ScanFrame {
  readonly isObject: boolean
  /** The member names of an object with more than one. */
  names: Set<string> | undefined
  /** The name of the current member (none yet: `undefined`), or the index of the element. */
  at: string | number | undefined
}

type JsonMistake = readonly [code: MistakeCode, reason: string]

/** Throws for a mistake in the current value where it is strict, or in the name of a member. */
type Reject = (mistake: JsonMistake, member?: string) => void

const SPACE = 32
const MINUS = 45

/** Scans a valid JSON text once, token by token. */
function checkStrictly(text: string, isStrict: IsStrict): void {
  const frames: ScanFrame[] = []
  const reject: Reject = (mistake, member) => {
    const count = frames.length - (member === undefined ? 0 : 1)
    if (isStrict(pathOf(frames, count, member))) throw rejection(mistake, pathOf(frames, count))
  }
  let frame: ScanFrame | undefined
  let nameNext = false
  const token = /["\-0-9,[\]{}]/g
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) <= SPACE) {
      token.lastIndex = i
      i = token.exec(text)?.index ?? text.length
    }
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i)
      const raw = text.slice(i + 1, end)
      // A malformed name is a mistake of its object, not of the previous member.
      const string = raw.includes(nameNext ? '\\' : '\\u')
        ? decodeString(text.slice(i, end + 1), nameNext, reject)
        : raw
      if (nameNext) {
        nameNext = false
        enterMember(frame!, string, frames.at(-2), reject)
      }
      i = end
    } else if (code === COMMA) {
      if (frame!.isObject) nameNext = true
      else (frame!.at as number)++
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (frames.length >= MAX_DEPTH) {
        reject(['too_deep', `it is nested deeper than ${MAX_DEPTH} levels`])
      }
      nameNext = code === OPEN_OBJECT
      frame = { isObject: nameNext, names: undefined, at: nameNext ? undefined : 0 }
      frames.push(frame)
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      frames.pop()
      frame = frames[frames.length - 1]
      nameNext = false
    } else if (code === MINUS || (code > 47 && code < COLON)) {
      i = endOfNumber(text, i, reject)
    }
  }
}

/** Decodes a string with escapes: only `\u` writes NUL or half a surrogate pair. */
function decodeString(literal: string, isName: boolean, reject: Reject): string {
  const string = JSON.parse(literal) as string
  const member = isName ? string : undefined
  if (string.includes('\0')) reject(['nul', 'a string contains NUL'], member)
  if (!string.isWellFormed()) {
    reject(['lone_surrogate', 'a string contains half a surrogate pair'], member)
  }
  return string
}

function enterMember(
  frame: ScanFrame,
  name: string,
  parent: ScanFrame | undefined,
  reject: Reject,
): void {
  const previous = frame.at as string | undefined
  frame.at = name
  if (name === '__proto__') {
    reject(['prototype_key', 'a member is named __proto__'])
  }
  if (name === 'prototype' && parent?.at === 'constructor') {
    reject(['prototype_key', 'a member is named constructor.prototype'])
  }
  if (previous === undefined) return
  const names = (frame.names ??= new Set([previous]))
  if (names.size === names.add(name).size) {
    reject(['duplicate_member', 'a member is repeated in one object'])
  }
}

/**
 * Checks a number. Integers below 16 digits are safe; only longer and scaled numbers are parsed.
 */
function endOfNumber(text: string, start: number, reject: Reject): number {
  let end = start + 1
  let integer = true
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code > 47 && code < COLON) continue
    // `.`, `+`, `-`, `e`, `E`
    if (code !== 46 && code !== 43 && code !== MINUS && (code | 32) !== 101) break
    integer = false
  }
  if (integer && end - start < 16) return end - 1
  const mistake = findNumberMistake(text.slice(start, end))
  if (mistake) reject(mistake)
  return end - 1
}

/** Returns the path of the first frames, and of a member in them. */
function* pathOf(frames: readonly ScanFrame[], count: number, member?: string) {
  for (let n = 0; n < count; n++) yield frames[n]!.at ?? ''
  if (member !== undefined) yield member
}

function rejection([code, reason]: JsonMistake, path: Iterable<string | number>): Failure {
  const pointer = Array.from(path, (name) => `/${pointerPart(String(name))}`).join('')
  const message = `The body is not accepted: ${reason}.`
  return new Failure('invalid_json', message, { errors: [{ pointer, code, message }] })
}
