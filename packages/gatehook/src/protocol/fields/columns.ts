/**
 * The columns of an object in tables of people: console, portal and terminal. An object declares
 * which members are columns, in which order, and what their kinds do not say (`.columns({…})` of
 * `members.ts`). Pure.
 */
import { memberKindOf } from './kinds/table.ts'
import type { AnyMember } from './members.ts'
import type { CellDisplay, ColumnSpec, ColumnSpecs, MemberSpec } from './spec.ts'

/** A column with the facts that follow from its member. */
export interface ObjectColumn extends Omit<ColumnSpec, 'as' | 'title' | 'isFact'> {
  /** The path of the member. */
  readonly name: string
  readonly title: string
  /** Undefined: the text of the value. */
  readonly as?: CellDisplay
}

/** The paths of the members that a column reads. */
const pathsOf = (name: string, { states }: ColumnSpec): readonly string[] =>
  states?.flatMap(([path, , when]) => (when === undefined ? [path] : [path, when])) ?? [name]

/** Returns the member at a path; undefined: it is in an object of any members. */
function memberAt(object: MemberSpec, path: string): MemberSpec | undefined {
  let member: MemberSpec = object
  for (const name of path.split('.')) {
    if (member.kind === 'object' && member.members === undefined) return undefined
    const inner = member.members?.[name]
    if (inner === undefined) throw new Error(`${object.name} has no member ${path}`)
    member = inner
  }
  return member
}

/** Members whose name says what their text is. */
const OF_NAMES: Readonly<Record<string, CellDisplay>> = { id: 'id', customer: 'customer' }

/** Whether a member is a number of requests or deliveries per window. */
export const isRate = ({ members = {} }: MemberSpec): boolean =>
  Object.keys(members).join() === 'limit,window_s'

function displayOf(name: string, member: MemberSpec | undefined): CellDisplay | undefined {
  if (member === undefined) return undefined
  if (member.items?.members) return 'count'
  if (isRate(member)) return 'rate'
  if (member.format === 'uri') return 'url'
  return memberKindOf(member).display ?? OF_NAMES[name]
}

/** Returns `last used` of `last_used_at`, and `waiting` of `health.waiting`. */
const titleOf = (path: string): string =>
  path.split('.').at(-1)!.replace(/_at$/, '').replaceAll('_', ' ')

function columnOf(object: MemberSpec, name: string, column: ColumnSpec): ObjectColumn {
  const [member] = pathsOf(name, column).map((path) => memberAt(object, path))
  const { as = displayOf(name, member), title = titleOf(name), states, isFact, ...others } = column
  return { name, title, ...(states ? { states } : as && { as }), ...others }
}

/** Returns the columns of an object. Throws if one names a member that it lacks. */
export const tableColumns = ({ spec }: Pick<AnyMember, 'spec'>): readonly ObjectColumn[] =>
  Object.entries(spec.columns ?? {})
    .filter(([, { isFact }]) => !isFact)
    .map(([name, column]) => columnOf(spec, name, column))

/** Returns the paths of the members, also of those inside of others that are no column. */
const memberPaths = (object: MemberSpec, columns: ColumnSpecs, parent = ''): readonly string[] =>
  Object.entries(object.members ?? {}).flatMap(([name, member]) => {
    const path = parent + name
    const isLeaf = path in columns || member.members === undefined || isRate(member)
    return isLeaf ? [path] : memberPaths(member, columns, `${path}.`)
  })

/**
 * Returns the facts of an object: its state, and its members in their order. A member that decides
 * the state is no fact unless it is declared.
 */
export function objectFacts({ spec }: Pick<AnyMember, 'spec'>): readonly ObjectColumn[] {
  const { columns = {} } = spec
  const { state } = columns
  const inState = state ? pathsOf('state', state) : []
  const paths = memberPaths(spec, columns).filter(
    (path) => path in columns || !inState.includes(path),
  )
  return [...new Set([...(state ? ['state'] : []), ...paths])].map((name) =>
    columnOf(spec, name, columns[name] ?? {}),
  )
}
