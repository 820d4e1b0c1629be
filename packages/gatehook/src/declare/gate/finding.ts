/** The sentences of the gate: a change, its JSON pointer, and whether it breaks callers. Pure. */
import { componentName, stableJson } from './document.ts'

/** The direction of a value. A change that breaks one direction is an addition in the other. */
type Direction = 'request' | 'response'

export interface Finding {
  /** True if the change can break a caller that worked before. */
  readonly breaking: boolean
  /** JSON pointer into the newer document; into the older one for a removed part. */
  readonly where: string
  readonly sentence: string
  /** Of a break: the part that the lock has, and that of the declaration. */
  readonly promised?: string
  readonly declared?: string
}

/** A finding with the operations it affects: `GET /api/v1/users`. */
export interface OperationFinding extends Finding {
  readonly operations: readonly string[]
  /** Of a break: the section of a guide that says what to do. */
  readonly guide?: string
}

/** The location of a schema, in words and as a JSON pointer. */
export interface SchemaLocation {
  readonly direction: Direction
  /** `User`, or `the response 200 of GET /users`. */
  readonly name: string
  /** Path inside the schema, `data[].name`; empty for the schema itself. */
  readonly path: string
  readonly where: string
}

/** Returns `"name" of User`, or `User` for the schema itself. */
export function subjectOf({ name, path }: SchemaLocation): string {
  if (path === '') return name
  return path === '[]' ? `a value of ${name}` : `"${path}" of ${name}`
}

export const locationInside = (
  location: SchemaLocation,
  path: string,
  pointer: string,
): SchemaLocation => ({
  ...location,
  path:
    location.path === '' || path.startsWith('[')
      ? location.path + path
      : `${location.path}.${path}`,
  where: `${location.where}/${pointer}`,
})

/** Values that a schema no longer allows (`lost`), or newly allows (`gained`). */
export interface ValueChange {
  readonly kind: 'lost' | 'gained'
  /** `null`, `a string of more than 200 characters`. */
  readonly values: string
}

/** A request must accept every value it accepted; a response must not return new values. */
export function valueFinding(
  location: SchemaLocation,
  { kind, values }: ValueChange,
  parts: PartChange,
): Finding {
  const { direction, where } = location
  const subject = subjectOf(location)
  const sentence = {
    request: {
      lost: `${subject} no longer accepts ${values}: callers that send it are rejected.`,
      gained: `${subject} also accepts ${values}.`,
    },
    response: {
      lost: `${subject} can no longer be ${values}.`,
      gained: `${subject} can now be ${values}, which existing callers do not expect.`,
    },
  }[direction][kind]
  return (direction === 'request') === (kind === 'lost')
    ? breakFinding(where, sentence, parts)
    : additionFinding(where, sentence)
}

/** The part of a document, or a text about it, before and after a change. Undefined: none. */
export type PartChange = readonly [promised: unknown, declared: unknown]

export const breakFinding = (
  where: string,
  sentence: string,
  [promised, declared]: PartChange,
): Finding => ({
  breaking: true,
  where,
  sentence: capitalize(sentence),
  promised: partText(promised),
  declared: partText(declared),
})

const PART_LENGTH_MAX = 160

function partText(part: unknown): string {
  if (part === undefined) return 'nothing'
  if (typeof part === 'string') return part
  const text = componentName(part) ?? stableJson(part)
  return text.length > PART_LENGTH_MAX ? `${text.slice(0, PART_LENGTH_MAX)}…` : text
}

export const additionFinding = (where: string, sentence: string): Finding => ({
  breaking: false,
  where,
  sentence: capitalize(sentence),
})

const capitalize = (sentence: string): string => sentence[0]!.toUpperCase() + sentence.slice(1)
