/** The facts of an object: which, in which order and how displayed, the engine says. */
import type { ComponentChildren } from 'preact'
import type { Query } from '../api.ts'
import { instant } from '../format.ts'
import { contentOf } from '../lists/columns.tsx'
import type { RowColumn } from '../lists/row-column.ts'
import { rowColumns } from '../lists/row-columns.ts'
import { rowFacts } from '../lists/row-facts.ts'
import { capitalized, isNone, valueAt } from '../lists/row-value.ts'
import { type Fact, Facts } from '../parts/facts.tsx'
import { Id } from '../parts/state.tsx'
import { href } from '../router.ts'
import { OfCustomer } from './row-drawer.tsx'

type FactObject = keyof typeof rowFacts

interface ObjectFactsProps<Row> {
  readonly of: FactObject
  /** The name of a row: `key`. */
  readonly noun: string
  readonly row: Row
  /** Contents by the name of the member, in place of the declared ones; undefined: the declared. */
  readonly cells?: Readonly<Record<string, (row: Row) => ComponentChildren>>
  /** Members that the page displays elsewhere. */
  readonly omit?: readonly string[]
  /** Facts that are no members. */
  readonly more?: readonly Fact[]
}

function factsOf(object: FactObject): readonly RowColumn[] {
  const columns: readonly RowColumn[] = rowColumns[object]
  const facts: readonly (string | RowColumn)[] = rowFacts[object]
  return facts.map((fact) =>
    typeof fact === 'string' ? columns.find(({ name }) => name === fact)! : fact,
  )
}

const isMono = ({ name, as, isWide }: RowColumn, row: object): boolean =>
  (as === 'list' || isWide === true) && !isNone(valueAt(row, name))

interface Owned {
  readonly mode: string
}

/** Returns the content of a fact; undefined: the row lacks it. */
function factOf(fact: RowColumn, row: object, noun: string): ComponentChildren {
  const { name, as, none, states } = fact
  const value = valueAt(row, name)
  if (!states && isNone(value)) return none || undefined
  if (as === 'id') return <Id id={String(value)} subject={`${noun} id`} />
  if (as === 'customer') return <OfCustomer customer={String(value)} mode={(row as Owned).mode} />
  if (as !== 'day' && as !== 'time') return contentOf(fact, row)
  return <time dateTime={String(value)}>{instant(String(value))}</time>
}

/** The fact that leads to the requests of a caller, by the filters of their page. */
export const recentRequests = (filters: Query): Fact => [
  'Requests',
  <a href={href('/console/requests', { ...filters, range: '24h' })}>the last 24 hours</a>,
]

export function ObjectFacts<Row extends object>(props: ObjectFactsProps<Row>) {
  const { of: object, row, noun, cells = {}, omit = [], more = [] } = props
  const facts = factsOf(object)
    // That of the customer has the mode.
    .filter(({ name }) => name !== 'mode' && !omit.includes(name))
    .map((fact): Fact => {
      const content = cells[fact.name]?.(row) || factOf(fact, row, noun)
      if (content === undefined) return undefined
      return [capitalized(fact.title), content, isMono(fact, row) ? 'mono' : undefined]
    })
  return <Facts of={[...facts, ...more]} />
}
