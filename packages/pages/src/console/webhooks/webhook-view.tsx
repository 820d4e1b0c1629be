/** One endpoint: its health and the cause, attempts, deliveries, secrets and rules. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import {
  ago,
  duration,
  instant,
  listTime,
  number,
  percent,
  period,
  timeOfDay,
} from '../../format.ts'
import { lazy } from '../../lazy.tsx'
import { columnsOf } from '../../lists/columns.tsx'
import { stateOf } from '../../lists/state-words.ts'
import { type Loaded, useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Figures } from '../../parts/figures.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Empty, Notice, Part } from '../../parts/notices.tsx'
import { Segments } from '../../parts/segments.tsx'
import { State } from '../../parts/state.tsx'
import { Strip } from '../../parts/strip.tsx'
import { Table } from '../../parts/table.tsx'
import { href } from '../../router.ts'
import type { Page } from '../api-shapes.ts'
import { type DeliveryRow, reasonOf } from '../events/event-shapes.ts'
import { mayChange } from '../session.ts'
import type { Operation } from './webhook-operations.tsx'
import { Rules, Secrets } from './webhook-rules.tsx'
import { actingPath, stripWords, type WebhookHealth, type WebhookRow } from './webhook-shapes.ts'

const EVERY_MS = 5000

const { Lazy: TestEvent } = lazy(
  async () => (await import('../../webhooks/test-event.tsx')).TestEvent,
)
const { Lazy: WebhookOperation, prefetch } = lazy(() =>
  import('./webhook-operations.tsx').then((module) => module.WebhookOperation),
)

export function WebhookView({ id }: { readonly id: string }) {
  const base = `/admin/webhooks/${encodeURIComponent(id)}`
  const healthPath = `${base}/health?attempts=120`
  const webhook = useLoaded<WebhookRow>(base, { everyMs: EVERY_MS })
  const health = useLoaded<WebhookHealth>(healthPath, { everyMs: EVERY_MS })
  const [operation, setOperation] = useState<Operation>()
  useEffect(prefetch, [])
  const row = webhook.data
  const reload = () => {
    webhook.reload()
    health.reload()
  }
  return (
    <Screen
      title={row?.url.replace(/^https?:\/\//, '') ?? id}
      crumbs={[{ label: 'Webhooks', href: href('/console/webhooks') }]}
    >
      <Part of={webhook} subject="the endpoint">
        {(data) => <Head row={data} onSelect={setOperation} />}
      </Part>
      {row && mayChange('support') && (
        <TestEvent
          path={actingPath(row)}
          events={row.events}
          version={row.api_version}
          onDone={reload}
        />
      )}
      {row && (
        <Part of={health} subject="the health of the endpoint">
          {(data) => (
            <>
              <Cause health={data} />
              <Attempts health={data} />
              <HealthFigures health={data} />
              <Deliveries id={id} />
              <Secrets health={data} onRotate={() => setOperation('rotate')} />
              <Rules health={data} />
            </>
          )}
        </Part>
      )}
      {row && mayChange('support') && (
        <div class="bar section">
          <Button size="tiny" onClick={() => setOperation(row.active ? 'pause' : 'resume')}>
            {row.active ? 'Disable…' : 'Enable'}
          </Button>
          <Button size="tiny" kind="danger" onClick={() => setOperation('delete')}>
            Delete…
          </Button>
        </div>
      )}
      <CallLine path={healthPath} />
      {row && health.data && operation && (
        <WebhookOperation
          operation={operation}
          row={row}
          health={health.data}
          onClose={() => setOperation(undefined)}
          onDone={reload}
        />
      )}
    </Screen>
  )
}

interface HeadProps {
  readonly row: WebhookRow
  readonly onSelect: (operation: Operation) => void
}

function Head({ row, onSelect }: HeadProps) {
  const [tone, word] = stateOf('Endpoint', row)
  return (
    <div class="head">
      <p class="small">
        <State tone={tone}>{word}</State>{' '}
        <a href={href(`/console/customers/${row.customer}`)}>{row.customer_name}</a>, {row.mode}
        {' · '}
        <code>{row.events.join(', ')}</code> · sent as {row.api_version} · <code>{row.id}</code>
        {row.description && ` · ${row.description}`}
      </p>
      {mayChange('support') && (
        <div class="acts">
          <Button size="tiny" onClick={() => onSelect('recover')}>
            Resend failed…
          </Button>
          <Button size="tiny" onClick={() => onSelect('replay')}>
            Replay…
          </Button>
          <Button size="tiny" onClick={() => onSelect('edit')}>
            Edit…
          </Button>
        </div>
      )}
    </div>
  )
}

const CAUSES: Readonly<Record<string, string>> = {
  failing: 'No attempt succeeded for five days.',
  gone: 'The receiver answered 410: it is gone.',
  creator_removed: 'The person that created the endpoint no longer may.',
  paused: 'An operator or the customer disabled it.',
}

function Cause({ health }: { readonly health: WebhookHealth }) {
  const { state, cause, since, off_at: offAt } = health
  if (state === 'healthy' || state === 'new' || (!cause && !since)) return null
  const words = cause ? (CAUSES[cause] ?? `The last attempt: ${cause.replaceAll('_', ' ')}.`) : ''
  const [, word] = stateOf('Endpoint', { health })
  const tone = state === 'failing' ? 'bad' : 'warn'
  return (
    <Notice tone={tone} word={word}>
      {words} {since && `No success since ${instant(since)}. `}
      {offAt &&
        `Without a success the engine disables it on ${instant(offAt)}, in ${period(
          Math.max(0, Date.parse(offAt) - slowNow().value),
        )}. `}
      Events are stored for 30 days, so that nothing is lost before.{' '}
      {since && 'A test that succeeds ends this state, and sends what waits.'}
    </Notice>
  )
}

function Attempts({ health: { attempts } }: { readonly health: WebhookHealth }) {
  if (attempts.length === 0) return null
  const letters = attempts.map(({ outcome }) => outcome).join('')
  return (
    <section class="section" aria-labelledby="attempts">
      <h2 id="attempts">Last {attempts.length} attempts</h2>
      <Strip
        isBig
        attempts={letters.padStart(120, '.')}
        label={stripWords(letters)}
        hrefOf={(at) => {
          const attempt = attempts[at - (120 - attempts.length)]
          return attempt && href(`/console/deliveries/${attempt.delivery_id}`)
        }}
        titleOf={(at) => {
          const attempt = attempts[at - (120 - attempts.length)]
          if (!attempt) return ''
          const words = attempt.status ?? reasonOf(attempt.error)
          return `${listTime(attempt.at, slowNow().value)}: ${words}`
        }}
      />
      <p class="hint">{stripWords(letters)}. Select an attempt to open it.</p>
    </section>
  )
}

const BREAKER: Readonly<Record<string, string>> = {
  closed: 'Closed',
  open: 'Open',
  probing: 'Probing',
}

function HealthFigures({ health }: { readonly health: WebhookHealth }) {
  const { breaker, accepted_24h: accepted, oldest_waiting_at: oldest, hold_until: hold } = health
  const untilMs = breaker.until ? Date.parse(breaker.until) - slowNow().value : 0
  return (
    <Figures
      figures={[
        {
          label: 'Accepted, 24 h',
          value: accepted === null ? '–' : percent(accepted),
          note: `${number(health.attempts_24h)} attempts`,
        },
        {
          label: 'Waiting',
          value: number(health.waiting),
          note: oldest && `the oldest ${ago(oldest, slowNow().value)}`,
        },
        {
          label: 'Circuit breaker',
          value: BREAKER[breaker.state],
          note:
            untilMs > 0
              ? `one probe in ${period(untilMs)}`
              : hold && `on hold until ${timeOfDay(hold)} UTC`,
        },
        { label: 'In flight', value: `${health.in_flight} of 20` },
        { label: 'p95', value: health.p95_ms === null ? '–' : duration(health.p95_ms) },
      ]}
    />
  )
}

const VIEWS = [
  ['', 'All'],
  ['pending', 'Waiting'],
  ['failed', 'Given up'],
  ['delivered', 'Delivered'],
] as const
type View = (typeof VIEWS)[number][0]
const MAX_ROWS = 20

function Deliveries({ id }: { readonly id: string }) {
  const [state, setState] = useState<View>('')
  const [cursor, setCursor] = useState<string>()
  const words = { webhook: id, state, sort: '-id', limit: MAX_ROWS, cursor }
  const path = withQuery('/admin/deliveries', words)
  const list: Loaded<Page<DeliveryRow>> = useLoaded(path, {
    everyMs: cursor === undefined ? EVERY_MS : undefined,
  })
  const next = list.data?.next_cursor ?? undefined
  const select = (view: View) => {
    setCursor(undefined)
    setState(view)
  }
  return (
    <section class="section" aria-labelledby="deliveries">
      <div class="bar">
        <h2 id="deliveries">Deliveries</h2>
        <div class="right">
          <Segments label="State" value={state} options={VIEWS} onChange={select} />
        </div>
      </div>
      <Part of={list} subject="deliveries">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No delivery" />
          ) : (
            <Table
              caption="Deliveries, newest first"
              rows={data}
              rowKey={(delivery) => delivery.id}
              isLinked
              columns={deliveryColumns}
            />
          )
        }
      </Part>
      <p class="bar">
        {cursor && (
          <Button size="tiny" onClick={() => setCursor(undefined)}>
            Newest
          </Button>
        )}
        {next && (
          <Button size="tiny" onClick={() => setCursor(next)}>
            Older
          </Button>
        )}
      </p>
    </section>
  )
}

const deliveryColumns = columnsOf<DeliveryRow>('Delivery', {
  cells: { attempts: lastResponse },
  omit: ['next_attempt_at'],
  hrefOf: ({ id }) => href(`/console/deliveries/${id}`),
})

function lastResponse({ attempts }: DeliveryRow): ComponentChildren {
  const last = attempts.at(-1)
  if (!last) return '–'
  const words = last.status ?? reasonOf(last.error)
  return `${words}, ${duration(last.duration_ms)}`
}
