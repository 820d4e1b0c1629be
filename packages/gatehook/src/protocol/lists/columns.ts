/** Derives the columns of a list from the members of its rows. Pure. */
import { memberKindOf } from '../fields/kinds/table.ts'
import type { AnyMember } from '../fields/members.ts'
import type { ListColumn } from './collection.ts'

/**
 * Returns a column for each member of the row, in their order. A filter by a value outside of its
 * set is a mistake, also if the set can grow with the next release.
 */
export const columnsOf = ({ spec }: AnyMember): ListColumn[] =>
  Object.entries(spec.members ?? {}).map(([name, member]) => ({
    name,
    type: memberKindOf(member).cell(member),
    ...(member.nullable && { nullable: true }),
    ...(member.values && { oneOf: member.values }),
  }))
