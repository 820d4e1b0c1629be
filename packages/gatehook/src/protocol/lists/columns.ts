/** Derives the columns of a list from the members of its rows. Pure. */
import type { AnyMember } from '../fields/members.ts'
import type { MemberSpec } from '../fields/spec.ts'
import type { CellType, ListColumn } from './collection.ts'

const cellTypes: Readonly<Partial<Record<MemberSpec['kind'], CellType>>> = {
  id: 'int',
  int: 'int',
  number: 'real',
  bool: 'bool',
  time: 'time',
  list: 'json',
  object: 'json',
  map: 'json',
  json: 'json',
}

/**
 * Returns a column for each member of the row, in their order. A filter by a value outside of its
 * set is a mistake, also if the set can grow with the next release.
 */
export const columnsOf = ({ spec }: AnyMember): ListColumn[] =>
  Object.entries(spec.members ?? {}).map(([name, { kind, nullable, values }]) => ({
    name,
    type: cellTypes[kind] ?? 'text',
    ...(nullable && { nullable }),
    ...(values && { oneOf: values }),
  }))
