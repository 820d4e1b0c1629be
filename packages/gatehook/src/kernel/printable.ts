/**
 * Escapes control characters of text that callers sent, before it reaches a terminal or a log
 * (§12.7): C0, DEL, C1, separators of lines and bidirectional controls. They move the cursor, erase
 * lines or reorder text. The escape is that of JSON, `\u001b`, so that JSON text stays JSON. Pure.
 */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const CONTROL_BUT_LINE_FEED = new RegExp(CONTROL.source.replace('\\x1f', '\\x09\\x0b-\\x1f'), 'g')

const escapeCharacter = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns a text of one line without control characters. */
export const printable = (text: string): string => text.replace(CONTROL, escapeCharacter)

/** Returns a text, whose line feeds are those of its writer, without other control characters. */
export const printableLines = (text: string): string =>
  text.replace(CONTROL_BUT_LINE_FEED, escapeCharacter)

/** Returns a copy of a JSON value whose texts and names have no control characters. */
export function printableValue<T>(value: T): T
export function printableValue(value: unknown): unknown {
  if (typeof value === 'string') return printable(value)
  if (Array.isArray(value)) return value.map((item) => printableValue(item))
  if (typeof value !== 'object' || value === null) return value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, member]) => [printable(name), printableValue(member)]),
  )
}
