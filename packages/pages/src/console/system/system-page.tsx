/** The installation: readiness, nodes, queue, jobs, operators, configuration, test clock. */
import { useState } from 'preact/hooks'
import { slowNow } from '../../clock.ts'
import { ago, number, period } from '../../format.ts'
import { columnsOf } from '../../lists/columns.tsx'
import { useLoaded } from '../../loaded.ts'
import { CallLine } from '../../parts/call-line.tsx'
import { Field } from '../../parts/field.tsx'
import { Figures } from '../../parts/figures.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Notice, Part } from '../../parts/notices.tsx'
import { Sub, Table, TableSection } from '../../parts/table.tsx'
import { OperatorSessions } from '../operators/operator-sessions.tsx'
import type { System } from './system-types.ts'
import { TestClock } from './test-clock.tsx'

const PATH = '/admin/system'
const EVERY_MS = 15_000

export function Page() {
  const system = useLoaded<System>(PATH, { everyMs: EVERY_MS })
  return (
    <Screen title="System">
      <Part of={system} subject="the installation">
        {(body) => (
          <>
            <Health body={body} />
            <IndexBuilds rows={body.index_builds} />
            <Summary body={body} />
            <Nodes rows={body.nodes} />
            <NodeDifferences rows={body.node_differences} />
            <Jobs rows={body.jobs} />
            <SigningKeys rows={body.signing_keys} />
          </>
        )}
      </Part>
      {system.data && hasTestClock(system.data) && <TestClock onChange={system.reload} />}
      <OperatorSessions />
      {system.data && <Configuration rows={system.data.configuration} />}
      <CallLine path={PATH} />
    </Screen>
  )
}

/** Without the option the server has no clock to read. */
const hasTestClock = ({ configuration }: System): boolean =>
  configuration.some(({ name, value }) => name === 'GATEHOOK_TEST_CLOCK' && value !== '0')

const Health = ({ body: { health } }: { readonly body: System }) => (
  <>
    {health.status === 'ready' ? (
      <Notice tone="ok" word="Ready">
        The node that answered serves requests and stores writes.
      </Notice>
    ) : (
      <Notice tone="bad" word="Not ready">
        {health.reasons.map(({ message }) => message).join(' ')}
      </Notice>
    )}
    {health.warnings?.map(({ check, message }) => (
      <Notice key={check} tone="warn" word="Warning">
        {message}
      </Notice>
    ))}
  </>
)

const IndexBuilds = ({ rows }: { readonly rows: System['index_builds'] }) =>
  rows.map(({ name, table, phase, progress }) => (
    <Notice key={name} tone="warn" word={`${Math.floor(progress * 100)} %`}>
      Index <code>{name}</code> of {table}: {phase ?? 'waits for a node'}. Lists that need it are
      bounded.
    </Notice>
  ))

const MIB = 1024 * 1024

const megabytes = (bytes: number): string => `${number(Math.ceil(bytes / MIB))} MiB`

function Summary({ body }: { readonly body: System }) {
  const { queue, storage } = body
  const oldest = queue.oldest_at
  return (
    <Figures
      figures={[
        {
          label: 'Database',
          value: megabytes(storage.bytes),
          note: `monitoring ${megabytes(storage.monitoring_bytes)}, ${body.database}`,
        },
        {
          label: 'Deliveries waiting',
          value: `${queue.waiting_is_bound ? 'over ' : ''}${number(queue.waiting)}`,
          note: oldest ? `the oldest ${ago(oldest, slowNow().value)}` : 'none is late',
        },
        {
          label: 'Deliveries now',
          value: `${number(queue.rate_per_s)}/s`,
          note: `${number(queue.in_flight)} in flight`,
        },
        {
          label: 'Runs for',
          value: period(body.uptime_s * 1000),
          note: `Gatehook ${body.release}`,
        },
        { label: 'Node.js', value: body.node.replace(/^v/, ''), note: 'of the answering node' },
      ]}
    />
  )
}

const Nodes = ({ rows }: { readonly rows: System['nodes'] }) => (
  <TableSection
    id="nodes"
    title="Nodes"
    caption="Nodes"
    rows={rows}
    rowKey={({ id }) => id}
    columns={columnsOf<System['nodes'][number]>('Node', {
      mark: ({ reasons, warnings }) =>
        [...reasons, ...warnings].map(({ check, message }) => <Sub key={check}>{message}</Sub>),
    })}
  />
)

const NodeDifferences = ({ rows }: { readonly rows: System['node_differences'] }) => (
  <TableSection
    id="differences"
    title="Different nodes"
    caption="Options and declarations that differ between nodes"
    rows={rows}
    rowKey={({ kind, name }) => `${kind} ${name}`}
    columns={columnsOf<System['node_differences'][number]>('NodeDifference', {
      cells: {
        values: ({ values }) =>
          values.map(({ value, nodes }) => (
            <div key={value ?? nodes.join()}>
              {nodes.join(', ')}: <code>{value ?? 'another secret'}</code>
            </div>
          )),
      },
    })}
  />
)

const Jobs = ({ rows }: { readonly rows: System['jobs'] }) => (
  <TableSection
    id="jobs"
    title="Jobs of the engine"
    caption="Jobs of the engine on the answering node"
    rows={rows}
    rowKey={({ name }) => name}
    columns={columnsOf('BackgroundJob')}
  />
)

const SigningKeys = ({ rows }: { readonly rows: System['signing_keys'] }) => (
  <TableSection
    id="signing"
    title="Signing keys"
    caption="Keys that sign access tokens"
    rows={rows}
    rowKey={({ id }) => id}
    columns={columnsOf('SigningKey')}
  />
)

function Configuration({ rows }: { readonly rows: System['configuration'] }) {
  const [text, setText] = useState('')
  const searchText = text.trim().toLowerCase()
  const matches = rows.filter(({ name, value }) =>
    `${name} ${value ?? ''}`.toLowerCase().includes(searchText),
  )
  return (
    <section class="section" aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
      <Field label="Search the options" value={text} onInput={setText} placeholder="webhook" />
      <Table
        caption="Options with their source"
        rows={matches}
        rowKey={({ name }) => name}
        columns={columnsOf('ConfigurationOption')}
      />
    </section>
  )
}
