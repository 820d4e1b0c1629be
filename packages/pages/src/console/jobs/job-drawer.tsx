/** One job: its facts, its last error, its input, and the operations on it. */
import { send } from '../../api.ts'
import { Json } from '../../parts/json.tsx'
import { href } from '../../router.ts'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts } from '../object-facts.tsx'
import { confirmation, RowDrawer } from '../row-drawer.tsx'
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

const JobFacts = ({ row }: { readonly row: JobWithInput }) => (
  <ObjectFacts of="Job" noun="job" row={row} omit={['name', 'error']} cells={{ kind: Kind }} />
)

/** The kind, with the event of a handler. */
function Kind(row: JobWithInput) {
  const event = eventOf(row)
  return (
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
    </>
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
