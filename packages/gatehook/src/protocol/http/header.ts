/** Header values as sent (RFC 9110 §5). Each function reads its text once. Pure. */

const TAB = 9
const SPACE = 32

export const isBlank = (code: number): boolean => code === SPACE || code === TAB

/**
 * Removes the white space that HTTP allows around a value. (`trim` also removes a no-break space.)
 *
 * @see RFC 9110 §5.6.3
 */
export function trimValue(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/**
 * Returns the value of every line of a header. Node's `IncomingHttpHeaders` contains only the first
 * line of `Authorization`, `Host` and `Content-Type`.
 *
 * @param rawHeaders Names and values in turn, as sent.
 * @param name In lower case.
 */
export function headerLines(rawHeaders: readonly string[], name: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at]!, name)) lines.push(rawHeaders[at + 1]!)
  }
  return lines
}

/** Returns whether a header has more than one line. The parameters are those of `headerLines`. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at]!, name)) count++
  }
  return count > 1
}

/** Returns the value of `Vary` with further names, each once. */
export function joinVary(current: string | undefined, names: string): string {
  if (current === undefined) return names
  const listed = current.split(', ')
  const further = names.split(', ').filter((name) => !listed.includes(name))
  return further.length === 0 ? current : `${current}, ${further.join(', ')}`
}

const isNamed = (sentName: string, name: string): boolean =>
  sentName.length === name.length && (sentName === name || sentName.toLowerCase() === name)
