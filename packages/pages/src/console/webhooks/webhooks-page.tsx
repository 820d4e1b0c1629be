/** Webhook endpoints of all customers, those that fail first. */
import { useEffect } from 'preact/hooks'
import { forwardCommand } from '../../commands.ts'
import { number, percent } from '../../format.ts'
import { lazy } from '../../lazy.tsx'
import type { FilterWord } from '../../parts/query-box.tsx'
import { Strip } from '../../parts/strip.tsx'
import { type Column, Sub } from '../../parts/table.tsx'
import { href, type PageProps, query, setQuery } from '../../router.ts'
import { customerWord } from '../customer-names.ts'
import { parametersOf } from '../filter-words.ts'
import { stateColumn, versionColumn } from '../list-columns.tsx'
import { ListScreen } from '../list-screen.tsx'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { useVersions } from '../versions.ts'
import { healthState, stripWords, type WebhookRow } from './webhook-shapes.ts'
import { WebhookView } from './webhook-view.tsx'

const PATH = '/admin/webhooks'
const EVERY_MS = 10_000

const { Lazy: WebhookForm, prefetch } = lazy(
  async () => (await import('./webhook-form.tsx')).WebhookForm,
)

const webhookWords = (versions: readonly string[]): readonly FilterWord[] => [
  {
    name: 'state',
    hint: 'the health',
    values: ['failing', 'slow', 'some_fail', 'healthy', 'new', 'off'],
  },
  customerWord('of'),
  { name: 'url', hint: 'the whole URL' },
  { name: 'event', hint: 'an event type that it receives' },
  { name: 'version', hint: 'its version', values: versions },
]

const columns: readonly Column<WebhookRow>[] = [
  stateColumn(({ health }) => healthState(health.state)),
  {
    name: 'url',
    label: 'Endpoint',
    isMain: true,
    cell: (row) => (
      <>
        <a class="cover" href={href(`/console/webhooks/${row.id}`)}>
          {row.url.replace(/^https?:\/\//, '')}
        </a>
        <Sub>
          {row.customer_name} · {number(row.health.waiting)} waiting
        </Sub>
      </>
    ),
  },
  {
    name: 'customer',
    label: 'Customer',
    priority: 2,
    class: 'nowrap',
    cell: ({ customer_name: name }) => name,
  },
  {
    name: 'events',
    label: 'Events',
    priority: 4,
    cell: ({ events }) => <code class="soft">{events.join(', ')}</code>,
  },
  versionColumn(({ api_version: version }) => version, 4),
  {
    name: 'strip',
    label: 'Last 60 attempts',
    priority: 3,
    cell: ({ health }) => (
      <Strip attempts={health.last60.padStart(60, '.')} label={stripWords(health.last60)} />
    ),
  },
  {
    name: 'accepted',
    label: 'Accepted, 24 h',
    align: 'end',
    priority: 2,
    cell: ({ health }) => (health.accepted_24h === null ? '–' : percent(health.accepted_24h)),
  },
  {
    name: 'waiting',
    label: 'Waiting',
    align: 'end',
    priority: 2,
    cell: ({ health }) => number(health.waiting),
  },
]

export const Page = ({ params }: PageProps) =>
  params.id ? <WebhookView key={params.id} id={params.id} /> : <WebhookList />

function WebhookList() {
  useEffect(prefetch, [])
  const versions = useVersions().map(({ version }) => version)
  const events = query.value.get('new') ?? undefined
  return (
    <ListScreen<WebhookRow>
      title="Webhooks"
      path={PATH}
      parameters={(filters) => ({
        mode: mode.value,
        customer: customer.value,
        sort: '-health',
        ...parametersOf(filters, { of: 'customer' }),
      })}
      everyMs={EVERY_MS}
      noun="endpoint"
      intro="Endpoints that receive events. Those that fail are first."
      creation={{
        label: 'Add an endpoint',
        isAllowed: mayChange('support'),
        isOpen: events !== undefined,
        form: ({ onClose, onCreate }) => (
          <WebhookForm
            events={events}
            onClose={() => {
              onClose()
              setQuery({ new: undefined }, { replace: true })
            }}
            onDone={onCreate}
          />
        ),
      }}
      words={webhookWords(versions)}
      placeholder="state:failing  of:cus_…  version:…"
      caption="Webhook endpoints, those that fail first"
      columns={columns}
      rowKey={({ id }) => id}
      empty={{
        text: 'The command forwards events to a program on this computer.',
        command: forwardCommand(mode.value, location.port),
      }}
    />
  )
}
