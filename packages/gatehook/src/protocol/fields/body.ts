/**
 * Reads the bodies of the engine's own operations. Mistakes have one of three codes: `required`,
 * `unknown_field` and `invalid_value`. Resources have finer codes
 * (`declare/resources/validate.ts`).
 */
import { endSentence } from '../../kernel/closest.ts'
import { type AnyCode, Failure, type FieldError } from '../../kernel/failure.ts'
import { type Members, specsOf, type ValuesOf } from './members.ts'
import { ERRORS_MAX } from './object-reader.ts'
import { createObjectReader } from './reader.ts'

/** The status of a mistake: 422, or 400 at `/auth` and the console's sign-in (§4.4). */
export type BodyCode = 'validation_failed' | 'invalid_request'

export type BodyReader<M extends Members> = (body: unknown) => ValuesOf<M>

const BODY_CODES: ReadonlySet<string> = new Set(['required', 'unknown_field'])

/**
 * Creates the reader of a body, which throws every mistake with its pointer. With `isOpen` it
 * ignores further members.
 */
export function createBodyReader<M extends Members>(
  members: M,
  code: BodyCode = 'validation_failed',
  isOpen = false,
): BodyReader<M> {
  const read = createObjectReader({ members: specsOf(members), isOpen })
  return (body) => {
    const { values, errors } = read(body)
    if (errors.length > 0) throw bodyFailure(errors, code)
    return values as ValuesOf<M>
  }
}

/**
 * Reads an object once. `createBodyReader` is faster for many.
 *
 * @throws `validation_failed` (422) with every mistake.
 * @example
 * const { name } = readMembers(body, { name: b.line(100) })
 */
export const readMembers = <M extends Members>(body: unknown, members: M): ValuesOf<M> =>
  createBodyReader(members)(body)

function bodyFailure(errors: readonly FieldError[], code: BodyCode): Failure {
  const plain = errors.map((error) =>
    BODY_CODES.has(error.code) ? error : { ...error, code: 'invalid_value' as const },
  )
  if (code === 'validation_failed') return invalidMembers(plain)
  const [first] = plain
  const message = endSentence(`${first?.pointer?.slice(1) || 'The body'} ${first?.message}`)
  return new Failure(code, message, { errors: plain })
}

/** Returns the 422 for mistakes that a check beyond the members reports. */
export const invalidMembers = (errors: readonly FieldError[]): Failure =>
  fieldFailure('validation_failed', errors.slice(0, ERRORS_MAX))

/** Creates a failure with the first error as its sentence: `email: is taken already`. */
export function fieldFailure(code: AnyCode, errors: readonly FieldError[]): Failure {
  const [first] = errors
  if (!first) return new Failure(code)
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const where = first.pointer ? `${first.pointer.slice(1)}: ` : ''
  return new Failure(code, `${where}${first.message}${more}`, { errors })
}
