/** The callers of a version: credentials by their requests, and endpoints that are pinned. */
import { useState } from 'preact/hooks'
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { ago, count, number } from '../../format.ts'
import { lazy } from '../../lazy.tsx'
import { useListPage } from '../../list-page.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Empty, Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { Spark } from '../../parts/strip.tsx'
import { type Column, Pager, Sub, Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import {
  type Caller,
  moveLabel,
  outlookWords,
  type VersionDetail,
  versionPath,
} from './version-shapes.ts'

const { Lazy: WriteToCallers, prefetch: prefetchNotice } = lazy(() =>
  import('./version-notice.tsx').then((module) => module.WriteToCallers),
)

const DAYS = 30
const CSV_PAGES = 20

interface CallersProps {
  readonly row: VersionDetail
  /** Undefined: the operator may not change the calendar. */
  readonly onRetire: (() => void) | undefined
}

export function Callers({ row, onRetire }: CallersProps) {
  const { version } = row
  const callers = `${versionPath(version)}/callers`
  const words = { customer: customer.value, mode: mode.value, days: DAYS }
  const { path, list, pageHref } = useListPage<Caller>(callers, words)
  const [isWriting, setWriting] = useState(false)
  const save = async () => {
    const { saveCsv } = await import('../csv.ts')
    const rows = await saveCsv<Caller>({
      name: `callers-${version}-${mode.value}`,
      path: withQuery(callers, words),
      maxPages: CSV_PAGES,
      columns: csvColumns,
    })
    say(`Saved ${count(rows, 'caller')}.`)
  }
  return (
    <section class="section" aria-labelledby="callers">
      <div class="bar">
        <h2 id="callers">Who still calls {version}</h2>
        <span class="soft small">
          {mode.value} callers of the last {DAYS} days, with all their requests
        </span>
        <div class="right" onPointerEnter={prefetchNotice}>
          {mayChange('administrator') && (
            <Button size="tiny" onClick={() => setWriting(true)}>
              Write to all…
            </Button>
          )}
          <Button size="tiny" onClick={() => void save()}>
            CSV
          </Button>
        </div>
      </div>
      <Part of={list} subject="callers">
        {({ data, next_cursor: next }) => (
          <>
            {data.length > 0 ? (
              <Table
                caption={`Callers of ${version}, the most requests first`}
                columns={columnsOf(version)}
                rows={data}
                rowKey={({ kind, customer, id }) => `${kind} ${customer} ${id}`}
                isLinked
              />
            ) : (
              <NoCallers row={row} onRetire={onRetire} />
            )}
            {next && (
              <Pager older={pageHref(next)} words={['Previous', 'Next']}>
                {count(data.length, 'caller')}; the CSV file has all
              </Pager>
            )}
          </>
        )}
      </Part>
      <CallLine path={path} />
      {isWriting && (
        <WriteToCallers
          version={version}
          customer={customer.value}
          onClose={() => setWriting(false)}
        />
      )}
    </section>
  )
}

const routeWords = ({ routes }: Caller): readonly string[] =>
  routes.map(({ method, route }) => `${method} ${route}`)

const csvColumns = {
  customer: (row: Caller) => row.customer ?? '',
  customer_name: (row: Caller) => row.customer_name ?? '',
  mode: (row: Caller) => row.mode ?? '',
  kind: (row: Caller) => row.kind,
  id: (row: Caller) => row.id ?? '',
  name: (row: Caller) => row.name ?? '',
  routes: (row: Caller) => routeWords(row).join('; '),
  count: (row: Caller) => String(row.count),
  last_at: (row: Caller) => row.last_at ?? '',
  outlook: (row: Caller) => row.outlook.kind,
  contact: (row: Caller) => row.contact ?? '',
}

const urlWords = (url: string): string => url.replace(/^https?:\/\//, '')

function credentialWords({ kind, id, name }: Caller): string {
  if (kind === 'webhook') return `endpoint ${urlWords(name ?? id!)}`
  if (id === null) return kind === 'person' ? 'a person' : 'no valid credential'
  return name ?? `${kind} ${id}`
}

/** Returns the page of a pinned endpoint, or the requests of a caller. */
function hrefOf({ kind, customer, id }: Caller, version: string): string {
  if (kind === 'webhook') return href(`/console/webhooks/${id}`)
  const word = kind === 'workload' ? 'client' : kind
  return href('/console/requests', {
    ...(customer !== null && { customer }),
    version,
    range: '7d',
    ...(id !== null && { [word]: id }),
  })
}

const lastOf = ({ last_at: at }: Caller): string => (at ? ago(at, slowNow().value) : 'never')

function columnsOf(version: string): readonly Column<Caller>[] {
  return [
    {
      name: 'caller',
      label: 'Caller',
      class: 'nowrap',
      cell: (row) => (
        <>
          <a class="cover" href={hrefOf(row, version)}>
            {row.customer_name ?? row.customer ?? 'Not identified'}
          </a>
          <Sub>
            {credentialWords(row)} · {lastOf(row)}
          </Sub>
        </>
      ),
    },
    {
      name: 'credential',
      label: 'Credential',
      priority: 3,
      cell: (row) => (
        <span class={row.kind === 'webhook' ? 'soft' : 'soft nowrap'}>{credentialWords(row)}</span>
      ),
    },
    {
      name: 'routes',
      label: 'Routes',
      priority: 2,
      isMain: true,
      cell: (row) => <span class="mono soft">{routeWords(row).join(', ')}</span>,
    },
    { name: 'count', label: 'Requests', align: 'end', cell: ({ count }) => number(count) },
    {
      name: 'trend',
      label: 'Trend',
      priority: 3,
      cell: ({ daily }) =>
        daily.some((value) => value > 0) && (
          <Spark
            values={daily}
            label={`${count(sumOf(daily), 'request')} in ${count(daily.length, 'day')}`}
          />
        ),
    },
    {
      name: 'outlook',
      label: 'Outlook',
      cell: ({ outlook }) => {
        const [tone, words] = outlookWords(outlook)
        return <State tone={tone}>{words}</State>
      },
    },
    { name: 'last', label: 'Last', priority: 2, class: 'nowrap', cell: lastOf },
    {
      name: 'contact',
      label: 'Contact',
      priority: 3,
      cell: ({ contact }) => contact && <a href={`mailto:${contact}`}>{contact}</a>,
    },
  ]
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

function NoCallers({ row, onRetire }: CallersProps) {
  const { version } = row
  if (row.state === 'retired') {
    return (
      <Empty title={`${version} is retired`}>
        Requests get 410.{' '}
        <a href={href('/console/requests', { version, status: '410', range: '7d' })}>
          The requests that got it
        </a>
      </Empty>
    )
  }
  return (
    <Empty title={`No caller of ${version} in ${mode.value} mode for ${DAYS} days`}>
      It can end if the other mode has none, either.{' '}
      {onRetire && (
        <Button size="tiny" onClick={onRetire}>
          {row.state === 'deprecated' ? moveLabel(row) : 'Deprecate…'}
        </Button>
      )}
    </Empty>
  )
}
