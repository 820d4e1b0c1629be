/** Errors by code and route, those that concern most customers first. */
import { withQuery } from '../../api.ts'
import { columnsOf } from '../../lists/columns.tsx'
import { useLoaded } from '../../loaded.ts'
import { Empty, Part } from '../../parts/notices.tsx'
import { Table } from '../../parts/table.tsx'
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
              columns={columnsOf<ErrorRow>('ErrorCause', { hrefOf: (row) => linkOf(row, range) })}
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
