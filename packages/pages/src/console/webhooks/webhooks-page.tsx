/** Webhook endpoints of all customers, those that fail first. */
import { useEffect } from 'preact/hooks'
import { forwardCommand } from '../../commands.ts'
import { lazy } from '../../lazy.tsx'
import type { FilterWord } from '../../parts/query-box.tsx'
import { Strip } from '../../parts/strip.tsx'
import { type PageProps, query, setQuery } from '../../router.ts'
import { customerWord } from '../customer-names.ts'
import { parametersOf } from '../filter-words.ts'
import { ListScreen } from '../list-screen.tsx'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { useVersions } from '../versions.ts'
import { stripWords, type WebhookRow } from './webhook-shapes.ts'
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

const LastAttempts = ({ health: { last60 } }: WebhookRow) => (
  <Strip attempts={last60.padStart(60, '.')} label={stripWords(last60)} />
)

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
      object="Endpoint"
      cells={{ 'health.last60': LastAttempts }}
      pagePath="/console/webhooks"
      empty={{
        text: 'The command forwards events to a program on this computer.',
        command: forwardCommand(mode.value, location.port),
      }}
    />
  )
}
