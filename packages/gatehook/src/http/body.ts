/**
 * Bytes of a body → JSON value, strictly (§10.4): what JSON.parse lets through silently, duplicate
 * members, prototype keys, numbers that lose digits, lone surrogates, is refused by name. Pure.
 */
import { Failure } from '../kernel/failure.ts'

export const MAX_DEPTH = 32

// A byte order mark is skipped: RFC 8259 §8.1 lets a reader do so, and some clients send one.
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws `invalid_json` (400), saying what is wrong and, as a JSON pointer, where. */
export function parseBody(bytes: Uint8Array): unknown {
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
  inspect(text)
  return value
}

/** Where the scan stands in one open container. */
interface Frame {
  /** Names seen so far; undefined for an array. */
  readonly names: Set<string> | undefined
  /** The name of the member, or the index of the element, that is being read. */
  at: string | number
}

const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const COLON = 58
const OPEN_ARRAY = 91
const BACKSLASH = 92
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** One pass over a text that is known to be JSON, so only its tokens need telling apart. */
function inspect(text: string): void {
  const frames: Frame[] = []
  let frame: Frame | undefined
  let nameNext = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i)
      const raw = text.slice(i + 1, end)
      // A name that cannot be is the fault of its object, not of the member before it.
      const string = raw.includes('\\')
        ? unescaped(text.slice(i, end + 1), nameNext ? frames.slice(0, -1) : frames)
        : raw
      if (nameNext) {
        nameNext = false
        enterMember(frame!, string, frames)
      }
      i = end
    } else if (code === COMMA) {
      if (frame!.names) nameNext = true
      else (frame!.at as number)++
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (frames.length === MAX_DEPTH) {
        throw refusal('too_deep', `it is nested deeper than ${MAX_DEPTH} levels`, frames)
      }
      nameNext = code === OPEN_OBJECT
      frame = nameNext ? { names: new Set(), at: '' } : { names: undefined, at: 0 }
      frames.push(frame)
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      frames.pop()
      frame = frames[frames.length - 1]
      nameNext = false
    } else if (code === MINUS || (code > 47 && code < COLON)) {
      i = endOfNumber(text, i, frames)
    }
  }
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i
    if (code === BACKSLASH) i++
  }
}

/** Only an escape can bring in NUL or half a surrogate pair: raw, neither is JSON in UTF-8. */
function unescaped(literal: string, frames: readonly Frame[]): string {
  const string = JSON.parse(literal) as string
  if (string.includes('\0')) throw refusal('nul', 'a string contains NUL', frames)
  if (!string.isWellFormed()) {
    throw refusal('lone_surrogate', 'a string contains half a surrogate pair', frames)
  }
  return string
}

function enterMember(frame: Frame, name: string, frames: readonly Frame[]): void {
  frame.at = name
  if (name === '__proto__') {
    throw refusal('prototype_key', 'a member is named __proto__', frames)
  }
  if (name === 'prototype' && frames[frames.length - 2]?.at === 'constructor') {
    throw refusal('prototype_key', 'a member is named constructor.prototype', frames)
  }
  const names = frame.names!
  if (names.size === names.add(name).size) {
    throw refusal('duplicate_member', 'a member stands twice in one object', frames)
  }
}

/** Below sixteen characters of digits a number is safe; the longer and the scaled are computed. */
function endOfNumber(text: string, start: number, frames: readonly Frame[]): number {
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
  const literal = text.slice(start, end)
  const number = Number(literal)
  if (!Number.isFinite(number)) {
    throw refusal('number_too_large', 'a number is too large', frames)
  }
  if (!integer && Number.isInteger(number) && hasFraction(literal)) {
    throw refusal('number_too_precise', 'a fraction would be rounded to a whole number', frames)
  }
  if (integer && !Number.isSafeInteger(number)) {
    throw refusal('number_too_large', 'an integer lies beyond 2^53-1 and would lose digits', frames)
  }
  return end - 1
}

/** Whether digits other than 0 stand behind the point, once the exponent has moved it. */
function hasFraction(literal: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(literal)!
  const digits = whole + fraction
  let significant = digits.length // a loop: /0+$/ is quadratic in zeros that are not at the end
  while (significant > 0 && digits[significant - 1] === '0') significant--
  return significant > Math.max(0, whole.length + Number(exponent))
}

function refusal(code: string, what: string, frames: readonly Frame[]): Failure {
  const pointer = frames
    .map((frame) => `/${String(frame.at).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
  const message = `The body is not accepted: ${what}.`
  return new Failure('invalid_json', message, { errors: [{ pointer, code, message }] })
}
