/**
 * Row 21: a neighbour's p95 and the service's memory beside each attack, against quiet. Run by
 * `npm run bench:beside`; `--attack NAME`, `--database sqlite|postgres`, `--seconds N`, `--json`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { stopPostgres } from '../postgres.ts'
import type { Order } from './attacker.ts'
import { attacks } from './attacks.ts'
import { type DatabaseName, HTTPS, openWorld, type World } from './world.ts'

const REQUESTS_PER_SECOND = 60
const LOGIN_EVERY_MS = 500
const SETTLE_MS = 2_000
const MIB = 2 ** 20

interface Quality {
  readonly p95Ms: number
  readonly refused: number
  readonly requests: number
  readonly slowestLoginMs: number
  readonly refusedLogins: number
  readonly rssMb: number
}

export interface AttackResult {
  readonly database: DatabaseName
  readonly attack: string
  readonly quiet: Quality
  readonly beside: Quality
}

const p95 = (all: readonly number[]) => {
  const sorted = all.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN
}

/** Sends the quiet customer's requests at a steady rate, whatever the answers take. */
async function measure(world: World, seconds: number): Promise<Quality> {
  const { server, quietKeys, quietUserId, person } = world
  const [times, logins]: [number[], number[]] = [[], []]
  const pending: Promise<unknown>[] = []
  let [refused, refusedLogins, rss, n] = [0, 0, 0, 0]
  const timed = async (into: number[], path: string, init: RequestInit): Promise<boolean> => {
    const began = performance.now()
    const answer = await fetch(server.url + path, init).catch(() => undefined)
    await answer?.arrayBuffer()
    into.push(performance.now() - began)
    return answer?.ok === true
  }
  const request = async () => {
    const key = quietKeys[n++ % quietKeys.length]!
    const headers = { 'x-api-key': key, 'content-type': 'application/json', ...HTTPS }
    const order = { user_id: quietUserId, amount: 500, currency: 'EUR' }
    const post = { method: 'POST', headers, body: JSON.stringify(order) }
    const [path, init] = n % 2 ? ['/api/v2/users?limit=20', { headers }] : ['/api/v2/orders', post]
    if (!(await timed(times, path as string, init as RequestInit))) refused++
  }
  const login = async () => {
    const headers = { 'content-type': 'application/json', ...HTTPS }
    const from = { 'x-forwarded-for': '198.51.100.7' }
    const init = { method: 'POST', headers: { ...headers, ...from }, body: JSON.stringify(person) }
    if (!(await timed(logins, '/auth/login', init))) refusedLogins++
  }
  const until = performance.now() + seconds * 1000
  let nextLogin = performance.now()
  for (let next = performance.now(); next < until; next += 1000 / REQUESTS_PER_SECOND) {
    await pause(Math.max(0, next - performance.now()))
    pending.push(request())
    if (performance.now() >= nextLogin) {
      nextLogin += LOGIN_EVERY_MS
      pending.push(login())
    }
    rss = Math.max(rss, server.rssBytes() ?? 0)
  }
  await Promise.all(pending)
  return {
    p95Ms: p95(times),
    refused,
    requests: times.length,
    slowestLoginMs: Math.max(...logins),
    refusedLogins,
    rssMb: rss / MIB,
  }
}

async function besideAttack(world: World, attack: string, seconds: number): Promise<Quality> {
  const child = fork(new URL('attacker.ts', import.meta.url), { execArgv: [] })
  const { url, port } = world.server
  const order: Order = { attack, target: { url, port, noisyKeys: world.noisyKeys } }
  child.send(order)
  await once(child, 'message')
  await pause(SETTLE_MS)
  const result = await measure(world, seconds)
  const ended = once(child, 'message')
  child.send('stop' satisfies Order)
  await Promise.race([ended, pause(20_000)])
  child.kill()
  return result
}

export async function attackRows(
  databases: readonly DatabaseName[],
  names: readonly string[],
  seconds: number,
  progress: (line: string) => void,
): Promise<AttackResult[]> {
  const results: AttackResult[] = []
  for (const database of databases) {
    for (const attack of names) {
      // A process of its own for each attack, so that one's memory is not the next one's quiet.
      const world = await openWorld(database, progress)
      try {
        progress(`${database}: quiet, then beside ${attack}`)
        await measure(world, 2) // warm
        const quiet = await measure(world, seconds)
        const beside = await besideAttack(world, attack, seconds)
        results.push({ database, attack, quiet, beside })
      } finally {
        await world.end()
      }
    }
  }
  await stopPostgres()
  return results
}

export function printAttacks(results: readonly AttackResult[]): void {
  console.log('row 21, a neighbour beside each attack; targets: p95 ratio 2, memory +64 MB')
  const rows = results.map(({ database, attack, quiet, beside }) => ({
    database,
    attack,
    'quiet p95 ms': quiet.p95Ms.toFixed(1),
    'beside p95 ms': beside.p95Ms.toFixed(1),
    ratio: (beside.p95Ms / quiet.p95Ms).toFixed(2),
    'refused of': `${beside.refused}/${beside.requests}`,
    'slowest login ms': beside.slowestLoginMs.toFixed(0),
    'refused logins': beside.refusedLogins,
    'memory +MB': (beside.rssMb - quiet.rssMb).toFixed(0),
  }))
  console.table(rows)
}

export const attackNames = Object.keys(attacks)
