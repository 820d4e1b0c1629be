/** The request of a tool of agents, from the input of the tool. Pure. */
import { closestClause, endSentence } from '../../kernel/closest.ts'
import { Failure } from '../../kernel/failure.ts'
import type { InnerRequest } from '../../protocol/http/inner-request.ts'
import type { AgentOperation } from './directory.ts'

export interface OperationInput {
  readonly operation: string
  readonly parameters?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly dry_run?: boolean | undefined
  readonly idempotency_key?: string | undefined
}

/** Throws `unknown_parameter`, `invalid_parameter` or `not_found` for values that no URL has. */
export function innerRequestOf(
  { method, path, route, parameters, body: declared }: AgentOperation,
  { parameters: values = {}, body, dry_run, idempotency_key }: OperationInput,
  userAgent: string | undefined,
): Omit<InnerRequest, 'maxBytes'> {
  const places = new Map<string, string>()
  for (const { name, place, operators } of parameters) {
    for (const full of [name, ...operators]) places.set(full, place)
  }
  const query: string[] = []
  for (const [name, value] of Object.entries(values)) {
    const place = places.get(name)
    if (place === undefined) {
      const hint = closestClause(name, [...places.keys()])
      throw new Failure(
        'unknown_parameter',
        endSentence(`${name.slice(0, 100)} is not a parameter${hint}`),
      )
    }
    const text = encode(name, value)
    if (place === 'query') query.push(`${encodeURIComponent(name)}=${text}`)
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, values[name]))
  return {
    method,
    route,
    url: query.length > 0 ? `${filled}?${query.join('&')}` : filled,
    headers: {
      accept: '*/*',
      'user-agent': userAgent ?? 'mcp',
      ...(body !== undefined && { 'content-type': declared?.mediaType ?? 'application/json' }),
      ...(dry_run && { prefer: 'dry-run' }),
      ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
}

/** Returns a value of the path as one encoded segment. A segment of dots would be a path. */
function segment(name: string, value: unknown): string {
  if (value === undefined) {
    throw new Failure('invalid_parameter', `The parameter ${name} is required.`)
  }
  const text = encode(name, value)
  if (text === '' || text === '.' || text === '..') throw new Failure('not_found')
  return text
}

function encode(name: string, value: unknown): string {
  const parts = Array.isArray(value) ? value : [value]
  const isText = parts.every((part) => ['string', 'number', 'boolean'].includes(typeof part))
  const text = parts.join(',')
  if (isText && text.isWellFormed()) return encodeURIComponent(text)
  throw new Failure('invalid_parameter', `The parameter ${name} must be a text, or a list of them.`)
}
