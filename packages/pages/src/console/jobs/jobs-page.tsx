/** Jobs of the service's code: those of customers in one mode, and the recurring ones. */
import { Segments } from '../../parts/segments.tsx'
import { type PageProps, query, setQuery } from '../../router.ts'
import { parametersOf } from '../filter-words.ts'
import { ListScreen } from '../list-screen.tsx'
import { scopeWords } from '../scope.ts'
import { JobDrawer } from './job-drawer.tsx'
import type { Job } from './job-types.ts'

const EVERY_MS = 5_000

const words = [
  {
    name: 'state',
    hint: 'waiting, failed, …',
    values: ['waiting', 'running', 'failed', 'done', 'canceled'],
  },
  { name: 'name', hint: 'the name of a job' },
  { name: 'kind', hint: 'job, event or schedule', values: ['job', 'event', 'schedule'] },
  { name: 'id', hint: 'the id of a job' },
]

const STATES = [
  ['', 'All'],
  ['waiting', 'Waiting'],
  ['running', 'Running'],
  ['failed', 'Failed'],
  ['done', 'Done'],
] as const

const areRecurring = (): boolean => query.value.get('kind') === 'schedule'

/** Recurring jobs belong to no customer, and have no mode. */
const scopeParameters = () => (areRecurring() ? {} : scopeWords())

const Choices = () => (
  <>
    <Segments
      label="State"
      value={query.value.get('state') ?? ''}
      options={STATES}
      onChange={(state) => setQuery({ state: state || undefined, cursor: undefined })}
    />
    <Segments
      label="Jobs"
      value={areRecurring() ? 'schedule' : ''}
      options={[
        ['', 'Of customers'],
        ['schedule', 'Recurring'],
      ]}
      onChange={(kind) => setQuery({ kind: kind || undefined, cursor: undefined })}
    />
  </>
)

export const Page = ({ params }: PageProps) => (
  <ListScreen<Job>
    title="Jobs"
    path="/admin/jobs"
    parameters={(filters) => ({
      sort: '-id',
      ...scopeParameters(),
      ...parametersOf(filters),
    })}
    everyMs={EVERY_MS}
    noun="job"
    intro="Background work of the service's code."
    actions={Choices}
    words={words}
    placeholder="state:failed  name:…  kind:event"
    caption="Jobs, newest first"
    object="Job"
    noMatch="Remove a word of the filter. Jobs that are done are listed for a day."
    empty={{
      text:
        'Code enqueues a job in the transaction of a change; it runs after the commit. Jobs that ' +
        'are done are listed for a day.',
      command: 'tx.enqueue(job, input)',
    }}
    openId={params.id}
    pagePath="/console/jobs"
    drawer={(row) => <JobDrawer key={row.id} {...row} />}
  />
)
