/** Reads a stream of server-sent events (HTML standard, §9.2.6). Pure: text in, events out. */

export interface ServerSentEvent {
  readonly id: string | undefined
  /** The field `event`; undefined for an event without a name. */
  readonly name: string | undefined
  readonly data: string
}

/** Longer than any event (§9.11); bounds the memory that a faulty server can fill. */
const MAX_CHARACTERS = 1_048_576

/** Returns a parser: it takes chunks of text, cut anywhere, and returns the complete events. */
export function eventReader(): (text: string) => ServerSentEvent[] {
  let rest = ''
  let id: string | undefined
  let eventName: string | undefined
  let data: string[] = []
  return (text) => {
    const events: ServerSentEvent[] = []
    rest += text
    // A CR at the end of the text may be the first half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    if (rest.length > MAX_CHARACTERS) throw new Error('an event without an end')
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) events.push({ id, name: eventName, data: data.join('\n') })
        data = []
        eventName = undefined
        continue
      }
      const colon = line.indexOf(':')
      const name = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (name === 'id' && !value.includes('\0')) id = value
      else if (name === 'event') eventName = value
      else if (name === 'data') data.push(value)
    }
    return events
  }
}
