/** The endpoints of the customer: state, test, failed deliveries, a new endpoint. */
import { useState } from 'preact/hooks'
import { ApiFailure, send } from '../api.ts'
import { nowMs } from '../clock.ts'
import { count, day, isoSecond } from '../format.ts'
import { columnsOf } from '../lists/columns.tsx'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/notices.tsx'
import { Strip } from '../parts/strip.tsx'
import { Table } from '../parts/table.tsx'
import { say } from '../parts/toast.tsx'
import { EndpointForm } from '../webhooks/endpoint-form.tsx'
import { resultWords, sampleType, type TestResult } from '../webhooks/test-event.tsx'
import { session } from './session.ts'
import type { Endpoint } from './shapes.ts'

const PATH = '/portal/api/webhooks'
const DAY_MS = 86_400_000
/** Deliveries are stored for this time. */
const STORED_DAYS = 30

export const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, '')

const stripLabel = (attempts: string): string => {
  const failed = attempts.replace(/[^x]/g, '').length
  return `${count(failed, 'attempt')} of ${attempts.length} failed`
}

/** Runs a change and says its result, or why it failed. */
async function act(request: () => Promise<string>): Promise<void> {
  try {
    say(await request())
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
    say(error.message)
  }
}

/** Sends a sample event, of the endpoint's version or another one. */
export const sendTest = (
  { id, events }: Pick<Endpoint, 'id' | 'events'>,
  body: { readonly event_type?: string; readonly api_version?: string } = {},
) =>
  act(async () => {
    const reply = await send<TestResult>('POST', `${PATH}/${id}/test`, {
      body: { event_type: sampleType(events), ...body },
    })
    return `Test: ${resultWords(reply.body)}`
  })

const sendFailed = (endpoint: Endpoint, onChange: () => void) =>
  act(async () => {
    const since = isoSecond(nowMs() - STORED_DAYS * DAY_MS)
    await send('POST', `${PATH}/${endpoint.id}/recover`, { body: { since } })
    onChange()
    return `${count(endpoint.failed, 'delivery', 'deliveries')} queued again.`
  })

interface WebhookSectionProps {
  readonly endpoints: readonly Endpoint[]
  readonly onChange: () => void
}

export function WebhookSection({ endpoints, onChange }: WebhookSectionProps) {
  const [isOpen, setOpen] = useState(false)
  const isWritable = session.value!.sections.webhooks === 'write'
  return (
    <section class="section" id="hooks" aria-labelledby="hooks-title">
      <div class="bar">
        <h2 id="hooks-title">Webhooks</h2>
        <span class="soft small">{count(endpoints.length, 'endpoint')}</span>
        {isWritable && (
          <div class="right">
            <Button size="tiny" onClick={() => setOpen(true)}>
              Add an endpoint
            </Button>
          </div>
        )}
      </div>
      {endpoints.length === 0 ? (
        <Empty title="No endpoints yet">An endpoint receives your events as they happen.</Empty>
      ) : (
        <EndpointTable endpoints={endpoints} isWritable={isWritable} onChange={onChange} />
      )}
      {endpoints
        .filter(({ off_at }) => off_at !== null)
        .map(({ id, url, off_at, since }) => (
          <p class="hint" key={id}>
            {withoutScheme(url)} fails since {day(since!)}. It is switched off on {day(off_at!)} if
            no delivery succeeds.
          </p>
        ))}
      {isOpen && (
        <EndpointForm path={PATH} isCustomer onClose={() => setOpen(false)} onDone={onChange} />
      )}
    </section>
  )
}

const columns = columnsOf<Endpoint>('PortalEndpoint', {
  cells: {
    url: ({ id, url }) => (
      <a class="mono" href={`/portal/webhooks/${id}`}>
        {withoutScheme(url)}
      </a>
    ),
    last60: ({ last60 }) => last60 && <Strip attempts={last60} label={stripLabel(last60)} />,
  },
})

const EndpointTable = ({
  endpoints,
  isWritable,
  onChange,
}: WebhookSectionProps & { readonly isWritable: boolean }) => (
  <Table
    caption="Endpoints"
    rows={endpoints}
    rowKey={({ id }) => id}
    columns={[
      ...columns,
      {
        name: 'actions',
        label: <span class="vh">Actions</span>,
        align: 'end',
        cell: (endpoint) => {
          if (!isWritable) return null
          if (endpoint.failed > 0) {
            return (
              <Button size="tiny" onClick={() => sendFailed(endpoint, onChange)}>
                Send {endpoint.failed} now
              </Button>
            )
          }
          return (
            <Button
              size="tiny"
              kind="quiet"
              label={`Test ${withoutScheme(endpoint.url)}`}
              onClick={() => sendTest(endpoint)}
            >
              Test
            </Button>
          )
        },
      },
    ]}
  />
)
