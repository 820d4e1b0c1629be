/** `gatehook events …`: the events of a customer (§9.11). */
import { eventObject } from '../history/events/operations.ts'
import { customerCommands } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import type { CommandFamily } from './command.ts'

const { list, action } = customerCommands()

export const events: CommandFamily = {
  name: 'events',
  summary: 'events: list, show',
  commands: [
    list({
      name: 'list',
      summary: 'the newest events, newest first',
      options: [['--type <TYPE>', 'only of this type'], countOption],
      examples: [['gatehook events list --count 5', 'the last five of test mode']],
      parse: countOf,
      rows(api, { options: { type } }, count) {
        const filter = type === undefined ? '' : `&type=${encodeURIComponent(String(type))}`
        return api.list(`/events?sort=-id${filter}`, count)
      },
      empty: (_, { place }) => `No events in ${place}. Create one: gatehook trigger TYPE`,
      columns: eventObject([]),
    }),
    action({
      name: 'show <ID>',
      summary: 'one event, as receivers get it',
      examples: [['gatehook events show evt_…', 'its body']],
      act: (api, { args: [id] }) => api.request('GET', `/events/${encodeURIComponent(String(id))}`),
      describe: (event) => JSON.stringify(event, null, 2),
    }),
  ],
}
