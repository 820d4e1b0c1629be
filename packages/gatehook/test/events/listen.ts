/** A reader of `GET /events/stream`: the events of it, one by one. */
import type { TestContext } from 'node:test'

export interface Heard {
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events
  readonly event: any
}

export interface Listening {
  readonly status: number
  readonly headers: Headers
  /** The next event; undefined once the stream has ended. */
  next(): Promise<Heard | undefined>
  text(): Promise<string>
  close(): void
}

/** Opens the stream; it is closed after the test at the latest. */
export async function listen(
  t: TestContext,
  url: string,
  key: string,
  options: { readonly after?: string; readonly query?: string } = {},
): Promise<Listening> {
  const gone = new AbortController()
  t.after(() => gone.abort())
  const response = await fetch(`${url}/events/stream${options.query ?? ''}`, {
    headers: {
      'x-api-key': key,
      accept: 'text/event-stream',
      ...(options.after !== undefined && { 'last-event-id': options.after }),
    },
    signal: gone.signal,
  })
  const lines = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let rest = ''
  const next = async (): Promise<Heard | undefined> => {
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
    close: () => gone.abort(),
  }
}
