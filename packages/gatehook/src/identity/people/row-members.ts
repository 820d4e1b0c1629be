/** The fields of a row as members of the engine's bodies. Pure. */
import { type AnyMember, Member } from '../../protocol/fields/members.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'

/** Returns the fields of a row as members; with `create`, those of the body that creates it. */
export const rowMembers = (specs: FieldSpecs, body?: 'create'): Record<string, AnyMember> =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, { write, isWriteOnly }]) => (body ? write !== 'never' : !isWriteOnly))
      .map(([name, spec]) => [name, new Member(body ? spec : { ...spec, write: 'required' })]),
  )
