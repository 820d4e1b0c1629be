/** The six figures of a range, compared with the range before it. */
import { useEffect } from 'preact/hooks'
import { setServerTime, slowNow } from '../../clock.ts'
import { ago, day, duration, percent, short } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { type Figure, Figures } from '../../parts/figures.tsx'
import { href } from '../../router.ts'
import type { SeriesBody, TotalsOfMetrics, VersionRow } from '../api-shapes.ts'
import type { TimeRange } from '../ranges.ts'

interface SummaryProps {
  readonly body: SeriesBody
  readonly versions: readonly VersionRow[]
  readonly range: TimeRange
}

interface SystemBody {
  readonly now: string
  readonly queue?: { readonly waiting: number; readonly oldest_at: string | null }
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

const rangeWords = ({ name, words }: TimeRange) => (name === undefined ? words : { range: name })

function comparison(now: number, before: number | null | undefined): string {
  if (!before) return 'nothing to compare with'
  const change = (now - before) / before
  const sign = change < 0 ? '−' : '+'
  return `${sign}${percent(Math.abs(change))} on the range before`
}

const value = (totals: TotalsOfMetrics, metric: keyof TotalsOfMetrics, key: string): number =>
  totals[metric]?.[key] ?? 0

function requestFigures({ body: { totals }, range }: SummaryProps): readonly Figure[] {
  const count = value(totals, 'requests', 'count')
  const failed = value(totals, 'requests', '5xx')
  const rejected = value(totals, 'requests', '4xx')
  const link = (words: Readonly<Record<string, string>>) =>
    href('/console/requests', { ...rangeWords(range), ...words })
  return [
    {
      label: 'Requests',
      value: short(count),
      note: comparison(count, totals.previous?.requests?.count),
      href: link({}),
    },
    {
      label: 'Without a server error',
      value: count === 0 ? '–' : percent(1 - share(failed, count)),
      note: `${percent(share(rejected, count))} were 4xx`,
      href: link({ status: '5xx' }),
    },
  ]
}

function latencyFigure({ body: { totals } }: SummaryProps): Figure {
  const { p50, p95, p99 } = totals.latency ?? {}
  const text = (ms: number | null | undefined) => (typeof ms === 'number' ? duration(ms) : '–')
  return { label: 'p95', value: text(p95), note: `p50 ${text(p50)}, p99 ${text(p99)}` }
}

function deliveryFigure({ body: { totals } }: SummaryProps): Figure {
  const delivered = value(totals, 'deliveries', 'delivered')
  const failed = value(totals, 'deliveries', 'failed')
  const all = delivered + failed
  return {
    label: 'Accepted deliveries',
    value: all === 0 ? '–' : percent(share(delivered, all)),
    note: all === 0 ? 'no attempt' : `${short(failed)} of ${short(all)} attempts failed`,
    href: href('/console/webhooks'),
  }
}

/** The share of requests that use a version that is not supported. */
function endingFigure({ body: { totals }, versions }: SummaryProps): Figure {
  const ending = versions.filter(({ state }) => state !== 'supported')
  const counts = totals.versions ?? {}
  const all = Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0)
  const old = ending.reduce((sum, { version }) => sum + (counts[version] ?? 0), 0)
  const next = ending.find(({ sunset_at: end }) => end)
  return {
    label: 'On a deprecated version',
    value: ending.length === 0 ? 'none' : percent(share(old, all)),
    note: next ? `${next.version} ends ${day(next.sunset_at!)}` : 'no version has an end',
    href: href('/console/versions'),
  }
}

function waitingFigure(queue: SystemBody['queue']): Figure {
  return {
    label: 'Waiting deliveries',
    value: queue ? short(queue.waiting) : '–',
    note: queue?.oldest_at ? `the oldest ${ago(queue.oldest_at, slowNow().value)}` : 'none is late',
    href: href('/console/webhooks'),
  }
}

const POLL_MS = 15_000

export function SummaryFigures(props: SummaryProps) {
  const { data } = useLoaded<SystemBody>('/admin/system', { everyMs: POLL_MS })
  useEffect(() => {
    if (data) setServerTime(data.now)
  }, [data])
  return (
    <section class="section" aria-label="Figures">
      <Figures
        figures={[
          ...requestFigures(props),
          latencyFigure(props),
          deliveryFigure(props),
          waitingFigure(data?.queue),
          endingFigure(props),
        ]}
      />
    </section>
  )
}
