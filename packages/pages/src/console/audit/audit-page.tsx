/** The audit trail: administrative operations, newest first. Read only. */
import { type Query, withQuery } from '../../api.ts'
import { count, instant } from '../../format.ts'
import { whoText } from '../../lists/row-value.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Json } from '../../parts/json.tsx'
import { Id } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { href, type PageProps } from '../../router.ts'
import type { Page as RowPage } from '../api-shapes.ts'
import { saveCsv } from '../csv.ts'
import { ListScreen, type OpenRow } from '../list-screen.tsx'
import { RowDrawer } from '../row-drawer.tsx'
import { auditWords, parametersOf, targetHref } from './audit-filters.ts'
import type { AuditRow } from './audit-shapes.ts'

const PATH = '/admin/audit'
/** Rows of a CSV file: 20 pages of 100. */
const MAX_CSV_PAGES = 20

export const Page = ({ params }: PageProps) => (
  <ListScreen<AuditRow>
    title="Audit"
    path={PATH}
    parameters={(filters) => ({ sort: '-at', ...parametersOf(filters) })}
    noun="operation"
    subject="the audit trail"
    intro="Every administrative operation, in a chain that shows changes."
    actions={(parameters) => <SaveCsv parameters={parameters} />}
    words={auditWords}
    placeholder="act:key.create  who:opr_…  target:key_…  since:7d"
    caption="Administrative operations, newest first"
    object="AuditEntry"
    noMatch="Remove a word of the filter, or select an earlier time."
    openId={params.id}
    pagePath="/console/audit"
    drawer={(row) => <AuditDrawer key={row.id} {...row} />}
  />
)

function SaveCsv({ parameters }: { readonly parameters: Query }) {
  const save = async () => {
    const rows = await saveCsv<AuditRow>({
      name: 'audit',
      path: withQuery(PATH, parameters),
      maxPages: MAX_CSV_PAGES,
      columns: {
        at: ({ at }) => at,
        principal_kind: ({ principal }) => principal.kind,
        principal: ({ principal }) => whoText(principal),
        action: ({ action }) => action,
        target: ({ target }) => target,
        address: ({ address }) => address ?? '',
        request_id: ({ request_id: id }) => id ?? '',
        node: ({ node }) => node ?? '',
        detail: ({ detail }) => JSON.stringify(detail),
      },
    })
    say(`Saved ${count(rows, 'row')}.`)
  }
  return (
    <Button size="tiny" onClick={save}>
      Save as CSV
    </Button>
  )
}

const AuditDrawer = (props: OpenRow) => (
  <RowDrawer<RowPage<AuditRow>, AuditRow>
    {...props}
    path={withQuery(PATH, { id: props.id, limit: 1 })}
    noun="operation"
    gone="The audit trail has no such row."
    rowOf={({ data }) => data[0]}
    nameOf={({ action }) => action}
    facts={Detail}
    operations={[]}
  />
)

function Detail({ row }: { readonly row: AuditRow }) {
  const target = targetHref(row.target)
  return (
    <>
      <Facts
        of={[
          ['Id', <Id id={row.id} subject="audit id" />],
          ['At', <time dateTime={row.at}>{instant(row.at)}</time>],
          [
            'By',
            <>
              <a href={href('/console/audit', { who: row.principal.id })}>
                {whoText(row.principal)}
              </a>
              {row.address && `, from ${row.address}`}
            </>,
          ],
          ['Target', target ? <a href={href(target)}>{row.target}</a> : <code>{row.target}</code>],
          [
            'Request',
            row.request_id ? (
              <a class="mono" href={href(`/console/requests/${row.request_id}`)}>
                {row.request_id}
              </a>
            ) : (
              'none: a command or the engine'
            ),
          ],
          ['Node', row.node ?? 'not recorded'],
          ['Hash', row.hash ?? 'not yet in the chain', 'mono small'],
        ]}
      />
      <section aria-labelledby="detail">
        <h2 id="detail">Detail</h2>
        {Object.keys(row.detail).length === 0 ? (
          <p class="soft small">None.</p>
        ) : (
          <Json value={row.detail} />
        )}
      </section>
      <p class="hint">
        <a href={href('/console/audit', { target: row.target })}>All operations on this target</a>
      </p>
    </>
  )
}
