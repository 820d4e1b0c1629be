/**
 * The only file that opens the event stream. One connection carries the topics of all parts; it is
 * replaced when their union changes.
 */
import { useEffect, useRef } from 'preact/hooks'
import { isSessionOver, type Query, sessionEpoch, withQuery } from './api.ts'
import { after } from './clock.ts'
import { mountedUrl } from './mount-path.ts'

export type Topic = 'requests' | 'deliveries' | 'attention' | 'first_steps'

interface Subscription {
  readonly topics: readonly Topic[]
  readonly filters: Query
  readonly receive: (topic: string, data: unknown) => void
  readonly open: () => void
}

const subscriptions = new Set<Subscription>()
let source: EventSource | undefined
let url = ''
let cancelRetry: (() => void) | undefined

function receive(topic: string, event: MessageEvent<string>): void {
  const data: unknown = JSON.parse(event.data)
  for (const subscription of subscriptions) subscription.receive(topic, data)
}

function connect(): void {
  const topics = [...new Set([...subscriptions].flatMap((part) => part.topics))].sort()
  const filters = Object.assign({}, ...[...subscriptions].map((part) => part.filters))
  const next = topics.length === 0 ? '' : withQuery('/admin/stream', { topics, ...filters })
  if (next === url && source?.readyState !== EventSource.CLOSED) return
  cancelRetry?.()
  source?.close()
  source = undefined
  url = next
  if (next === '' || isSessionOver.value) return
  const opened = new EventSource(mountedUrl(next))
  source = opened
  for (const topic of [...topics, 'dropped']) {
    opened.addEventListener(topic, (event) => receive(topic, event as MessageEvent<string>))
  }
  opened.addEventListener('open', () => {
    for (const subscription of subscriptions) subscription.open()
  })
  // A browser does not repeat a connection that the server rejected.
  opened.addEventListener('error', () => {
    if (opened.readyState !== EventSource.CLOSED) return
    cancelRetry = after(5000, connect)
  })
}

/** Several parts subscribe in one update: the connection follows after it. */
const connectSoon = (): void => void Promise.resolve().then(connect)

/**
 * Receives the events of topics while the component is mounted; `dropped` carries a count. `onOpen`
 * runs when the connection opens, also after an interruption: earlier events are not repeated.
 */
export function useStream(
  topics: readonly Topic[],
  filters: Query,
  onEvent: (topic: string, data: unknown) => void,
  onOpen: () => void = () => {},
): void {
  const latest = useRef({ onEvent, onOpen })
  latest.current = { onEvent, onOpen }
  const key = JSON.stringify([topics, filters])
  const epoch = sessionEpoch.value
  // `key` changes with topics and filters.
  useEffect(() => {
    if (topics.length === 0) return
    const subscription: Subscription = {
      topics,
      filters,
      receive: (topic, data) => {
        const isOwn = topic === 'dropped' || topics.includes(topic as Topic)
        if (isOwn) latest.current.onEvent(topic, data)
      },
      open: () => latest.current.onOpen(),
    }
    subscriptions.add(subscription)
    connectSoon()
    return () => {
      subscriptions.delete(subscription)
      connectSoon()
    }
  }, [key, epoch])
}
