/** Every part once, in development only: `npm run dev -w gatehook-pages`, then /console/parts. */
import { useState } from 'preact/hooks'
import { ApiFailure } from '../api.ts'
import { forwardCommand } from '../commands.ts'
import { duration, number } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { CallLine } from '../parts/call-line.tsx'
import { Chart } from '../parts/chart.tsx'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Drawer } from '../parts/drawer.tsx'
import { Check, Field } from '../parts/field.tsx'
import { Figures } from '../parts/figures.tsx'
import { Screen } from '../parts/frame.tsx'
import { Gates } from '../parts/gates.tsx'
import { ExchangeText, Json } from '../parts/json.tsx'
import { AttentionList, Empty, Failed, Loading, Notice } from '../parts/notices.tsx'
import { type Filter, QueryBox } from '../parts/query-box.tsx'
import { ScopeMatrix } from '../parts/scope-matrix.tsx'
import { Secret } from '../parts/secret.tsx'
import { Segments } from '../parts/segments.tsx'
import { Code, Id, State, Tag, Verb } from '../parts/state.tsx'
import { Spark, Strip } from '../parts/strip.tsx'
import { Pager, Sub, Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Attempt, Thread, ThreadNode } from '../parts/thread.tsx'
import { say } from '../parts/toast.tsx'
import type { PageProps } from '../router.ts'

const START_MS = Date.UTC(2026, 10, 24)
const times = Array.from({ length: 48 }, (_, at) => START_MS + at * 1_800_000)
const wave = (size: number, shift = 0) =>
  times.map((_, at) => Math.round(size * (1.4 + Math.sin((at + shift) / 7))))
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16)

const requests = [
  { id: 'req_1', status: 403, path: '/api/v2/things/7/open', ms: 4 },
  { id: 'req_2', status: 200, path: '/api/v2/things?limit=50', ms: 9 },
  { id: 'req_3', status: 500, path: '/api/v2/things', ms: 1200 },
]

const Controls = () => {
  const [name, setName] = useState('')
  const [range, setRange] = useState<'1h' | '24h'>('24h')
  const [isOn, setOn] = useState(true)
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set(['things:read']))
  const [filters, setFilters] = useState<readonly Filter[]>([{ name: 'status', value: '4xx' }])
  return (
    <section class="section">
      <h2>Controls</h2>
      <div class="bar">
        <Button onClick={() => say('Pressed')}>Plain</Button>
        <Button kind="first">First</Button>
        <Button kind="danger">Danger</Button>
        <Button kind="quiet">Quiet</Button>
        <Button disabled>Disabled</Button>
        <Button busy="Sending…">Send</Button>
        <Button pressed>Follow</Button>
        <Segments
          label="Range"
          value={range}
          options={[
            ['1h', '1 h'],
            ['24h', '24 h'],
          ]}
          onChange={setRange}
        />
      </div>
      <Field
        label="Name"
        value={name}
        onInput={setName}
        hint="The name of the key."
        error="Taken."
      />
      <Check label="Use single keys" checked={isOn} onChange={setOn} />
      <QueryBox
        label="Filter"
        words={[
          { name: 'status', hint: '4xx or 403', values: ['2xx', '4xx', '5xx'] },
          { name: 'path', hint: 'the beginning of a path' },
        ]}
        filters={filters}
        onChange={setFilters}
      />
      <ScopeMatrix
        scopes={[
          { name: 'things:read' },
          { name: 'things:write' },
          { name: 'events:read', words: 'read events' },
          { name: 'keys:write', words: 'change keys' },
          { name: 'things:open', words: 'open a thing' },
        ]}
        selected={scopes}
        onChange={setScopes}
      />
      <Secret label="Key" value="gk_test_0000000000" hint="The server displays it once." />
      <Tabs
        label="Exchange"
        tabs={[
          { name: 'response', label: 'Response', content: () => <Json value={{ id: 7 }} /> },
          {
            name: 'request',
            label: 'Request',
            content: () => (
              <ExchangeText
                start="POST /api/v2/things"
                headers={{ host: 'localhost' }}
                body='{"name":"x"}'
              />
            ),
          },
        ]}
      />
    </section>
  )
}

const States = () => (
  <section class="section">
    <h2>States</h2>
    <div class="bar">
      <State tone="ok">Delivered</State>
      <State tone="warn">Retries</State>
      <State tone="bad">Failing</State>
      <State tone="hold">Paused</State>
      <State tone="idle">New</State>
      <Code status={200} />
      <Code status={403} />
      <Code status={503} />
      <Code status={null} />
      <Verb method="GET" /> <Verb method="POST" /> <Verb method="DELETE" />
      <Tag>insufficient_scope</Tag> <Id id="req_7Qw2mZr3pQeVnVx0" subject="request id" />
    </div>
    <Figures
      figures={[
        { label: 'Requests', value: '1.24 M', note: '+4.1 % on the day before' },
        { label: 'p95', value: duration(31), note: 'p50 5 ms, p99 74 ms' },
      ]}
    />
    <AttentionList
      items={[
        {
          id: 'a',
          tone: 'bad',
          word: 'Failing',
          sentence: (
            <>
              <b>hooks.example</b> has accepted no delivery for 2 days.
            </>
          ),
          actions: <Button size="tiny">Open</Button>,
        },
      ]}
    />
    <Notice tone="warn" word="403">
      This link opens webhooks only.
    </Notice>
    <Failed
      failure={
        new ApiFailure({
          error: 'storage_unavailable',
          message: 'The database is unavailable. Retry later.',
          status: 503,
          request_id: 'req_9guyIWUR3Glmg7Iv',
        })
      }
      onRetry={() => say('Repeated')}
    />
    <Empty title="No endpoint yet" command={forwardCommand('test', location.port)}>
      An endpoint is where events are sent.
    </Empty>
    <Loading subject="requests" />
  </section>
)

const Rows = ({ current }: { readonly current: string | undefined }) => (
  <section class="section">
    <h2>Tables</h2>
    <Table
      caption="Requests, newest first"
      rows={requests}
      rowKey={({ id }) => id}
      isLinked
      current={current}
      columns={[
        { name: 'status', label: 'Status', cell: ({ status }) => <Code status={status} /> },
        {
          name: 'path',
          label: 'Request',
          isMain: true,
          cell: ({ id, path, ms }) => (
            <>
              <Verb method="GET" />{' '}
              <a class="cover mono" href={`/console/parts/${id}`}>
                {path}
              </a>
              <Sub>{duration(ms)}</Sub>
            </>
          ),
        },
        { name: 'took', label: 'Took', priority: 2, align: 'end', cell: ({ ms }) => duration(ms) },
      ]}
    />
    <Pager older="/console/parts?cursor=x">3 of 27,944</Pager>
    <CallLine path="/admin/requests?limit=50" />
  </section>
)

const Charts = () => (
  <section class="section cols" aria-label="Charts">
    <Chart
      title="Requests"
      summary="Requests per half hour over a day."
      kind="area"
      times={times}
      timeLabel={clock}
      format={number}
      onRange={(from, to) => say(`${clock(from)} to ${clock(to)}`)}
      series={[
        { name: '2xx', label: '2xx', tone: 'ok', values: wave(400), total: '26.9 k' },
        { name: '3xx', label: '3xx', tone: 'redirect', values: wave(12), total: '812' },
        { name: '4xx', label: '4xx', tone: 'client', values: wave(30, 4), total: '2,010' },
        { name: '5xx', label: '5xx', tone: 'server', values: wave(9, 9), total: '604' },
      ]}
    />
    <Chart
      title="Time to respond"
      summary="p50 about 5 ms."
      kind="line"
      times={times}
      timeLabel={clock}
      format={duration}
      series={[
        { name: 'p50', label: 'p50', tone: 'a', values: wave(5), total: '5 ms' },
        { name: 'p95', label: 'p95', tone: 'b', dash: 'dash', values: wave(30), total: '31 ms' },
        { name: 'p99', label: 'p99', tone: 'c', dash: 'dot', values: wave(70), total: '74 ms' },
      ]}
    />
    <Chart
      title="Deliveries"
      summary="Deliveries per half hour."
      kind="bars"
      times={times}
      timeLabel={clock}
      format={number}
      series={[
        { name: 'delivered', label: 'Delivered', tone: 'ok', values: wave(300), total: '18,204' },
        {
          name: 'failed',
          label: 'Failed attempts',
          tone: 'server',
          values: wave(22),
          total: '1,061',
        },
      ]}
    />
    <div>
      <Strip attempts="oooowoxxxoooo.ooow" label="18 attempts, 3 failed" />
      <Spark values={[4, 6, 3, 8, 9, 2]} label="Falling" />
    </div>
  </section>
)

const Motifs = () => (
  <section class="section cols" aria-label="Gates and thread">
    <Gates
      gates={[
        { name: 'Transport', outcome: 'passed', sentence: 'HTTPS, a host of this service' },
        { name: 'Credential', outcome: 'passed', sentence: 'an API key' },
        { name: 'Scope', outcome: 'refused', sentence: 'The operation needs things:write.' },
        { name: 'Body', outcome: 'not_reached' },
        { name: 'Handler', outcome: 'not_reached' },
      ]}
    >
      <p>
        <b>What helps.</b> Add the scope to the key.
      </p>
    </Gates>
    <Thread label="From the request to the last attempt">
      <ThreadNode kind="request" tone="ok" line={<span>POST /api/v2/things</span>} />
      <ThreadNode kind="event" tone="ok" isHere line={<code>evt_1</code>}>
        <ol>
          <ThreadNode kind="delivery" tone="ok" line={<State tone="ok">Delivered</State>} />
          <ThreadNode kind="delivery" tone="warn" line={<State tone="warn">Retries</State>}>
            <Attempt line={<span>Attempt 3, 502</span>} isOpen>
              <Json value={{ error: 'bad gateway' }} />
            </Attempt>
          </ThreadNode>
        </ol>
      </ThreadNode>
    </Thread>
  </section>
)

export function Page({ params }: PageProps) {
  const [open, setOpen] = useState('')
  const close = () => setOpen('')
  return (
    <Screen
      title="Parts"
      drawer={
        params.id && (
          <Drawer title={params.id} closeHref="/console/parts">
            <Json value={requests.find(({ id }) => id === params.id)} />
          </Drawer>
        )
      }
    >
      <div class="bar">
        <Button onClick={() => setOpen('dialog')}>Dialog</Button>
        <Button onClick={() => setOpen('sheet')}>Sheet</Button>
        <Button onClick={() => setOpen('confirm')}>Confirm</Button>
      </div>
      {open === 'dialog' && (
        <Dialog title="A dialog" onClose={close}>
          <p>Its words.</p>
        </Dialog>
      )}
      {open === 'sheet' && (
        <Dialog title="A sheet" isSheet onClose={close} footer={<Button>Create</Button>}>
          <Field label="Name" value="" onInput={() => undefined} />
        </Dialog>
      )}
      {open === 'confirm' && (
        <Confirm
          title="Revoke ERP sync?"
          verb="Revoke"
          typed="ERP sync"
          isDangerous
          run={async () => say('Revoked')}
          onClose={close}
        >
          <p>Its next request is rejected with 403.</p>
        </Confirm>
      )}
      <States />
      <Controls />
      <Rows current={params.id} />
      <Charts />
      <Motifs />
    </Screen>
  )
}
