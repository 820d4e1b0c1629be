/** The audit trail: administrative operations, newest first. Read only. */
import { type Query, withQuery } from '../../api.ts'
import { count } from '../../format.ts'
import { whoText } from '../../lists/row-value.ts'
import { Button } from '../../parts/button.tsx'
import { Json } from '../../parts/json.tsx'
import { say } from '../../parts/toast.tsx'
import { href, type PageProps } from '../../router.ts'
import type { Page as RowPage } from '../api-shapes.ts'
import { saveCsv } from '../csv.ts'
import { ListScreen, type OpenRow } from '../list-screen.tsx'
import { ObjectFacts } from '../object-facts.tsx'
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

/** The callers are in `principal`. */
const ELSEWHERE = ['action', 'actor_kind', 'actor_id', 'actor_name', 'detail']

const links = {
  principal: ({ principal }: AuditRow) => (
    <a href={href('/console/audit', { who: principal.id })}>{whoText(principal)}</a>
  ),
  target({ target }: AuditRow) {
    const page = targetHref(target)
    return page && <a href={href(page)}>{target}</a>
  },
  request_id: ({ request_id: id }: AuditRow) =>
    id && (
      <a class="mono" href={href(`/console/requests/${id}`)}>
        {id}
      </a>
    ),
}

function Detail({ row }: { readonly row: AuditRow }) {
  return (
    <>
      <ObjectFacts of="AuditEntry" noun="audit" row={row} cells={links} omit={ELSEWHERE} />
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
