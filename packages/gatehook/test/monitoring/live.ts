/** Reads `GET /admin/stream` message by message. */
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'

export interface LiveMessage {
  readonly id: string | undefined
  readonly topic: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages
  readonly data: any
}

/** Opens the stream; the end of the test closes it at the latest. */
export async function openLive(
  t: TestContext,
  url: string,
  options: { key: string; query?: string; after?: string },
) {
  const closing = new AbortController()
  onEnd(t, () => closing.abort())
  const { key, query = '', after } = options
  const response = await fetch(`${url}/admin/stream${query}`, {
    headers: { 'x-api-key': key, ...(after !== undefined && { 'last-event-id': after }) },
    signal: closing.signal,
  })
  const parts = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let rest = ''
  const readBlock = async (): Promise<string | undefined> => {
    for (;;) {
      const end = rest.indexOf('\n\n')
      if (end >= 0) {
        const block = rest.slice(0, end)
        rest = rest.slice(end + 2)
        return block
      }
      const { value, done } = await parts.next()
      if (done) return undefined
      rest += value
    }
  }
  return {
    status: response.status,
    close: () => closing.abort(),
    /** Returns the next message of a topic; undefined once the stream has ended. */
    async next(topic: string): Promise<LiveMessage | undefined> {
      for (;;) {
        const block = await readBlock()
        if (block === undefined) return undefined
        const member = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        if (member('event') !== topic) continue
        return { id: member('id'), topic, data: JSON.parse(member('data')!) }
      }
    },
  }
}
