/** Requests: filter, histogram, rows with live tail, and the drawer that explains one of them. */
import { useEffect, useState } from 'preact/hooks'
import { type Query, withQuery } from '../../api.ts'
import { duration, isoSecond, number } from '../../format.ts'
import { useKeys } from '../../keyboard.ts'
import { lazy } from '../../lazy.tsx'
import { type Loaded, useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Chart } from '../../parts/chart.tsx'
import { copyText } from '../../parts/copy.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Empty, Part } from '../../parts/notices.tsx'
import { type Filter, QueryBox } from '../../parts/query-box.tsx'
import { Segments } from '../../parts/segments.tsx'
import { State } from '../../parts/state.tsx'
import { Pager } from '../../parts/table.tsx'
import { href, type PageProps, query, setQuery } from '../../router.ts'
import type { Page as ListPage, RequestPage, SeriesBody } from '../api-shapes.ts'
import { filtersOf, queryOf } from '../filter-words.ts'
import { KEY_NAMES_PATH, type KeyName } from '../key-names.ts'
import { OtherMode } from '../other-mode.tsx'
import {
  currentRange,
  lastingUrl,
  RANGES,
  type RangeName,
  rangeWords,
  selectInstants,
  selectRange,
  type TimeRange,
  timeLabelOf,
} from '../ranges.ts'
import { mode, requestModes } from '../scope.ts'
import { useKeyProbePath, useVersions } from '../versions.ts'
import { useLiveTail } from './live-tail.ts'
import {
  matches,
  parametersOf,
  requestWords,
  seriesFilters,
  streamFilters,
  withoutTime,
} from './request-filters.ts'
import { RequestTable } from './request-table.tsx'

const { Lazy: RequestDrawer, prefetch: prefetchDrawer } = lazy(() =>
  import('./request-drawer.tsx').then((module) => module.RequestDrawer),
)
type KeyPage = ListPage<KeyName>
const LIMIT = 50
const FIRST_RANGE: RangeName = '1h'
const RANGE_NAMES: readonly RangeName[] = ['15m', '1h', '24h', '7d']

/** A link to this page with other filters. */
const withFilters = (words: Query): string =>
  href('/console/requests', { range: query.value.get('range') ?? undefined, ...words })

export function Page({ params }: PageProps) {
  useEffect(prefetchDrawer, [])
  const versions = useVersions()
  const keys = useLoaded<KeyPage>(KEY_NAMES_PATH).data?.data
  const words = requestWords(
    versions.map(({ version }) => version),
    keys,
  )
  const filters = filtersOf(query.value, words)
  const range = currentRange(FIRST_RANGE)
  const cursor = query.value.get('cursor') ?? undefined
  const conditions = withoutTime(filters)
  const parameters = { mode: requestModes(), ...parametersOf(conditions, words) }
  const endsNow = range.name !== undefined && cursor === undefined
  const { path, list } = useList(parameters, range, cursor)
  const [isFollowing, setFollowing] = useState(true)
  const tail = useLiveTail({
    isOn: endsNow && isFollowing,
    parameters: { mode: requestModes(), ...streamFilters(conditions) },
    accepts: (row) => matches(row, conditions),
    reload: list.reload,
    list: endsNow ? list.data?.data : undefined,
  })
  const follow = () => setFollowing((value) => !value)
  useKeys([{ keys: 'l', label: 'Follow new requests', run: follow }])
  const closeHref = withQuery('/console/requests', Object.fromEntries(query.value))
  const oldest = versions.length > 1 ? versions.at(-1)?.version : undefined
  return (
    <Screen
      title="Requests"
      drawer={params.id && <RequestDrawer key={params.id} id={params.id} closeHref={closeHref} />}
    >
      <div class="head">
        <FollowState
          isFollowing={isFollowing}
          endsNow={endsNow}
          waiting={tail.waiting}
          range={range}
        />
        <div class="acts">
          {tail.waiting > 0 && (
            <Button size="tiny" class="fresh" onClick={tail.insertAll}>
              {number(tail.waiting)} new, display
            </Button>
          )}
          <Button size="tiny" pressed={endsNow && isFollowing} disabled={!endsNow} onClick={follow}>
            Follow
          </Button>
          <Segments
            label="Time range"
            value={range.name ?? ('' as RangeName)}
            options={RANGE_NAMES.map((name) => [name, RANGES[name].label])}
            onChange={selectRange}
          />
          <Button kind="quiet" size="tiny" onClick={() => copyText(lastingUrl(range))}>
            Copy link
          </Button>
        </div>
      </div>
      <QueryBox
        label="Filter requests"
        words={words}
        filters={filters}
        onChange={(next) => setQuery({ ...queryOf(next, words), cursor: undefined })}
        placeholder="status:4xx  error:…  path:/api/…  took:>100ms"
      />
      <Presets oldest={oldest} />
      <Histogram filters={conditions} range={range} />
      <div class="section">
        <Part
          of={list}
          subject="requests"
          feature={{
            title: 'The request log is off',
            text: 'This installation stores no requests. Restart it with the setting.',
            setting: 'GATEHOOK_REQUEST_LOG=all',
          }}
        >
          {(page) => (
            <Rows
              page={page}
              live={tail.rows}
              fresh={tail.fresh}
              current={params.id}
              filters={conditions}
              range={range}
            />
          )}
        </Part>
      </div>
      <CallLine path={path} />
    </Screen>
  )
}

/** Loads the list. It does not repeat while the reader follows: the stream adds the new rows. */
function useList(parameters: Query, range: TimeRange, cursor: string | undefined) {
  // The beginning of a range that ends now stays until the reader selects something.
  const key = JSON.stringify([range.name ?? range.words, parameters])
  const [start, setStart] = useState({ key, words: range.words })
  if (start.key !== key) setStart({ key, words: range.words })
  const path = withQuery('/admin/requests', {
    ...(start.key === key ? start.words : range.words),
    limit: LIMIT,
    ...parameters,
    cursor,
  })
  const list: Loaded<RequestPage> = useLoaded(path)
  return { path, list }
}

interface FollowStateProps {
  readonly isFollowing: boolean
  readonly endsNow: boolean
  /** New requests that the list does not display yet. */
  readonly waiting: number
  readonly range: TimeRange
}

function FollowState({ isFollowing, endsNow, waiting, range }: FollowStateProps) {
  if (!endsNow) return <State tone="idle">{rangeWords(range)}</State>
  if (isFollowing && waiting > 0) return <State tone="hold">Waits while you read</State>
  return isFollowing ? <State tone="ok">Following</State> : <State tone="hold">Paused</State>
}

const Presets = ({ oldest }: { readonly oldest: string | undefined }) => (
  <div class="bar small">
    <span class="soft">Frequent:</span>
    <a href={withFilters({ status: '5xx' })}>5xx</a>
    <a href={withFilters({ status: '4xx' })}>4xx</a>
    <a href={withFilters({ took: '>100ms' })}>slower than 100 ms</a>
    <a href={withFilters({ warnings: 'true' })}>with warnings</a>
    {oldest && <a href={withFilters({ version: oldest })}>{oldest}</a>}
  </div>
)

interface HistogramProps {
  readonly filters: readonly Filter[]
  readonly range: TimeRange
}

const TONES = { '2xx': 'ok', '3xx': 'redirect', '4xx': 'client', '5xx': 'server' } as const

function Histogram({ filters, range }: HistogramProps) {
  const { words, isExact } = seriesFilters(filters)
  const path = withQuery('/admin/series', {
    metric: 'requests',
    ...range.words,
    mode: requestModes(),
    ...words,
  })
  const { data } = useLoaded<SeriesBody>(path)
  if (!data) return <div class="plot low histogram" />
  const first = Date.parse(data.from)
  const steps = data.series[0]?.values.length ?? 0
  const times = Array.from({ length: steps }, (_, at) => first + at * data.step_s * 1000)
  const total = data.totals.requests?.count ?? 0
  const failed = data.totals.requests?.['5xx'] ?? 0
  const series = Object.entries(TONES).map(([key, tone]) => ({
    name: key,
    label: key,
    tone,
    values: data.series.find((row) => row.key === key)?.values ?? [],
  }))
  return (
    <>
      <Chart
        title="Requests over time"
        summary={`${number(total)} requests in this range, ${number(failed)} of them 5xx.`}
        kind="bars"
        size="low"
        isBare
        series={series}
        times={times}
        timeLabel={timeLabelOf(range)}
        format={number}
        onRange={(from, to) => selectInstants(from, to + data.step_s * 1000)}
      />
      <p class="hint">Drag over the chart to select a range, or filter with from: and to:.</p>
      {!isExact && (
        <p class="hint">The chart counts all requests of this scope; the rows match the filter.</p>
      )}
    </>
  )
}

interface RowsProps {
  readonly page: RequestPage
  readonly live: RequestPage['data']
  readonly fresh: ReadonlySet<string>
  readonly current: string | undefined
  readonly filters: readonly Filter[]
  readonly range: TimeRange
}

function Rows({ page, live, fresh, current, filters, range }: RowsProps) {
  const liveIds = new Set(live.map(({ id }) => id))
  const rows = [...live, ...page.data.filter(({ id }) => !liveIds.has(id))]
  const pageHref = (cursor: string | null) =>
    cursor === null
      ? undefined
      : withQuery('/console/requests', { ...Object.fromEntries(query.value), cursor })
  if (rows.length === 0) return <NoRows page={page} filters={filters} range={range} />
  const { sampled, dropped } = page.not_logged
  return (
    <>
      <RequestTable rows={rows} current={current} fresh={fresh} />
      {/* Below the rows: it comes and goes, and no row moves under the pointer. */}
      {!rows.some((row) => row.mode === mode.value) && <OtherRequests />}
      <Pager newer={pageHref(page.cursors.prev)} older={pageHref(page.next_cursor)}>
        {number(rows.length)} {rows.length === 1 ? 'request' : 'requests'}
        {sampled + dropped > 0 && `; ${number(sampled + dropped)} since the start are not stored`}
      </Pager>
    </>
  )
}

const OtherRequests = () => (
  <OtherMode
    pathOf={(other) => withQuery('/admin/requests', { mode: other, limit: LIMIT })}
    noun="request"
  />
)

/** Without rows: the command that sends a request, or the last request that matches. */
function NoRows({ page, filters, range }: Omit<RowsProps, 'live' | 'fresh' | 'current'>) {
  const words = requestWords([])
  const nearest = useLoaded<RequestPage>(
    withQuery('/admin/requests', {
      limit: 1,
      to: isoSecond(range.fromMs),
      mode: requestModes(),
      ...parametersOf(filters, words),
    }),
  )
  const row = nearest.data?.data[0]
  const path = useKeyProbePath()
  if (page.has_more && page.next_cursor) {
    return (
      <Empty title="No match in this part of the range">
        <a
          href={withQuery('/console/requests', {
            ...Object.fromEntries(query.value),
            cursor: page.next_cursor,
          })}
        >
          Search the older part
        </a>
      </Empty>
    )
  }
  if (filters.length === 0 && !row) {
    return (
      <Empty
        title={`No request in ${mode.value} mode yet`}
        command={`curl -H "X-API-Key: $KEY" "${location.origin}${path}"`}
      >
        A request with a {mode.value} key appears here within a second.
        <OtherRequests />
      </Empty>
    )
  }
  return (
    <Empty title="No request matches in this range">
      {row ? (
        <>
          The last match was{' '}
          <a
            href={href(`/console/requests/${row.id}`, { range: '7d', ...queryOf(filters, words) })}
          >
            {row.method} {row.path}
          </a>{' '}
          at {row.at.slice(0, 19).replace('T', ' ')} UTC, in {duration(row.took_ms)}.
        </>
      ) : (
        'The log has none before it either. Remove a word of the filter.'
      )}
    </Empty>
  )
}
