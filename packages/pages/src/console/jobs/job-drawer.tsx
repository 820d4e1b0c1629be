/** One job: its facts, its last error, its input, and the operations on it. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Json } from '../../parts/json.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { Id, State } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { OfCustomer } from '../row-drawer.tsx'
import { mayChange } from '../session.ts'
import { canCancel, canRetry, jobState, kindWords } from './job-shapes.ts'
import type { JobWithInput } from './job-types.ts'

const EVERY_MS = 5_000

interface JobDrawerProps {
  readonly id: string
  readonly closeHref: string
  readonly onChange: () => void
}

export function JobDrawer({ id, closeHref, onChange }: JobDrawerProps) {
  const path = `/admin/jobs/${encodeURIComponent(id)}`
  const job = useLoaded<JobWithInput>(path, { everyMs: EVERY_MS })
  const reload = () => {
    job.reload()
    onChange()
  }
  return (
    <Drawer title={job.data?.name ?? <span class="mono">{id}</span>} closeHref={closeHref}>
      <Part of={job} subject="the job">
        {(row) => (
          <>
            <JobFacts row={row} />
            {mayChange('administrator') && <Operations path={path} row={row} onDone={reload} />}
            {row.error !== null && (
              <section aria-labelledby="error">
                <h2 id="error">Last error</h2>
                <pre class="wrap">{row.error}</pre>
              </section>
            )}
            <section aria-labelledby="input">
              <h2 id="input">Input</h2>
              <Json value={row.input} />
            </section>
          </>
        )}
      </Part>
      <CallLine path={path} />
    </Drawer>
  )
}

const timeOf = (at: string | null) => (at === null ? '–' : <time dateTime={at}>{instant(at)}</time>)

function JobFacts({ row }: { readonly row: JobWithInput }) {
  const [tone, text] = jobState(row)
  const event = eventOf(row)
  return (
    <Facts
      of={[
        ['State', <State tone={tone}>{text}</State>],
        ['Attempts', row.attempt],
        ['Id', <Id id={row.id} subject="job id" />],
        [
          'Kind',
          <>
            {kindWords(row.kind)}
            {event && (
              <>
                :{' '}
                <a class="mono" href={href(`/console/events/${event}`)}>
                  {event}
                </a>
              </>
            )}
          </>,
        ],
        [
          'Customer',
          row.customer === null || row.mode === null ? (
            'none'
          ) : (
            <OfCustomer customer={row.customer} mode={`${row.mode} mode`} />
          ),
        ],
        ['Created', timeOf(row.created_at)],
        ['Due', timeOf(row.run_at)],
        ['Last start', timeOf(row.started_at)],
        ['End', timeOf(row.ended_at)],
      ]}
    />
  )
}

/** Returns the id of the event that a handler receives. */
function eventOf({ kind, input }: JobWithInput): string | undefined {
  const { event_id: id } = (input ?? {}) as { readonly event_id?: unknown }
  return kind === 'event' && typeof id === 'string' ? id : undefined
}

interface OperationsProps {
  readonly path: string
  readonly row: JobWithInput
  readonly onDone: () => void
}

function Operations({ path, row, onDone }: OperationsProps) {
  const [isCanceling, setCanceling] = useState(false)
  const { isBusy, failure, run } = useSend()
  const retry = () =>
    run(async () => {
      await send('POST', `${path}/retry`)
      say(`${row.name} is due.`)
      onDone()
    })
  if (!canRetry(row)) return null
  return (
    <>
      <div class="bar">
        <Button size="tiny" busy={isBusy && 'Sending…'} onClick={retry}>
          {row.state === 'waiting' ? 'Run now' : 'Retry'}
        </Button>
        {canCancel(row) && (
          <Button size="tiny" kind="danger" onClick={() => setCanceling(true)}>
            Cancel the job…
          </Button>
        )}
      </div>
      {failure && <Failed failure={failure} />}
      {isCanceling && (
        <Confirm
          title={`Cancel ${row.name}`}
          verb="Cancel the job"
          isDangerous
          run={async () => {
            await send('POST', `${path}/cancel`)
            say(`${row.name} is canceled.`)
            onDone()
          }}
          onClose={() => setCanceling(false)}
        >
          <p>
            The job has no further attempt. It is listed for 30 days, and an operator can retry it
            until then.
          </p>
        </Confirm>
      )}
    </>
  )
}
