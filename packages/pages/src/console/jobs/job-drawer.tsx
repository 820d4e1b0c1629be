/** One job: its facts, its last error, its input, and the operations on it. */
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { RowState } from '../../lists/row-state.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Json } from '../../parts/json.tsx'
import { Id } from '../../parts/state.tsx'
import { href } from '../../router.ts'
import type { OpenRow } from '../list-screen.tsx'
import { confirmation, OfCustomer, RowDrawer } from '../row-drawer.tsx'
import { canCancel, canRetry, kindWords } from './job-shapes.ts'
import type { JobWithInput } from './job-types.ts'

const EVERY_MS = 5_000

const pathOf = (id: string): string => `/admin/jobs/${encodeURIComponent(id)}`

export const JobDrawer = (props: OpenRow) => (
  <RowDrawer<JobWithInput, JobWithInput>
    {...props}
    path={pathOf(props.id)}
    everyMs={EVERY_MS}
    noun="job"
    rowOf={(job) => job}
    nameOf={({ name }) => name}
    facts={JobFacts}
    operations={operations}
    more={({ error, input }) => (
      <>
        {error !== null && (
          <section aria-labelledby="error">
            <h2 id="error">Last error</h2>
            <pre class="wrap">{error}</pre>
          </section>
        )}
        <section aria-labelledby="input">
          <h2 id="input">Input</h2>
          <Json value={input} />
        </section>
      </>
    )}
  />
)

const timeOf = (at: string | null) => (at === null ? '–' : <time dateTime={at}>{instant(at)}</time>)

function JobFacts({ row }: { readonly row: JobWithInput }) {
  const event = eventOf(row)
  return (
    <Facts
      of={[
        ['State', <RowState of="Job" row={row} />],
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

const Cancel = confirmation<JobWithInput>((row) => ({
  title: `Cancel ${row.name}`,
  verb: 'Cancel the job',
  isDangerous: true,
  request: () => send('POST', `${pathOf(row.id)}/cancel`),
  done: `${row.name} is canceled.`,
  text:
    'The job has no further attempt. It is listed for 30 days, and an operator can retry it ' +
    'until then.',
}))

const retry = {
  role: 'administrator',
  request: ({ id }: JobWithInput) => send('POST', `${pathOf(id)}/retry`),
  done: ({ name }: JobWithInput) => `${name} is due.`,
} as const

const isWaiting = ({ state }: JobWithInput): boolean => state === 'waiting'

const operations = [
  { ...retry, verb: 'Run now', fits: (row: JobWithInput) => canRetry(row) && isWaiting(row) },
  { ...retry, verb: 'Retry', fits: (row: JobWithInput) => canRetry(row) && !isWaiting(row) },
  {
    verb: 'Cancel the job',
    role: 'administrator',
    fits: (row: JobWithInput) => canRetry(row) && canCancel(row),
    isDangerous: true,
    dialog: Cancel,
  },
] as const
