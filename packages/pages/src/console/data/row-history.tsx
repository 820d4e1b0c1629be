/** The history of a row: its events, the requests that changed it, and those that failed. */
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { listTime } from '../../format.ts'
import type { CursorPage } from '../../list-page.ts'
import { stateOf } from '../../lists/state-words.ts'
import { useLoaded } from '../../loaded.ts'
import { Part } from '../../parts/notices.tsx'
import { Code } from '../../parts/state.tsx'
import { Thread, ThreadNode } from '../../parts/thread.tsx'
import { href } from '../../router.ts'
import type { RequestPage, RequestRow } from '../api-shapes.ts'
import { type EventRow, isoOfSeconds } from '../events/event-shapes.ts'
import type { DataScope } from './resource-shapes.ts'

/** Entries of each kind. */
const MAX_ENTRIES = 10

interface RowHistoryProps {
  readonly scope: DataScope
  /** `things/7` */
  readonly object: string
}

type HistoryEntry =
  | { readonly at: string; readonly event: EventRow }
  | { readonly at: string; readonly request: RequestRow }

const Time = ({ at }: { readonly at: string }) => (
  <time class="soft" dateTime={at}>
    {listTime(at, slowNow().value)}
  </time>
)

function RequestNode({ request }: { readonly request: RequestRow }) {
  const { id, at, method, path, status, credential } = request
  return (
    <ThreadNode
      kind="request"
      tone={status !== null && status < 400 ? 'ok' : 'bad'}
      line={
        <>
          <a class="mono" href={href(`/console/requests/${id}`)}>
            {method} {path.replace(/^\/api\/v\d+/, '')}
          </a>{' '}
          <Code status={status} /> <Time at={at} />
          {credential?.name && <span class="soft"> {credential.name}</span>}
        </>
      }
    />
  )
}

function EventNode({ event, at }: { readonly event: EventRow; readonly at: string }) {
  const [tone, words] = stateOf('ListedEvent', event)
  return (
    <ThreadNode
      kind="event"
      tone={tone}
      line={
        <>
          <a class="mono" href={href(`/console/events/${event.id}`)}>
            {event.type}
          </a>{' '}
          <Time at={at} /> <span class="soft">{words}</span>
        </>
      }
    />
  )
}

/** Returns the newest first. An event has whole seconds: it is directly above its request. */
function entriesOf(
  events: readonly EventRow[],
  requests: readonly RequestRow[],
): readonly HistoryEntry[] {
  const timeOf = new Map(requests.map(({ id, at }) => [id, at]))
  const entries: readonly HistoryEntry[] = [
    ...events.map((event) => ({
      at: timeOf.get(event.request_id ?? '') ?? isoOfSeconds(event.created),
      event,
    })),
    ...requests.map((request) => ({ at: request.at, request })),
  ]
  return [...entries].sort((a, b) => b.at.localeCompare(a.at))
}

export function RowHistory({ scope, object }: RowHistoryProps) {
  const { customer, mode } = scope
  const words = { object, customer, mode, limit: MAX_ENTRIES }
  const events = useLoaded<CursorPage<EventRow>>(
    withQuery('/admin/events', { ...words, sort: '-id' }),
  )
  const requests = useLoaded<RequestPage>(withQuery('/admin/requests', words))
  const entries = entriesOf(events.data?.data ?? [], requests.data?.data ?? [])
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <Part of={events} subject="the history">
        {() =>
          entries.length === 0 ? (
            <p class="soft small">No stored event or request.</p>
          ) : (
            <Thread label="History of the row, newest first">
              {entries.map((entry) =>
                'event' in entry ? (
                  <EventNode key={entry.event.id} {...entry} />
                ) : (
                  <RequestNode key={entry.request.id} {...entry} />
                ),
              )}
            </Thread>
          )
        }
      </Part>
      <p class="hint">
        <a href={href('/console/events', { object })}>All events</a> ·{' '}
        <a href={href('/console/requests', { object })}>All requests</a>
      </p>
    </section>
  )
}
