/** What the gate says of a change: is it a break, where, and in what words. Data only. */

/** Who sends the value: callers (`request`) or we (`response`). What breaks is mirrored. */
export type Direction = 'request' | 'response'

export interface Finding {
  /** True where a caller that worked before may stop working. */
  readonly breaking: boolean
  /** JSON pointer into the newer document; into the older one for what is gone. */
  readonly where: string
  /** One sentence for somebody who has never seen the document. */
  readonly sentence: string
}

/** A finding, and the operations it was met in: `GET /api/v1/users`. */
export interface Told extends Finding {
  readonly operations: readonly string[]
}

/** Where a schema stands, in words and as a pointer. */
export interface Place {
  readonly direction: Direction
  /** `User`, or `the answer 200 of GET /users`. */
  readonly name: string
  /** Inside it: `data[].name`; empty at the top. */
  readonly path: string
  readonly where: string
}

/** `"name" of User`, or `User` itself. */
export function subject({ name, path }: Place): string {
  if (path === '') return name
  return path === '[]' ? `a value of ${name}` : `"${path}" of ${name}`
}

/** RFC 6901 §3. */
export const segment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const inside = (place: Place, path: string, where: string): Place => ({
  ...place,
  path: place.path === '' || path.startsWith('[') ? place.path + path : `${place.path}.${path}`,
  where: `${place.where}/${where}`,
})

/** Of a set of values: what is in it no longer (`lost`), or is new in it (`gained`). */
export interface Shift {
  readonly kind: 'lost' | 'gained'
  /** `null`, `a text longer than 200 characters`. */
  readonly words: string
}

/**
 * Requests must take all that they took, answers must hold nothing they did not hold: so the same
 * shift breaks the one and not the other.
 */
export function shifted(place: Place, { kind, words }: Shift): Finding {
  const { direction, where } = place
  const breaking = (direction === 'request') === (kind === 'lost')
  const what = subject(place)
  const sentence = {
    request: {
      lost: `${what} no longer takes ${words}: callers that send it are refused.`,
      gained: `${what} also takes ${words}.`,
    },
    response: {
      lost: `${what} is never ${words} any more.`,
      gained: `${what} can now be ${words}: callers were never told to expect it.`,
    },
  }[direction][kind]
  return { breaking, where, sentence: capital(sentence) }
}

export const broken = (where: string, sentence: string): Finding => ({
  breaking: true,
  where,
  sentence: capital(sentence),
})
export const added = (where: string, sentence: string): Finding => ({
  breaking: false,
  where,
  sentence: capital(sentence),
})

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1)
