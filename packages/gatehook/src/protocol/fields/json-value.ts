/** The values that JSON and the texts of both databases have. Pure. */

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value))

const problemOfText = (text: string): string | undefined =>
  text.includes('\0') || !text.isWellFormed()
    ? 'contains NUL or half of a surrogate pair'
    : undefined

/** Returns what a value has that JSON lacks, for a sentence; undefined: nothing. */
export function findNotJson(value: unknown, outer: readonly unknown[] = []): string | undefined {
  if (typeof value === 'string') return problemOfText(value)
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : `is ${value}, which JSON does not have`
  }
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value !== 'object') return `is of the type ${typeof value}, which JSON does not have`
  if (outer.includes(value)) return 'contains itself'
  if (!isPlain(value)) return `is a ${value.constructor?.name || 'class'}, which is no JSON`
  for (const [name, member] of Object.entries(value)) {
    const problem = problemOfText(name) ?? findNotJson(member, [...outer, value])
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Documents repeat a sentence for each schema. */
const SENTENCE_MAX = 2_000

/** Whether a value is a text for people that is not empty, and that documents can have. */
export const isSentence = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.trim() !== '' &&
  value.length <= SENTENCE_MAX &&
  problemOfText(value) === undefined
