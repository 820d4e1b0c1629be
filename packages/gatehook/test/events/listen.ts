/** Reads a stream of events, by default `GET /events/stream`, event by event. */
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'

export interface StreamedEvent {
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events
  readonly event: any
}

export interface EventReader {
  readonly status: number
  readonly headers: Headers
  /** Returns the next event; undefined once the stream has ended. */
  next(): Promise<StreamedEvent | undefined>
  text(): Promise<string>
  close(): void
}

/** Opens the stream; the end of the test closes it at the latest. */
export async function listen(
  t: TestContext,
  url: string,
  key: string | undefined,
  options: {
    readonly path?: string
    readonly after?: string
    readonly query?: string
    /** Further headers, such as another credential. */
    readonly headers?: Readonly<Record<string, string>>
  } = {},
): Promise<EventReader> {
  const closing = new AbortController()
  onEnd(t, () => closing.abort())
  const response = await fetch(`${url}${options.path ?? '/events/stream'}${options.query ?? ''}`, {
    headers: {
      ...(key !== undefined && { 'x-api-key': key }),
      accept: 'text/event-stream',
      ...options.headers,
      ...(options.after !== undefined && { 'last-event-id': options.after }),
    },
    signal: closing.signal,
  })
  const lines = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let rest = ''
  const next = async (): Promise<StreamedEvent | undefined> => {
    for (;;) {
      const end = rest.indexOf('\n\n')
      if (end < 0) {
        const { value, done } = await lines.next()
        if (done) return undefined
        rest += value
        continue
      }
      const block = rest.slice(0, end)
      rest = rest.slice(end + 2)
      const match = /^id: (\S+)\ndata: (.*)$/.exec(block)
      if (match) return { id: match[1]!, event: JSON.parse(match[2]!) }
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    next,
    async text() {
      let all = rest
      for await (const chunk of { [Symbol.asyncIterator]: () => lines }) all += chunk
      return all
    },
    close: () => closing.abort(),
  }
}
