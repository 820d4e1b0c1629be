/** The rows of requests. */

import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { duration, listTime } from '../../format.ts'
import { Code, Tag, Verb } from '../../parts/state.tsx'
import { type Column, Sub, Table } from '../../parts/table.tsx'
import { query as currentQuery } from '../../router.ts'
import type { RequestRow } from '../api-shapes.ts'
import { customerName } from '../customer-names.ts'

interface RequestTableProps {
  readonly rows: readonly RequestRow[]
  readonly current?: string | undefined
  readonly fresh?: ReadonlySet<string>
}

const timeOf = ({ at }: RequestRow): string => listTime(at, slowNow().value)

const customerOf = ({ customer }: RequestRow): string =>
  customer === null ? 'none' : customerName(customer)

const credentialOf = ({ credential }: RequestRow): string =>
  credential === null ? 'none' : (credential.name ?? credential.id ?? credential.kind)

const columns: readonly Column<RequestRow>[] = [
  {
    name: 'at',
    label: 'Time (UTC)',
    priority: 2,
    class: 'faint nowrap',
    cell: (row) => <time dateTime={row.at}>{timeOf(row)}</time>,
  },
  { name: 'status', label: 'Status', cell: ({ status }) => <Code status={status} /> },
  {
    name: 'request',
    label: 'Request',
    isMain: true,
    cell: (row) => (
      <>
        <Verb method={row.method} />{' '}
        <a
          class="cover mono"
          href={withQuery(`/console/requests/${row.id}`, Object.fromEntries(currentQuery.value))}
        >
          {row.path}
        </a>{' '}
        {row.error && <Tag>{row.error}</Tag>}
        {row.warnings > 0 && <Tag tone="warn">warning</Tag>}
        <Sub>
          {timeOf(row)} · {duration(row.took_ms)} · {customerOf(row)}
        </Sub>
      </>
    ),
  },
  {
    name: 'took',
    label: 'Took',
    priority: 2,
    align: 'end',
    cell: ({ took_ms }) => duration(took_ms),
  },
  { name: 'customer', label: 'Customer', priority: 3, class: 'nowrap', cell: customerOf },
  {
    name: 'credential',
    label: 'Credential',
    priority: 4,
    class: 'soft nowrap',
    cell: credentialOf,
  },
  {
    name: 'version',
    label: 'Version',
    priority: 3,
    cell: ({ version }) => <span class="mono soft">{version ?? '–'}</span>,
  },
]

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
