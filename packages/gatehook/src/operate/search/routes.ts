/** `GET /admin/search`: results of several tables, as links to pages of the console. */
import { customersOf } from '../../identity/access/across-customers.ts'
import type { Mode } from '../../kernel/principal.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { findRequest } from '../monitoring/request-list.ts'
import { RESULTS_MAX as LIMIT, searchOperations as operations } from './operations.ts'
import {
  findByEnding,
  findById,
  findByName,
  findRows,
  type SearchedResource,
  type SearchHit,
} from './store.ts'

export interface SearchDeps {
  readonly db: Reader
  /** The tables of resources. */
  readonly tables: readonly SearchedResource[]
  /** The store of the request log. */
  readonly requests: Reader
}

/** The pages of the console by type. */
const PAGES = {
  customer: 'customers',
  key: 'keys',
  client: 'clients',
  webhook: 'webhooks',
  event: 'events',
  delivery: 'deliveries',
  operator: 'operators',
} as const

function hrefOf(hit: SearchHit, owner: { customer: string; mode: string } | undefined): string {
  if (hit.type !== 'row') return `/console/${PAGES[hit.type]}/${hit.id}`
  const selection = owner ? `?customer=${owner.customer}&mode=${owner.mode}` : ''
  return `/console/data/${hit.collection}/${hit.id}${selection}`
}

async function findRequestResult({ requests }: SearchDeps, id: string) {
  const request = id.startsWith('req_') ? await findRequest(requests, id) : undefined
  if (!request) return []
  const { method, path, status, customer, mode } = request
  const label = [method, path, status].filter((part) => part !== null).join(' ')
  const href = `/console/requests/${id}`
  return [{ type: 'request' as const, id, label, customer, mode: mode as Mode | null, href }]
}

/** The last characters of a secret, as `hint` of a key has them. */
const SECRET_ENDING = /^[0-9A-Za-z]{4}$/

async function findHits({ db, tables }: SearchDeps, text: string): Promise<readonly SearchHit[]> {
  const searches = [
    SECRET_ENDING.test(text) ? findByEnding(db, text, LIMIT) : [],
    /^[a-z][a-z0-9]*_/.test(text) ? findById(db, text, LIMIT) : [],
    findRows(db, tables, text, LIMIT),
    findByName(db, text, LIMIT),
  ]
  return (await Promise.all(searches)).flat()
}

export function searchRoute(deps: SearchDeps): Route {
  return implement(operations.search, async (_call, _input, { q }) => {
    const text = q.trim()
    if (text.length === 0) return respond(operations.search, { data: [] })
    const [requests, hits] = await Promise.all([
      findRequestResult(deps, text),
      findHits(deps, text),
    ])
    const selected = hits.slice(0, LIMIT - requests.length)
    const owners = await customersOf(
      deps.db,
      selected.flatMap(({ scope }) => scope ?? []),
    )
    const results = selected.map((hit) => {
      const owner = hit.scope === null ? undefined : owners.get(hit.scope)
      const { customer = null, mode = null } = owner ?? {}
      const { type, id, label } = hit
      return { type, id, label, customer, mode, href: hrefOf(hit, owner) }
    })
    return respond(operations.search, { data: [...requests, ...results] })
  })
}
