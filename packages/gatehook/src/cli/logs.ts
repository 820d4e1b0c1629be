/**
 * `gatehook logs`: the newest requests as lines, the oldest first; with `--follow`, further ones of
 * a running node as they occur. After a lost connection, it continues behind the last request.
 */

import { printableValue } from '../kernel/printable.ts'
import { administration, borrowKey, namedInput, nodeOf } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import type { CommandSpec, Input } from './command.ts'
import { type FollowedEvent, followEvents } from './event-follower.ts'
import { onKeys } from './keyboard.ts'
import { dim, yellow } from './output.ts'
import { filterQuery, requestFilters, requestLine } from './request-line.ts'

const newest = administration.action({
  name: 'logs',
  summary: '',
  examples: [],
  parse: countOf,
  act: (api, input, count) => api.list(`/admin/requests?${filterQuery(input)}`, count),
  describe: (rows) => rows.reverse().map(requestLine).join('\n'),
})

/** An administrator's key is a live key of the default customer. */
const asAdministrator = (input: Input): Input => {
  const { customer: _, mode: __, ...options } = input.options
  return { ...input, options: { ...options, mode: 'live' } }
}
const adminScope = () => ['admin']

/** Prints a request, or how many the node left out for this reader. */
function print({ out }: Input, { name, data }: FollowedEvent): void {
  const message = JSON.parse(data)
  if (name === 'dropped') {
    const { requests = 0 } = message
    out.entry({ dropped: requests }, () => yellow(`${requests} requests are left out`))
  } else if (name === 'requests') out.entry(message, () => requestLine(printableValue(message)))
}

async function follow(input: Input): Promise<undefined> {
  const { out } = input
  const { url } = nodeOf(input)
  const query = filterQuery(await namedInput(input))
  query.set('topics', 'requests')
  let borrowedKey = await borrowKey(asAdministrator(input), adminScope)
  const stop = new AbortController()
  const release = onKeys(stop, {})
  try {
    await followEvents({
      url,
      path: `/admin/stream?${query}`,
      after: undefined,
      async key(renew) {
        if (renew) borrowedKey = await borrowKey(asAdministrator(input), adminScope)
        return borrowedKey.key
      },
      connected: () => out.progress(dim(`following ${url}`)),
      lost: (reason, retryMs) =>
        out.progress(yellow(`${reason.replace(/\.$/, '')}; retry in ${retryMs / 1000} s`)),
      handle: async (event) => print(input, event),
      signal: stop.signal,
    })
  } finally {
    release()
    await borrowedKey.giveBack().catch(() => undefined) // it expires in any case
  }
}

export const logs: CommandSpec = {
  name: 'logs',
  summary: 'requests as lines; with --follow, as they occur',
  options: [
    ...(newest.options ?? []),
    ['-f, --follow', 'prints further requests of a running node'],
    ...requestFilters,
    countOption,
  ],
  json: 'print one JSON document; with --follow a line of JSON for each request',
  config: ['databaseUrl', 'host', 'port'],
  examples: [
    ['gatehook logs -f', 'every request of the node on this machine'],
    ['gatehook logs -f --status 5xx --json', 'errors, a line of JSON for each'],
    ['GATEHOOK_API_KEY=… gatehook logs -f --url https://api.example.com', 'of another machine'],
  ],
  run: (input) => (input.options.follow === true ? follow(input) : newest.run(input)),
}
