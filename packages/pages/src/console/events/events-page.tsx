/** Events: the list, and one event with the thread of its deliveries. */
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { triggerCommand } from '../../commands.ts'
import { isoSecond } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import type { Filter, FilterWord } from '../../parts/query-box.tsx'
import { type PageProps, query } from '../../router.ts'
import { customerWord } from '../customer-names.ts'
import { ListScreen } from '../list-screen.tsx'
import { customer, mode } from '../scope.ts'
import type { EventRow } from './event-shapes.ts'
import { EventView } from './event-view.tsx'

const PATH = '/admin/events'
const EVERY_MS = 10_000
const FIELDS = 'id,type,created,customer,customer_name,mode,object,request_id,deliveries'
const DAYS_MS = { '1d': 86_400_000, '7d': 7 * 86_400_000, '30d': 30 * 86_400_000 }

const eventWords = (): readonly FilterWord[] => [
  { name: 'type', hint: 'a type or a pattern: thing.*' },
  { name: 'object', hint: 'a collection and an id: …/4186' },
  {
    name: 'delivery',
    hint: 'the state of a delivery',
    values: ['failed', 'pending', 'paused', 'delivered'],
  },
  customerWord('of'),
  { name: 'request', hint: 'the id of a request' },
  {
    name: 'since',
    hint: 'a number of days',
    values: Object.keys(DAYS_MS),
    check: (value) => (value in DAYS_MS ? undefined : 'It must be 1d, 7d or 30d.'),
  },
]

const PARAMETERS: Readonly<Record<string, string>> = {
  delivery: 'delivery_state',
  of: 'customer',
  request: 'request_id',
}

function parametersOf(filters: readonly Filter[]) {
  const nowMs = Math.floor(slowNow().value / 60_000) * 60_000
  const entries = filters.map(({ name, value }) =>
    name === 'since'
      ? ['from', isoSecond(nowMs - DAYS_MS[value as keyof typeof DAYS_MS])]
      : [PARAMETERS[name] ?? name, value],
  )
  return Object.fromEntries(entries)
}

/** A member of `GET /admin/resources`. */
interface SampleEvent {
  readonly sample_event: string | null
}

export const Page = ({ params }: PageProps) =>
  params.id ? <EventView key={params.id} id={params.id} /> : <EventList />

function EventList() {
  const isTest = mode.value === 'test'
  const service = useLoaded<SampleEvent>(isTest ? '/admin/resources' : undefined).data
  const type = isTest ? service?.sample_event : null
  return (
    <ListScreen<EventRow>
      title="Events"
      path={PATH}
      parameters={(filters) => ({
        mode: mode.value,
        customer: customer.value,
        sort: '-id',
        fields: FIELDS,
        ...parametersOf(filters),
      })}
      everyMs={EVERY_MS}
      noun="event"
      words={eventWords()}
      placeholder="type:…  object:…/4186  delivery:failed"
      caption="Events, newest first"
      object="ListedEvent"
      pagePath="/console/events"
      noMatch={
        <a href={withQuery('/console/events', { mode: query.value.get('mode') })}>
          Remove the filter
        </a>
      }
      empty={
        type
          ? {
              text: 'A change of a row records an event. The command sends a sample event.',
              command: triggerCommand(type, location.port),
            }
          : { text: 'A change of a row records an event.' }
      }
    />
  )
}
