/** The words of the filter of the audit trail, and the parameters of the API that they mean. */
import type { Query } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { isoSecond } from '../../format.ts'
import type { Filter, FilterWord } from '../../parts/query-box.tsx'

const SINCE = /^(\d{1,3})(h|d)$/
const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 }
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z)?$/

const isSince = (value: string): string | undefined =>
  SINCE.test(value) || DATE.test(value) ? undefined : 'It must be 24h, 7d or a date, 2026-11-24.'

export const auditWords: readonly FilterWord[] = [
  { name: 'who', hint: 'the id of an operator or key' },
  {
    name: 'kind',
    hint: 'who, by kind',
    values: ['operator', 'key', 'cli', 'engine', 'person', 'client', 'workload'],
  },
  { name: 'act', hint: 'an operation: key.create' },
  { name: 'target', hint: 'the id that the operation changed' },
  { name: 'request', hint: 'the id of a request' },
  { name: 'since', hint: '24h, 7d or a date', values: ['1h', '24h', '7d', '30d'], check: isSince },
]

const PARAMETERS: Readonly<Record<string, string>> = {
  who: 'actor_id',
  kind: 'actor_kind',
  act: 'action',
  target: 'target',
  request: 'request_id',
}

/** Returns the parameters of `GET /admin/audit`. */
export function parametersOf(filters: readonly Filter[]): Query {
  const entries = filters.map(({ name, value }) => {
    if (name !== 'since') return [PARAMETERS[name]!, value] as const
    const [, amount, unit] = SINCE.exec(value) ?? []
    // Whole minutes: the path of the request stays the same while the page is open.
    const nowMs = Math.floor(slowNow().value / 60_000) * 60_000
    const since = amount ? isoSecond(nowMs - Number(amount) * UNIT_MS[unit!]!) : value
    return ['at[gte]', since] as const
  })
  return Object.fromEntries(entries)
}

const PAGES: Readonly<Record<string, string>> = {
  key: 'keys',
  cus: 'customers',
  wh: 'webhooks',
  evt: 'events',
  dlv: 'deliveries',
  cli: 'clients',
  job: 'jobs',
  op: 'operators',
}

/** Returns the page of a target, if it has one. */
export function targetHref(target: string): string | undefined {
  const [, prefix] = /^([a-z]+)_/.exec(target) ?? []
  const page = prefix && PAGES[prefix]
  if (page) return `/console/${page}/${target}`
  return /^v\d+$/.test(target) ? `/console/versions/${target}` : undefined
}
