/**
 * Row 21: the p95 of a neighbour and the memory of the service during each attack, against quiet.
 * `npm run bench:beside` runs it; `--attack NAME`, `--database sqlite|postgres`, `--seconds N`,
 * `--json`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { DatabaseName } from '../database.ts'
import type { Figure } from '../figures.ts'
import { stopPostgres } from '../postgres.ts'
import type { Server } from '../server.ts'
import { spread } from '../statistics.ts'
import type { Order } from './attacker.ts'
import { attacks, LARGE_DELETION } from './attacks.ts'
import { warmUp } from './warm-up.ts'
import { HTTPS, openWorld, type World } from './world.ts'

const REQUESTS_PER_SECOND = 60
const LOGIN_EVERY_MS = 500
const SETTLE_MS = 2_000
/** A request without a response after this time counts as refused. */
const ANSWER_LIMIT_MS = 15_000
const MIB = 2 ** 20

export interface Quality {
  readonly p95Ms: number
  readonly refused: number
  readonly requests: number
  readonly slowestLoginMs: number
  readonly refusedLogins: number
  /** The maximum, without pages of files, which are the system's cache. */
  readonly allocatedMb: number
  /** CPU of all threads of the service, in per cent of one core. */
  readonly cpuPercent: number
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

const KNOWN_ADDRESS = '198.51.100.7'
let newAddresses = 0
const newAddress = () => `2001:db8:${(++newAddresses).toString(16)}::7`

/** Sends the requests of the quiet customer at a constant rate, for any response time. */
export async function measure(world: World, server: Server, seconds: number): Promise<Quality> {
  const { quietKeys, quietUserId, person } = world
  const [times, logins]: [number[], number[]] = [[], []]
  const pending: Promise<unknown>[] = []
  let [refused, refusedLogins, allocated, n] = [0, 0, 0, 0]
  const timed = async (into: number[], path: string, init: RequestInit): Promise<boolean> => {
    const began = performance.now()
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
    const answer = await fetch(server.url + path, { ...init, signal }).catch(() => undefined)
    await answer?.arrayBuffer().catch(() => undefined)
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
  let addresses = 0
  // Alternates between a recognized address and a new one.
  const login = async () => {
    const headers = { 'content-type': 'application/json', ...HTTPS }
    const last = addresses++ % 2 === 0 ? KNOWN_ADDRESS : newAddress()
    const from = { 'x-forwarded-for': last }
    const init = { method: 'POST', headers: { ...headers, ...from }, body: JSON.stringify(person) }
    if (!(await timed(logins, '/auth/login', init))) refusedLogins++
  }
  const began = performance.now()
  const cpuBefore = server.cpuMicros() ?? 0
  const until = began + seconds * 1000
  let nextLogin = performance.now()
  for (let next = performance.now(); next < until; next += 1000 / REQUESTS_PER_SECOND) {
    await pause(Math.max(0, next - performance.now()))
    pending.push(request())
    if (performance.now() >= nextLogin) {
      nextLogin += LOGIN_EVERY_MS
      pending.push(login())
    }
    allocated = Math.max(allocated, server.allocatedBytes() ?? 0)
  }
  await Promise.all(pending)
  return {
    p95Ms: p95(times),
    refused,
    requests: times.length,
    slowestLoginMs: Math.max(...logins),
    refusedLogins,
    allocatedMb: allocated / MIB,
    cpuPercent: ((server.cpuMicros() ?? 0) - cpuBefore) / 10 / (performance.now() - began),
  }
}

async function besideAttack(
  world: World,
  server: Server,
  attack: string,
  seconds: number,
): Promise<Quality> {
  const child = fork(new URL('attacker.ts', import.meta.url), { execArgv: [] })
  try {
    const { url, port } = server
    const { noisyKeys, leavingId } = world
    const order: Order = { attack, target: { url, port, noisyKeys, leavingId } }
    child.send(order)
    await once(child, 'message')
    await pause(SETTLE_MS)
    const result = await measure(world, server, seconds)
    const ended = once(child, 'message')
    child.send('stop' satisfies Order)
    await Promise.race([ended, pause(ANSWER_LIMIT_MS, undefined, { ref: false })])
    return result
  } finally {
    child.kill()
  }
}

export async function attackRows(
  databases: readonly DatabaseName[],
  names: readonly string[],
  seconds: number,
  progress: (line: string) => void,
): Promise<AttackResult[]> {
  const results: AttackResult[] = []
  for (const database of databases) {
    const hasLeaving = names.includes(LARGE_DELETION)
    const world = await openWorld(database, { hasLeaving, progress })
    try {
      for (const [at, attack] of names.entries()) {
        // A new process for each attack, so that the memory of one does not count for the next.
        const server = await world.start()
        let exitCode: number | null = null
        try {
          const of = `${at + 1}/${names.length}`
          progress(`${database} ${of}: quiet for ${seconds} s, then beside ${attack}`)
          await warmUp(world, server)
          const quiet = await measure(world, server, seconds)
          const beside = await besideAttack(world, server, attack, seconds)
          const result = { database, attack, quiet, beside }
          results.push(result)
          progress(`${database} ${of}: ${attack}: ${JSON.stringify(rowOf(result))}`)
        } finally {
          exitCode = await server.end('SIGTERM')
        }
        if (exitCode !== 0) throw new Error(`${attack}: the service ended with ${exitCode}`)
      }
    } finally {
      world.end()
    }
  }
  await stopPostgres()
  return results
}

const rowOf = ({ database, attack, quiet, beside }: AttackResult) => ({
  database,
  attack,
  'quiet p95 ms': quiet.p95Ms.toFixed(1),
  'beside p95 ms': beside.p95Ms.toFixed(1),
  ratio: (beside.p95Ms / quiet.p95Ms).toFixed(2),
  'refused of': `${beside.refused}/${beside.requests}`,
  'slowest login ms': beside.slowestLoginMs.toFixed(0),
  'refused logins': beside.refusedLogins,
  'memory MB': `${quiet.allocatedMb.toFixed(0)} → ${beside.allocatedMb.toFixed(0)}`,
  'memory +MB': (beside.allocatedMb - quiet.allocatedMb).toFixed(0),
  'CPU %': `${quiet.cpuPercent.toFixed(0)} → ${beside.cpuPercent.toFixed(0)}`,
})

export function printAttacks(results: readonly AttackResult[]): void {
  console.log('row 21, a neighbour beside each attack; targets: p95 ratio 2, memory +64 MB')
  console.table(results.map(rowOf))
}

/** Returns the figures of row 21. */
export const attackFigures = (results: readonly AttackResult[]): Figure[] =>
  results.flatMap(({ database, attack, quiet, beside }) => {
    const common = { row: '21', title: 'a neighbour beside an attack', subject: attack, database }
    const ratio = beside.p95Ms / quiet.p95Ms
    const growth = beside.allocatedMb - quiet.allocatedMb
    return [
      { ...common, unit: 'ratio of p95', value: spread([ratio]), most: 2 },
      { ...common, unit: 'MB', value: spread([growth]), most: 64 },
    ]
  })

export const attackNames = Object.keys(attacks)
