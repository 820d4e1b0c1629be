/**
 * The definition of a list of the engine, once for its customers and its operators: the JSON of a
 * row, and how its table is filtered and sorted. From it follow columns, JSON and `fields`. Members
 * that no column has are read for all rows of a page together. Pure, apart from `read`.
 */
import type { Reader, Row, Value } from '../../platform/storage/database.ts'
import type { ListCell } from '../fields/kind.ts'
import { integerCell } from '../fields/kinds/cells.ts'
import { memberKindOf } from '../fields/kinds/table.ts'
import type { AnyMember } from '../fields/members.ts'
import type { Collection, ListColumn, View } from './collection.ts'
import { cellView } from './encode.ts'
import { type PageExpansion, withMembers } from './expanded-page.ts'

export interface EngineList extends Omit<Collection, 'columns' | 'integerId' | 'scoped'> {
  /** The JSON of a row. Its members are the columns, apart from `added` and `repeated` ones. */
  readonly row: AnyMember
  /** A row is served at `path`/`id`. */
  readonly path: string
  /** Default: false, a list of the installation. */
  readonly scoped?: boolean
  /** Members that no column has (`AddedMembers`). */
  readonly added?: readonly string[]
  /** Columns that are no members: for filters, sorts and `AddedMembers`. */
  readonly hidden?: readonly ListColumn[]
  /** The columns with the folded texts of columns, by name (§4.8). */
  readonly folded?: Readonly<Record<string, string>>
  /** Members without a column of their own: the column that they repeat; undefined: null. */
  readonly repeated?: Readonly<Record<string, string | undefined>>
  /** Cells whose JSON is not that of their member. */
  readonly cells?: Readonly<Record<string, ListCell>>
  /** Returns `_links` of a row. Default: its own path. */
  readonly links?: (row: readonly Value[]) => Readonly<Record<string, string>>
}

/** A list as `Lister` takes it. */
export interface List {
  readonly collection: Collection
  readonly view: View
}

/**
 * Returns a column for each member of the row, in their order. A filter by a value outside of its
 * set is a mistake, also if the set can grow with the next release.
 */
const columnsOf = ({ spec }: AnyMember): ListColumn[] =>
  Object.entries(spec.members ?? {}).map(([name, member]) => ({
    name,
    type: memberKindOf(member).cell(member),
    ...(member.nullable && { nullable: true }),
    ...(member.values && { oneOf: member.values }),
  }))

export function createList(definition: EngineList): List {
  const { row, path, added = [], hidden = [], folded = {}, repeated = {} } = definition
  const { cells = {}, links = (row) => ({ self: `${path}/${row[0]}` }), ...list } = definition
  const members = columnsOf(row).filter(({ name }) => !added.includes(name))
  const columns = members
    .filter(({ name }) => !Object.hasOwn(repeated, name))
    .map((column) => ({
      ...column,
      type: cells[column.name] ?? column.type,
      folded: folded[column.name],
    }))
  const own = cellView(
    members.map((member) => columns.find(({ name }) => name === member.name) ?? member),
    (row) => JSON.stringify(links(row)),
  )
  const stored = [...columns, ...hidden]
  const indexes = members.map(({ name }) => {
    const column = Object.hasOwn(repeated, name) ? repeated[name] : name
    return stored.findIndex((listed) => listed.name === column)
  })
  const isInOrder = indexes.every((index, at) => index === at)
  return {
    collection: {
      ...list,
      columns: stored,
      integerId: columns[0]!.type === integerCell,
      scoped: list.scoped ?? false,
    },
    view: {
      fields: Object.keys(row.spec.members ?? {}),
      item: isInOrder
        ? own.item
        : (cells, options) =>
            own.item(
              indexes.map((at) => cells[at] ?? null),
              options,
            ),
    },
  }
}

/** Returns the list in the order of another column than the id, which an index has. */
export const inOrderOf = (column: ListColumn, { collection, view }: List): List => ({
  collection: {
    ...collection,
    name: `${collection.name} by ${column.name}`,
    columns: [column, ...collection.columns],
    scoped: false,
    sort: [column.name],
    indexes: [[column.name]],
  },
  view: {
    ...view,
    renamed: { ...view.renamed, id: column.name },
    item: (row, options) => view.item(row.slice(1), options),
  },
})

type AddedValues = Readonly<Record<string, unknown>>

/** Members of rows that no column has. */
export interface AddedMembers {
  readonly names: readonly string[]
  /** Returns the members of each row; a row has its cells by the name of the column. */
  readonly read: (from: Reader, rows: readonly Row[]) => Promise<readonly AddedValues[]>
}

/** Returns what adds members to the items of a page. It reads only those that `fields` selects. */
export const addMembers = (
  { columns }: Pick<Collection, 'columns'>,
  groups: readonly AddedMembers[],
): PageExpansion => ({
  key: '',
  omits: [],
  isWide: false,
  maxRowBytes: 0,
  async read(reader, rows, _most, fields) {
    const named = rows.map((row) =>
      Object.fromEntries(columns.map(({ name }, at) => [name, row[at]])),
    )
    const selected = groups
      .map((group) => ({
        ...group,
        names: group.names.filter((name) => fields?.has(name) ?? true),
      }))
      .filter(({ names }) => names.length > 0)
    const read = await Promise.all(
      selected.map(async ({ names, read }) => {
        const members = await read(reader, named)
        return members.map((all) =>
          names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(all[name])}`),
        )
      }),
    )
    return rows.map((_, at) => read.flatMap((texts) => texts[at]!).join(','))
  },
})

/** Returns the JSON of one row with its added members. */
export async function itemOf(
  from: Reader,
  { collection, view }: List,
  row: readonly Value[],
  groups: readonly AddedMembers[],
): Promise<string> {
  const [members] = (await addMembers(collection, groups).read(from, [row], 0))!
  return withMembers(view.item(row, {}), members!)
}
