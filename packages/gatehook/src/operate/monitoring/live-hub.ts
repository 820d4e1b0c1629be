/**
 * Passes messages to open streams (`GET /admin/stream`). Each stream has a bounded queue: while
 * its reader is slow, further messages are dropped and counted. Costs nothing without streams.
 */

export const TOPICS = ['requests', 'deliveries', 'attention', 'first_steps'] as const
export type Topic = (typeof TOPICS)[number]

export interface LiveMessage {
  readonly topic: Topic
  /** For `Last-Event-ID`. */
  readonly id?: number | undefined
  readonly data: unknown
}

/** Messages that wait for the reader of one stream. */
const QUEUE_MAX = 256

export class LiveSubscription {
  readonly topics: ReadonlySet<Topic>
  readonly #accepts: (message: LiveMessage) => boolean
  #queue: LiveMessage[] = []
  #dropped: Partial<Record<Topic, number>> = {}
  #wake: (() => void) | undefined

  constructor(topics: ReadonlySet<Topic>, accepts: (message: LiveMessage) => boolean) {
    this.topics = topics
    this.#accepts = accepts
  }

  push(message: LiveMessage): void {
    if (!this.topics.has(message.topic) || !this.#accepts(message)) return
    if (this.#queue.length < QUEUE_MAX) this.#queue.push(message)
    else this.drop(message.topic, 1)
    this.#wake?.()
  }

  /** Counts messages that the stream does not contain. */
  drop(topic: Topic, count: number): void {
    this.#dropped[topic] = (this.#dropped[topic] ?? 0) + count
  }

  /** Returns and removes the waiting messages and the counts of dropped ones. */
  take(): { messages: readonly LiveMessage[]; dropped: Partial<Record<Topic, number>> } {
    const taken = { messages: this.#queue, dropped: this.#dropped }
    this.#queue = []
    this.#dropped = {}
    return taken
  }

  /** Resolves at the next message, after `ms` of real time, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#queue.length > 0) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(wake, ms)
      timer.unref()
      this.#wake = wake
      signal.addEventListener('abort', wake)
    })
  }
}

export class LiveHub {
  readonly #subscriptions = new Set<LiveSubscription>()

  /** Whether a stream has the topic. */
  has(topic: Topic): boolean {
    for (const { topics } of this.#subscriptions) if (topics.has(topic)) return true
    return false
  }

  publish(message: LiveMessage): void {
    for (const subscription of this.#subscriptions) subscription.push(message)
  }

  add(subscription: LiveSubscription): () => void {
    this.#subscriptions.add(subscription)
    return () => void this.#subscriptions.delete(subscription)
  }
}
