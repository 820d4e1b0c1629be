/** Errors by code and route, those that concern most customers first. */
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { count, listTime, number } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Empty, Part } from '../../parts/notices.tsx'
import { Code } from '../../parts/state.tsx'
import { type Column, Sub, Table } from '../../parts/table.tsx'
import { href } from '../../router.ts'
import type { TimeRange } from '../ranges.ts'
import { requestModes, scopeWords } from '../scope.ts'

/** A row of `GET /admin/errors`. */
interface ErrorRow {
  readonly error: string
  readonly status: number | null
  readonly route: string
  readonly version: string | null
  readonly count: number
  readonly customers: number
  readonly last_at: string
}

const linkOf = (row: ErrorRow, { name, words }: TimeRange): string =>
  href('/console/requests', {
    ...(name === undefined ? words : { range: name === '30d' ? '7d' : name }),
    error: row.error,
    route: row.route === '*' ? undefined : row.route,
  })

const columnsOf = (range: TimeRange): readonly Column<ErrorRow>[] => [
  {
    name: 'error',
    label: 'Error',
    cell: (row) => (
      <>
        <Code status={row.status} />{' '}
        <a class="cover mono" href={linkOf(row, range)}>
          {row.error}
        </a>
        <Sub>
          {row.route} · {count(row.customers, 'customer')}
        </Sub>
      </>
    ),
  },
  {
    name: 'route',
    label: 'Route',
    priority: 2,
    cell: ({ route }) => <code>{route}</code>,
  },
  { name: 'version', label: 'Version', priority: 3, cell: ({ version }) => version ?? '–' },
  { name: 'count', label: 'Count', align: 'end', cell: ({ count }) => number(count) },
  {
    name: 'customers',
    label: 'Customers',
    align: 'end',
    priority: 2,
    cell: ({ customers }) => number(customers),
  },
  {
    name: 'last',
    label: 'Last',
    align: 'end',
    priority: 3,
    cell: ({ last_at: at }) => <time dateTime={at}>{listTime(at, slowNow().value)}</time>,
  },
]

const MAX_ROWS = 12
const CAPTION = 'Errors, by the number of customers'

export function ErrorTable({ range }: { readonly range: TimeRange }) {
  const errors = useLoaded<{ readonly data: readonly ErrorRow[] }>(
    withQuery('/admin/errors', { ...range.words, ...scopeWords(), mode: requestModes() }),
  )
  return (
    <section class="section" aria-labelledby="errors">
      <div class="bar">
        <h2 id="errors">{CAPTION}</h2>
        <a class="right small" href={href('/console/requests', { status: '4xx,5xx' })}>
          All requests with errors
        </a>
      </div>
      <Part of={errors} subject="errors">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No error in this range" />
          ) : (
            <Table
              caption={CAPTION}
              columns={columnsOf(range)}
              rows={data.slice(0, MAX_ROWS)}
              rowKey={({ error, route, version }) => `${error} ${route} ${version}`}
              isLinked
            />
          )
        }
      </Part>
    </section>
  )
}
