/** Bodies of the paths where one signs in: strict, and what is wrong with them is 400 (§4.4). */
import { Failure } from '../kernel/failure.ts'
import { type Members, type Read, readMembers, type ValuesOf } from '../kernel/members.ts'

/** Any text: whether it is right is not told by its form. */
export const text: Read<string> = (value, wrong) =>
  typeof value === 'string' ? value : wrong('must be a string')

/** On `/auth/*` what is missing or mistyped is 400 `invalid_request` (§4.4). */
export function authMembers<M extends Members>(input: unknown, members: M): ValuesOf<M> {
  try {
    return readMembers(input, members)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'validation_failed') throw error
    const errors = error.errors ?? []
    const [first] = errors
    const message = `${first?.pointer?.slice(1) || 'The body'} ${first?.message}.`
    throw new Failure('invalid_request', message, { errors })
  }
}
