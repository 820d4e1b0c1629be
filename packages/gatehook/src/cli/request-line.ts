/** A logged request as a line for people, and the filters that commands on requests share. Pure. */
import { statusText } from './columns.ts'
import type { CommandOption, Input } from './command.ts'
import type { JsonBody } from './http-client.ts'
import { alarm, dim } from './output.ts'

/** Options of commands that filter requests; each is a parameter of `/admin/requests`. */
export const requestFilters: readonly CommandOption[] = [
  ['--status <STATUS>', '404, 4xx, 403,429, or none (the connection ended)'],
  ['--error <CODE>', 'an error code: insufficient_scope'],
  ['--route <ROUTE>', 'a route template: /api/things/:id'],
  ['--customer <CUSTOMER>', 'only of this customer, by id or name'],
  ['--mode <MODE>', 'only live or test'],
  ['--key <ID>', 'only of this key'],
  ['--warnings', 'only with warnings: of a deprecated version'],
]

/** Returns the filters of a command line as query parameters. */
export function filterQuery({ options }: Input): URLSearchParams {
  const { status, error, route, customer, mode, key, warnings } = options
  const query = new URLSearchParams()
  const named = { status, error, route, customer, mode, warnings }
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) query.set(name, String(value))
  }
  if (key !== undefined) query.set('key_id', String(key))
  return query
}

const METHOD_COLUMNS = 6

/** Returns one line: time, status, duration, method, path, error, id. */
export function requestLine({ at, status, took_ms, method, path, error, id }: JsonBody): string {
  const time = dim(String(at).slice(11, 23))
  const duration = `${Math.round(took_ms)} ms`.padStart(8)
  const cause = error === null ? '' : `  ${alarm(error)}`
  const target = `${String(method).padEnd(METHOD_COLUMNS)} ${path}`
  return `${time}  ${statusText(status)}  ${duration}  ${target}${cause}  ${dim(id)}`
}
