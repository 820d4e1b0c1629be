/**
 * The messages of event streams. Streams share the rows of a page (`feed.ts`), so an event is
 * rendered once for each version, not once for each stream, and in the share of the customer
 * (§11.5).
 */
import type { Call } from '../../protocol/http/call.ts'
import type { RenderObject } from './event.ts'
import { type EventCells, eventView } from './view.ts'

/** Returns the server-sent messages of events, in their order; '' for none. */
export type WriteMessages = (
  rows: readonly EventCells[],
  version: string | undefined,
  call: Pick<Call, 'startPace'>,
) => Promise<string>

/** Creates the function that writes messages for all streams of a node. */
export function createMessages(render: RenderObject): WriteMessages {
  /** The messages of a row by version, as long as a page has the row. */
  const messagesOf = new WeakMap<EventCells, Map<string | undefined, string>>()
  const messageOf = (row: EventCells, version: string | undefined): string => {
    let messages = messagesOf.get(row)
    if (!messages) messagesOf.set(row, (messages = new Map()))
    let message = messages.get(version)
    if (message === undefined) {
      message = `id: ${row[0]}\ndata: ${eventView(version, render).item(row, {})}\n\n`
      messages.set(version, message)
    }
    return message
  }
  return async (rows, version, call) => {
    const pace = call.startPace()
    const messages: string[] = []
    for (const row of rows) {
      messages.push(messageOf(row, version))
      await pace()
    }
    return messages.join('')
  }
}
