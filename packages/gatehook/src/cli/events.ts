/** `gatehook events …`: what happened, by the calls of the API (§9.11). */
import { isoTime } from '../kernel/time.ts'
import { listed, apiOptions as options, withApi } from './api.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { UsageError } from './mistake.ts'
import { cyan, table } from './output.ts'

const DEFAULT_COUNT = 50
const MAX_COUNT = 10_000

function countOf(text: unknown): number {
  if (text === undefined) return DEFAULT_COUNT
  const count = /^\d{1,5}$/.test(String(text)) ? Number(text) : 0
  if (count >= 1 && count <= MAX_COUNT) return count
  throw new UsageError(`--count is "${text}"; expected 1 to ${MAX_COUNT}.`)
}

async function list(input: Input): Promise<undefined> {
  const { type } = input.options
  const most = countOf(input.options.count)
  const filter = type === undefined ? '' : `&type=${encodeURIComponent(String(type))}`
  const rows = await withApi(input, (api) => listed(api, `/events?sort=-id${filter}`, most))
  input.out.result({ data: rows }, () =>
    rows.length === 0
      ? 'No events. Make one: gatehook trigger TYPE'
      : table(
          ['id', 'type', 'created', 'object'],
          rows.map(({ id, type: name, created, data }) => [
            id,
            cyan(name),
            isoTime(created * 1000).replace('.000', ''),
            String(data.object.id ?? ''),
          ]),
        ),
  )
  return
}

async function show(input: Input): Promise<undefined> {
  const path = `/events/${encodeURIComponent(String(input.args[0]))}`
  const event = await withApi(input, (api) => api.call('GET', path))
  input.out.result(event, () => JSON.stringify(event, null, 2))
  return
}

const config: CommandSpec['config'] = ['databaseUrl', 'host', 'port']

export const events: FamilySpec = {
  name: 'events',
  summary: 'what happened: list, show',
  commands: [
    {
      name: 'list',
      summary: 'the newest events, the newest first',
      options: [
        ...options,
        ['--type <TYPE>', 'only of this type'],
        ['--count <N>', `how many (default ${DEFAULT_COUNT})`],
      ],
      config,
      examples: [['gatehook events list --count 5', 'the last five of test mode']],
      run: list,
    },
    {
      name: 'show <ID>',
      summary: 'one event, as receivers get it',
      options,
      config,
      examples: [['gatehook events show evt_…', 'its body']],
      run: show,
    },
  ],
}
