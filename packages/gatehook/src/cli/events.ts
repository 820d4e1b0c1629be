/** `gatehook events …`: what happened, by the calls of the API (§9.11). */
import { isoTime } from '../kernel/time.ts'
import { apiCommands, listed } from './api.ts'
import type { FamilySpec } from './command.ts'
import { UsageError } from './mistake.ts'
import { cyan } from './output.ts'

const DEFAULT_COUNT = 50
const MAX_COUNT = 10_000

function countOf(text: unknown): number {
  if (text === undefined) return DEFAULT_COUNT
  const count = /^\d{1,5}$/.test(String(text)) ? Number(text) : 0
  if (count >= 1 && count <= MAX_COUNT) return count
  throw new UsageError(`--count is "${text}"; expected 1 to ${MAX_COUNT}.`)
}

const api = apiCommands()

export const events: FamilySpec = {
  name: 'events',
  summary: 'what happened: list, show',
  commands: [
    api.list({
      name: 'list',
      summary: 'the newest events, the newest first',
      options: [
        ['--type <TYPE>', 'only of this type'],
        ['--count <N>', `how many (default ${DEFAULT_COUNT})`],
      ],
      examples: [['gatehook events list --count 5', 'the last five of test mode']],
      rows({ options: { type, count } }) {
        const most = countOf(count)
        const filter = type === undefined ? '' : `&type=${encodeURIComponent(String(type))}`
        return (to) => listed(to, `/events?sort=-id${filter}`, most)
      },
      none: 'No events. Make one: gatehook trigger TYPE',
      columns: {
        id: ({ id }) => id,
        type: ({ type }) => cyan(type),
        created: ({ created }) => isoTime(created * 1000).replace('.000', ''),
        object: ({ data }) => String(data.object.id ?? ''),
      },
    }),
    api.act({
      name: 'show <ID>',
      summary: 'one event, as receivers get it',
      examples: [['gatehook events show evt_…', 'its body']],
      act:
        ({ args: [id] }) =>
        (to) =>
          to.call('GET', `/events/${encodeURIComponent(String(id))}`),
      said: (event) => JSON.stringify(event, null, 2),
    }),
  ],
}
