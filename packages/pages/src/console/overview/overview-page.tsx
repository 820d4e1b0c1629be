/** Overview: notices, figures, charts, errors. */
import { withQuery } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { CallLine } from '../../parts/call-line.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Part } from '../../parts/notices.tsx'
import { Segments } from '../../parts/segments.tsx'
import type { SeriesBody, TotalsOfMetrics } from '../api-shapes.ts'
import { customerName } from '../customer-names.ts'
import { FirstSteps } from '../entrance/first-steps.tsx'
import { currentRange, RANGES, type RangeName, selectRange, type TimeRange } from '../ranges.ts'
import { customer, mode, requestModes, scopeWords } from '../scope.ts'
import { useVersions } from '../versions.ts'
import { Attention } from './attention.tsx'
import { Charts } from './charts.tsx'
import { ErrorTable } from './error-table.tsx'
import { SummaryFigures } from './summary-figures.tsx'

const FIRST_RANGE: RangeName = '24h'
const RANGE_NAMES: readonly RangeName[] = ['1h', '24h', '7d', '30d']

export function Page() {
  const range = currentRange(FIRST_RANGE)
  const path = withQuery('/admin/series', {
    metric: 'requests,latency,deliveries,versions',
    ...range.words,
    ...scopeWords(),
    mode: requestModes(),
  })
  const series = useLoaded<SeriesBody>(path)
  const versions = useVersions()
  return (
    <Screen title="Overview">
      <div class="head">
        <span class="soft small">{describe(range)}</span>
        <div class="acts">
          <Segments
            label="Time range"
            value={range.name ?? ('' as RangeName)}
            options={RANGE_NAMES.map((name) => [name, RANGES[name].label])}
            onChange={selectRange}
          />
        </div>
      </div>
      <Attention />
      <Part of={series} subject="figures">
        {(body) =>
          isFirstStart(body) ? (
            <section class="section" aria-labelledby="first">
              <h2 id="first">First steps</h2>
              <FirstSteps />
              {hasRequests(body) && <ErrorTable range={range} />}
            </section>
          ) : (
            <>
              <SummaryFigures body={body} versions={versions} range={range} />
              <Charts body={body} versions={versions} range={range} />
              <ErrorTable range={range} />
            </>
          )
        }
      </Part>
      <CallLine path={path} />
    </Screen>
  )
}

const hasRequests = ({ totals }: SeriesBody): boolean => (totals.requests?.count ?? 0) > 0

const successes = ({ requests }: TotalsOfMetrics): number => requests?.['2xx'] ?? 0

/** Before the first success, of any customer, there is little to draw. */
const isFirstStart = ({ totals }: SeriesBody): boolean =>
  successes(totals) === 0 &&
  successes(totals.previous ?? {}) === 0 &&
  customer.value === undefined &&
  mode.value === 'live'

function describe({ name, fromMs, toMs }: TimeRange): string {
  const whose = customer.value === undefined ? 'all customers' : customerName(customer.value)
  const end = instant(new Date(toMs).toISOString())
  const length = name ? `${RANGES[name].label} to ${end}` : ''
  const between = `${instant(new Date(fromMs).toISOString())} to ${end}`
  return `${length || between}, ${whose}, ${mode.value}`
}
