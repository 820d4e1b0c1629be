/** Row 29: `POST /keys/verify` (§17.3) while the service answers 500 other requests per second. */
import { setTimeout as pause } from 'node:timers/promises'
import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { many, postJson } from '../oauth.ts'
import { firstUserId, get, post, USERS } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1000
const KEYS = 200
const PER_SECOND = 500
/** Of the other requests one in five adds an order. */
const WRITES_EACH = 5
const MOST_P99_MS = 2
const contender = gatehook({ users, own: 'verify' })

/** Each of many keys in turn, with a scope and a cost. */
async function verifications(url: string): Promise<BenchRequest[]> {
  const body = { name: 'Bench', scopes: ['users:read'] }
  const keys = await many(KEYS, () => postJson(`${url}/admin/keys`, body))
  return keys.map(({ key }) =>
    post('/keys/verify', { credential: key, scopes: ['users:read'], cost: 1 }),
  )
}

const checkActive = (_: BenchRequest, { body }: Sample) =>
  JSON.parse(body).active === true ? undefined : `not active: ${body}`

/** Sends requests at a constant rate, for any response time. */
async function others(url: string, signal: AbortSignal): Promise<void> {
  const first = await firstUserId(url)
  const order = post('/api/v2/orders', { user_id: first, amount: 500, currency: 'EUR' })
  const read = (n: number) => get(`${USERS}/${first + (n % users)}`)
  const send = async ({ method, target, headers, body }: BenchRequest) => {
    const type = { 'content-type': 'application/json' }
    const response = await fetch(url + target, {
      method,
      headers: { ...headers, ...(body !== undefined && type) },
      ...(body !== undefined && { body }),
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status}`)
  }
  const sent: Promise<void>[] = []
  const startMs = performance.now()
  for (let n = 0; !signal.aborted; n++) {
    await pause(Math.max(0, startMs + (n * 1000) / PER_SECOND - performance.now()))
    sent.push(send(n % WRITES_EACH === 0 ? order : read(n)))
  }
  await Promise.all(sent)
}

const side = (name: string, more: Partial<Side> = {}): Side => ({
  name,
  contender,
  requests: verifications,
  check: checkActive,
  ...more,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '29',
    title: 'verification of an API key for an application, alone and beside 500 requests/s',
    facts: { durability: 'FULL for orders', connections: 1, users },
    sides: [
      side('alone'),
      side(`beside ${PER_SECOND}/s`, { beside: others, mostP99Ms: MOST_P99_MS }),
    ],
    targets: [],
  },
]
