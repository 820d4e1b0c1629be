/** The rows of requests. */

import { withQuery } from '../../api.ts'
import { columnsOf } from '../../lists/columns.tsx'
import { Tag, Verb } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { query as currentQuery } from '../../router.ts'
import type { RequestRow } from '../api-shapes.ts'
import { customerName } from '../customer-names.ts'

interface RequestTableProps {
  readonly rows: readonly RequestRow[]
  readonly current?: string | undefined
  readonly fresh?: ReadonlySet<string>
}

const columns = columnsOf<RequestRow>('LoggedRequest', {
  cells: {
    path: ({ method, path }) => (
      <>
        <Verb method={method} /> {path}
      </>
    ),
    customer: ({ customer }) => customer && customerName(customer),
  },
  omit: ['error', 'id'],
  hrefOf: ({ id }) => withQuery(`/console/requests/${id}`, Object.fromEntries(currentQuery.value)),
  mark: ({ error, warnings }) => (
    <>
      {error && <Tag>{error}</Tag>}
      {warnings > 0 && <Tag tone="warn">warning</Tag>}
    </>
  ),
})

export const RequestTable = ({ rows, current, fresh }: RequestTableProps) => (
  <Table
    caption="Requests, newest first"
    columns={columns}
    rows={rows}
    rowKey={({ id }) => id}
    isLinked
    current={current}
    isNew={({ id }) => fresh?.has(id) ?? false}
  />
)
