/** The columns of a resource's table, from its fields. */
import { withQuery } from '../../api.ts'
import { priorityOf, UNDER_NAME } from '../../lists/column-layout.ts'
import { type Column, Sub } from '../../parts/table.tsx'
import { query } from '../../router.ts'
import { cellOf } from './field-value.tsx'
import type { NameOfReference } from './references.ts'
import { type DataRow, type Resource, type ResourceField, STATE_FIELD } from './resource-shapes.ts'

/** The text that takes the remaining width: the label, otherwise the first free text. */
const mainOf = ({ label, fields }: Resource): string | undefined =>
  label ?? fields.find(({ input }) => input.free_text)?.name

function Reference({ field, row, nameOf }: CellProps) {
  const id = row[field.name]
  const name = field.of === null ? undefined : nameOf(field.of, id)
  return (
    <>
      {cellOf(field, id)} {name !== undefined && <span class="soft">{name}</span>}
    </>
  )
}

interface CellProps {
  readonly field: ResourceField
  readonly row: DataRow
  readonly nameOf: NameOfReference
}

const Cell = ({ field, row, nameOf }: CellProps) =>
  field.of === null ? cellOf(field, row[field.name]) : <Reference {...{ field, row, nameOf }} />

const hasValue = (row: DataRow) => (field: ResourceField) => row[field.name] !== null

const rowHref = (collection: string, id: DataRow['id']): string =>
  withQuery(`/console/data/${collection}/${id}`, Object.fromEntries(query.value))

/**
 * Returns the columns: the id, state and label stay. The other fields leave from the last one, but
 * amounts after those that are neither under the id nor amounts.
 */
export function columnsOf(resource: Resource, nameOf: NameOfReference): readonly Column<DataRow>[] {
  const { name: collection, label, sort } = resource
  const fields = resource.fields.filter((field) => !field.write_only)
  const main = mainOf(resource)
  const stays = (name: string) => name === 'id' || name === STATE_FIELD || name === label
  const others = fields.filter(({ name }) => !stays(name))
  const hidden = others.slice(0, UNDER_NAME)
  const rest = others.slice(UNDER_NAME)
  const byRank = [
    ...hidden,
    ...rest.filter(({ input }) => input.amount),
    ...rest.filter(({ input }) => !input.amount),
  ]
  return fields.map((field): Column<DataRow> => {
    const { name } = field
    const rank = byRank.indexOf(field)
    const priority: Column<DataRow>['priority'] = rank < 0 ? undefined : priorityOf(rank)
    const shared = {
      name,
      label: field.unit === null ? name : `${name}, ${field.unit}`,
      isSortable: sort.includes(name),
      ...(priority && { priority }),
      ...(field.input.amount && { align: 'end' as const }),
      ...(name === main ? { isMain: true } : { class: 'nowrap cut' }),
    }
    if (name !== 'id') {
      return { ...shared, cell: (row) => <Cell {...{ field, row, nameOf }} /> }
    }
    return {
      ...shared,
      cell: (row) => (
        <>
          <a class="cover mono" href={rowHref(collection, row.id)}>
            {row.id}
          </a>
          <Sub>
            {hidden.filter(hasValue(row)).map((other, n) => (
              <span key={other.name}>
                {n > 0 && ' · '}
                <Cell field={other} {...{ row, nameOf }} />
              </span>
            ))}
          </Sub>
        </>
      ),
    }
  })
}
