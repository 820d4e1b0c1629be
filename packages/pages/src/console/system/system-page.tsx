/** The installation: readiness, nodes, queue, jobs, operators, configuration, test clock. */
import { useState } from 'preact/hooks'
import { slowNow } from '../../clock.ts'
import { ago, duration, instant, number, period } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { CallLine } from '../../parts/call-line.tsx'
import { Field } from '../../parts/field.tsx'
import { Figures } from '../../parts/figures.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Notice, Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
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

const NODE_STATES = {
  ready: ['ok', 'Ready'],
  not_ready: ['bad', 'Not ready'],
  gone: ['idle', 'Stopped'],
} as const

const Nodes = ({ rows }: { readonly rows: System['nodes'] }) => (
  <TableSection
    id="nodes"
    title="Nodes"
    caption="Nodes"
    rows={rows}
    rowKey={({ id }) => id}
    columns={[
      {
        name: 'id',
        label: 'Node',
        isMain: true,
        cell: ({ id, name, role, seen_at: at, reasons }) => (
          <>
            {name}
            <Sub>
              <code>{id}</code> · {role} · seen {ago(at, slowNow().value)}
            </Sub>
            {reasons.map(({ check, message }) => (
              <Sub key={check}>{message}</Sub>
            ))}
          </>
        ),
      },
      {
        name: 'state',
        label: 'State',
        class: 'nowrap',
        cell: ({ state }) => {
          const [tone, word] = NODE_STATES[state]
          return <State tone={tone}>{word}</State>
        },
      },
      { name: 'role', label: 'Role', priority: 2, cell: ({ role }) => role },
      { name: 'release', label: 'Release', priority: 3, cell: ({ release }) => release },
      {
        name: 'since',
        label: 'Since (UTC)',
        priority: 3,
        cell: ({ since }) => <time dateTime={since}>{instant(since)}</time>,
      },
      {
        name: 'seen',
        label: 'Seen',
        priority: 2,
        class: 'nowrap',
        cell: ({ seen_at: at }) => ago(at, slowNow().value),
      },
    ]}
  />
)

const NodeDifferences = ({ rows }: { readonly rows: System['node_differences'] }) => (
  <TableSection
    id="differences"
    title="Different nodes"
    caption="Options and declarations that differ between nodes"
    rows={rows}
    rowKey={({ kind, name }) => `${kind} ${name}`}
    columns={[
      {
        name: 'name',
        label: 'Name',
        isMain: true,
        cell: ({ kind, name, columns }) => (
          <>
            <code>{name}</code>
            <Sub>
              {kind} {columns.join(', ')}
            </Sub>
          </>
        ),
      },
      { name: 'kind', label: 'Kind', priority: 2, cell: ({ kind }) => kind },
      {
        name: 'columns',
        label: 'Columns',
        priority: 2,
        cell: ({ columns }) => columns.join(', ') || '–',
      },
      {
        name: 'values',
        label: 'Values by node',
        class: 'nowrap',
        cell: ({ values }) =>
          values.map(({ value, nodes }) => (
            <div key={value ?? nodes.join()}>
              {nodes.join(', ')}: <code>{value ?? 'another secret'}</code>
            </div>
          )),
      },
    ]}
  />
)

const Jobs = ({ rows }: { readonly rows: System['jobs'] }) => (
  <TableSection
    id="jobs"
    title="Jobs of the engine"
    caption="Jobs of the engine on the answering node"
    rows={rows}
    rowKey={({ name }) => name}
    columns={[
      { name: 'name', label: 'Job', isMain: true, cell: ({ name }) => <code>{name}</code> },
      {
        name: 'state',
        label: 'Last run',
        class: 'nowrap',
        cell: ({ ok, last_at: at }) => (
          <State tone={ok ? 'ok' : 'bad'}>
            {ok ? 'Done' : 'Failed'} {ago(at, slowNow().value)}
          </State>
        ),
      },
      {
        name: 'took',
        label: 'Took',
        align: 'end',
        priority: 2,
        cell: ({ took_ms: ms }) => duration(ms),
      },
      {
        name: 'rows',
        label: 'Rows',
        align: 'end',
        priority: 3,
        cell: ({ rows }) => (rows === null ? '–' : number(rows)),
      },
    ]}
  />
)

const KEY_STATES = { next: 'Signs next', current: 'Signs', previous: 'Verifies only' } as const

const SigningKeys = ({ rows }: { readonly rows: System['signing_keys'] }) => (
  <TableSection
    id="signing"
    title="Signing keys"
    caption="Keys that sign access tokens"
    rows={rows}
    rowKey={({ id }) => id}
    columns={[
      { name: 'id', label: 'Key id', isMain: true, cell: ({ id }) => <code>{id}</code> },
      { name: 'state', label: 'State', cell: ({ state }) => KEY_STATES[state] },
      {
        name: 'algorithm',
        label: 'Algorithm',
        priority: 3,
        cell: ({ algorithm }) => algorithm,
      },
      {
        name: 'signs',
        label: 'Signs from (UTC)',
        priority: 3,
        cell: ({ signs_from: at }) => <time dateTime={at}>{instant(at)}</time>,
      },
      {
        name: 'created',
        label: 'Created',
        priority: 2,
        cell: ({ created_at: at }) => <time dateTime={at}>{instant(at)}</time>,
      },
    ]}
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
        columns={[
          {
            name: 'name',
            label: 'Option',
            cell: ({ name, source }) => (
              <>
                <code>{name}</code>
                <Sub>{source}</Sub>
              </>
            ),
          },
          {
            name: 'value',
            label: 'Value',
            isMain: true,
            cell: ({ value }) =>
              value === null ? <span class="faint">not set</span> : <code>{value}</code>,
          },
          { name: 'source', label: 'Source', priority: 2, cell: ({ source }) => source },
        ]}
      />
    </section>
  )
}
