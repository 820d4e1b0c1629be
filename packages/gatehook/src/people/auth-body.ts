/** Reads the bodies of `/auth/*` and of the console's sign-in (§4.4). */
import { Failure } from '../kernel/failure.ts'
import { type Members, type Read, readMembers, type ValuesOf } from '../kernel/members.ts'

/** Reads any string: a malformed password is rejected like a wrong one. */
export const anyText: Read<string> = (value, wrong) =>
  typeof value === 'string' ? value : wrong('must be a string')

/** Returns the members of a body. Throws 400 `invalid_request` for missing or mistyped members. */
export function readAuthBody<M extends Members>(input: unknown, members: M): ValuesOf<M> {
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
