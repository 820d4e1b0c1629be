/**
 * Reads parts of a JSON text without parsing it, so that numbers keep all digits and large values
 * cost one scan. The text is valid JSON. Pure.
 */

export const QUOTE = 34
export const COMMA = 44
export const COLON = 58
export const OPEN_ARRAY = 91
const BACKSLASH = 92
export const CLOSE_ARRAY = 93
export const OPEN_OBJECT = 123
export const CLOSE_OBJECT = 125

/** A position in a JSON text. */
export interface JsonCursor {
  /** The place of the current value, or the place after a value that was read. */
  readonly at: number
  /** Whether the current value is an object or an array. */
  isObject(): boolean
  isArray(): boolean
  /** Moves to the end of the current value. */
  skip(): void
  /**
   * Moves to each part of the current value in turn; returns the name of a member, and `undefined`
   * for an item. A part that the caller does not read is skipped. Without parts: a scalar value.
   */
  parts(): Generator<string | undefined>
}

/** Returns a cursor at the value of a text. */
export function createJsonCursor(text: string): JsonCursor {
  const { length } = text
  let at = 0
  const code = () => text.charCodeAt(at)
  const skipSpace = () => {
    while (at < length && isSpace(code())) at++
  }
  const readName = (): string => {
    const from = at
    at = endOfString(text, from) + 1
    const raw = text.slice(from + 1, at - 1)
    const name = raw.includes('\\') ? (JSON.parse(text.slice(from, at)) as string) : raw
    skipSpace()
    at++ // the colon
    return name
  }
  skipSpace()
  return {
    get at() {
      return at
    },
    isObject: () => code() === OPEN_OBJECT,
    isArray: () => code() === OPEN_ARRAY,
    skip() {
      at = endOfValue(text, at)
    },
    *parts() {
      const isObject = code() === OPEN_OBJECT
      if (!isObject && code() !== OPEN_ARRAY) return
      at++
      for (skipSpace(); at < length && !isClose(code()); skipSpace()) {
        const name = isObject ? readName() : undefined
        skipSpace()
        const from = at
        yield name
        if (at === from) at = endOfValue(text, at)
        skipSpace()
        if (code() === COMMA) at++
      }
      at++
    },
  }
}

/**
 * Returns the JSON text of each member of an object: all digits of its numbers, whatever its depth.
 * Of repeated members the last one remains, as in `JSON.parse`.
 */
export function memberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>()
  const cursor = createJsonCursor(text)
  for (const name of cursor.parts()) members.set(name ?? '', readText(text, cursor))
  return members
}

/** Returns the text of an object; that of its members is JSON. */
export const objectText = (members: ReadonlyMap<string, string>): string =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`

/** Returns the JSON text of each item of an array. */
export function itemTexts(text: string): string[] {
  const cursor = createJsonCursor(text)
  return Array.from(cursor.parts(), () => readText(text, cursor))
}

/** Returns the text of the current value, and moves to its end. */
function readText(text: string, cursor: JsonCursor): string {
  const from = cursor.at
  cursor.skip()
  return text.slice(from, cursor.at)
}

export const isSpace = (code: number): boolean => code === 32 || (code > 8 && code < 14)

const isClose = (code: number): boolean => code === CLOSE_ARRAY || code === CLOSE_OBJECT

/** Returns the place of the quote that ends a string; the length of an unfinished text. */
export function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    const from = end
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    let slashes = 0
    while (end - 1 - slashes > from && text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
}

/** Returns the place after the value that starts at `at`; after `at` itself in any text. */
function endOfValue(text: string, at: number): number {
  let depth = 0
  for (let end = at; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) {
      end = endOfString(text, end)
      if (depth === 0) return end + 1
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if (isClose(code)) {
      if (--depth <= 0) return depth < 0 && end > at ? end : end + 1
    } else if (depth === 0 && (code === COMMA || code === COLON || isSpace(code)) && end > at) {
      return end
    }
  }
  return text.length
}
