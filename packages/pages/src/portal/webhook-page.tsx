/** One endpoint: a test, changes, and its deliveries with their attempts, which can be resent. */
import { useState } from 'preact/hooks'
import { ApiFailure, send } from '../api.ts'
import { count, day } from '../format.ts'
import { useListPage } from '../list-page.ts'
import { columnsOf } from '../lists/columns.tsx'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useTitle } from '../parts/frame.tsx'
import { Empty, Notice, Part } from '../parts/notices.tsx'
import { Pager, Table } from '../parts/table.tsx'
import { say } from '../parts/toast.tsx'
import type { PageProps } from '../router.ts'
import { EndpointForm } from '../webhooks/endpoint-form.tsx'
import { RotateSecret } from '../webhooks/rotate-secret.tsx'
import { TestEvent } from '../webhooks/test-event.tsx'
import { DeliveryDetail } from './delivery.tsx'
import type { Delivery } from './platform-types.ts'
import { session } from './session.ts'
import type { Health } from './shapes.ts'

const REFRESH_MS = 5000

interface Registration {
  readonly url: string
  readonly events: readonly string[]
  readonly api_version: string
}

export function Page({ params }: PageProps) {
  const path = `/portal/api/webhooks/${params.id}`
  const registration = useLoaded<Registration>(path)
  const { list: deliveries, pageHref } = useListPage<Delivery>(
    `${path}/deliveries`,
    { sort: '-id' },
    { everyMs: REFRESH_MS },
  )
  const [open, setOpen] = useState<string>()
  useTitle(registration.data?.url ?? 'Webhook')
  return (
    <main id="main" class="page" tabIndex={-1}>
      <p class="trail">
        <a href="/portal">Your integration</a>
      </p>
      <Part of={registration} subject="the endpoint">
        {(endpoint) => (
          <>
            <h1 class="mono">{endpoint.url}</h1>
            <p class="soft">
              Gets {endpoint.events.join(' ')} as {endpoint.api_version}
            </p>
            <FailureNote id={params.id!} />
            {session.value!.sections.webhooks === 'write' && (
              <Operations
                path={path}
                endpoint={endpoint}
                onTest={deliveries.reload}
                onChange={registration.reload}
              />
            )}
          </>
        )}
      </Part>
      <section class="section" aria-labelledby="deliveries-title">
        <h2 id="deliveries-title">Deliveries</h2>
        <Part of={deliveries} subject="deliveries">
          {({ data, cursors, next_cursor: next }) =>
            data.length === 0 ? (
              <Empty title="No deliveries yet">They appear here with each event.</Empty>
            ) : (
              <>
                <DeliveryTable deliveries={data} onOpen={setOpen} onChange={deliveries.reload} />
                <Pager newer={pageHref(cursors?.prev)} older={pageHref(next)}>
                  {count(data.length, 'delivery', 'deliveries')}
                </Pager>
              </>
            )
          }
        </Part>
      </section>
      {open && (
        <Dialog title="Delivery" onClose={() => setOpen(undefined)} isSheet>
          <DeliveryDetail id={open} onChange={deliveries.reload} />
        </Dialog>
      )}
    </main>
  )
}

/** Says since when an endpoint fails, and when it is disabled. */
function FailureNote({ id }: { readonly id: string }) {
  const health = useLoaded<Health>('/portal/api/health', { everyMs: REFRESH_MS })
  const endpoint = health.data?.webhooks.find((each) => each.id === id)
  if (!endpoint?.since || !endpoint.off_at) return null
  return (
    <Notice tone="warn" word="Failing">
      It fails since {day(endpoint.since)}, and is switched off on {day(endpoint.off_at)} if no
      delivery succeeds.
    </Notice>
  )
}

interface OperationsProps {
  readonly path: string
  readonly endpoint: Registration
  readonly onTest: () => void
  readonly onChange: () => void
}

/** A test event, and the dialogs that change the endpoint and its secret. */
function Operations({ path, endpoint, onTest, onChange }: OperationsProps) {
  const [dialog, setDialog] = useState<'edit' | 'rotate'>()
  const close = () => setDialog(undefined)
  return (
    <>
      <div class="bar">
        <Button size="tiny" onClick={() => setDialog('edit')}>
          Edit…
        </Button>
        <Button size="tiny" onClick={() => setDialog('rotate')}>
          Rotate the secret…
        </Button>
      </div>
      <TestEvent
        path={path}
        events={endpoint.events}
        version={endpoint.api_version}
        onDone={onTest}
      />
      {dialog === 'edit' && (
        <EndpointForm path={path} row={endpoint} isCustomer onClose={close} onDone={onChange} />
      )}
      {dialog === 'rotate' && <RotateSecret path={path} onClose={close} onDone={onChange} />}
    </>
  )
}

interface DeliveryTableProps {
  readonly deliveries: readonly Delivery[]
  readonly onOpen: (id: string) => void
  readonly onChange: () => void
}

function DeliveryTable({ deliveries, onOpen, onChange }: DeliveryTableProps) {
  const isWritable = session.value!.sections.webhooks === 'write'
  const resend = async (id: string) => {
    try {
      await send('POST', `/portal/api/deliveries/${id}/resend`)
      say('Queued again')
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      say(error.message)
    }
    onChange()
  }
  return (
    <Table
      caption="Deliveries"
      rows={deliveries}
      rowKey={({ id }) => id}
      columns={[
        ...columnsOf<Delivery>('Delivery', {
          cells: {
            event_type: ({ id, event_type: type }) => (
              <button type="button" class="link mono" onClick={() => onOpen(id)}>
                {type}
              </button>
            ),
          },
          omit: ['id', 'next_attempt_at'],
        }),
        {
          name: 'actions',
          label: <span class="vh">Actions</span>,
          align: 'end',
          cell: ({ id, event_type }) =>
            isWritable && (
              <Button
                size="tiny"
                kind="quiet"
                label={`Send again: ${event_type}`}
                onClick={() => resend(id)}
              >
                Send again
              </Button>
            ),
        },
      ]}
    />
  )
}
