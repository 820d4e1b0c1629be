/**
 * kill -9 at random moments, with real processes and sockets: posts events, counts the deliveries
 * that arrive, and kills and restarts the service or the database server. Every acknowledged event
 * must arrive. The seed determines all random numbers, but not the exact moment of a kill.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bindChild } from '../rig/child-processes.ts'
import type { PostgresServer } from '../rig/postgres.ts'
import { booksOf } from './books.ts'

export const MAIN = fileURLToPath(
  new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url),
)

export interface ChaosOptions {
  readonly databaseUrl: string
  /** Becomes the first admin key of the empty database. */
  readonly key: string
  readonly seed: number
  readonly events: number
  /** Events before them, whose deliveries wait: the registrations are paused and behind. */
  readonly waiting?: number
  readonly kills: number
  /** Registrations of the same receiver, each of which gets every event. */
  readonly registrations: number
  /** Processes on the same database (PostgreSQL). */
  readonly nodes: number
  /** The server to stop or crash, and restart, in place of a third of the kills. */
  readonly server?: Pick<PostgresServer, 'halt' | 'start'>
}

export interface ChaosResult {
  readonly acknowledged: number
  readonly expected: number
  readonly lost: number
  /** Arrivals beyond the first of each delivery. */
  readonly duplicates: number
  readonly kills: number
  /** Kills of the database server. */
  readonly restarts: number
  /**
   * The most duplicates that the kills can cause: deliveries that were open at the receiver at each
   * kill, or whose result may not have been committed; of a process at most `RESENT_MAX`.
   */
  readonly inFlight: number
}

/** The longest time from a response to the commit of its result, where processes wait for cores. */
const UNWRITTEN_MS = 1_000
/** Attempts in flight to quick receivers, and results that are not committed, of one node. */
export const RESENT_MAX = 256
/** Events that are acknowledged between two kills, so that each one meets nodes that work. */
const POSTS_MIN = 20
/** The same for deliveries of a backlog that arrive. */
const ARRIVALS_MIN = 500
/** Commits of this time can be lost in a crash of PostgreSQL: three rounds of its WAL writer. */
const UNFLUSHED_MS = 1_000

export interface Node {
  readonly child: ChildProcess
  readonly url: string
}

/** Returns a seeded generator (mulberry32) of numbers from 0 up to 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface NodeOptions extends Pick<ChaosOptions, 'databaseUrl' | 'key'> {
  /** The folder of the service; default: the reference service. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
}

export function startNode({ databaseUrl, key, folder, env }: NodeOptions): Promise<Node> {
  const place = folder === undefined ? [] : [folder]
  const args = [MAIN, 'start', ...place, '--port', '0', '--no-seed']
  const started = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH ?? '',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_BOOTSTRAP_KEY: key,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEHOOK_WEBHOOK_SCHEDULE_S: '1,1,1,1,1,1,1,1,1',
      GATEHOOK_DELIVERY_RATE: '0',
      GATEHOOK_RATE_LIMIT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const child = bindChild(started)
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('a node ended before it listened')))
    createInterface({ input: child.stdout! }).on('line', (text) => {
      const line = JSON.parse(text)
      if (line.msg === 'listening') resolve({ child, url: String(line.url) })
    })
  })
}

export const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })

/** Opens a receiver that fails 2 % of requests and counts the others by delivery. */
export async function openReceiver(random: () => number) {
  const arrivals = new Map<string, number>()
  const delivered = new Map<string, Set<string>>()
  /** By registration: open requests, and when the receiver responded to recent ones. */
  const recent = new Map<string, { open: number; respondedAt: number[] }>()
  const server = createServer((request, response) => {
    const registration = request.url ?? ''
    const counts = recent.get(registration) ?? { open: 0, respondedAt: [] }
    recent.set(registration, counts)
    counts.open += 1
    response.once('close', () => {
      counts.open -= 1
      counts.respondedAt.push(performance.now())
    })
    request.resume().once('end', () => {
      const delivery = String(request.headers['gatehook-delivery'])
      const event = String(request.headers['webhook-id'])
      if (request.headers['gatehook-event'] === 'webhook.ping') return response.end()
      if (random() < 0.02) return response.writeHead(500).end()
      arrivals.set(delivery, (arrivals.get(delivery) ?? 0) + 1)
      const deliveries = delivered.get(event) ?? new Set()
      delivered.set(event, deliveries.add(delivery))
      setTimeout(() => response.end(), random() * 5)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    delivered,
    /** Counts the deliveries whose results a kill can lose now. */
    countAtRisk(target: 'process' | 'server') {
      const now = performance.now()
      const [lastMs, most] =
        target === 'server' ? [UNFLUSHED_MS, Number.POSITIVE_INFINITY] : [UNWRITTEN_MS, RESENT_MAX]
      let atRisk = 0
      for (const counts of recent.values()) {
        counts.respondedAt = counts.respondedAt.filter((at) => at >= now - UNFLUSHED_MS)
        const unwritten = counts.respondedAt.filter((at) => at >= now - lastMs).length
        atRisk += counts.open + unwritten
      }
      return Math.min(most, atRisk)
    },
    /** Counts the arrivals beyond the first of each delivery. */
    countDoubled: () => arrivals.values().reduce((sum, count) => sum + count - 1, 0),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Lets the next deliveries of all registrations wait in their events. */
async function beginBacklogs(url: string): Promise<void> {
  const change = booksOf(url, false)
  for (const table of ['gh_webhooks', 'gh_webhook_topics']) {
    await change(`UPDATE ${table} SET backlog = 1`)
  }
}

/** Runs the test and returns its counts. `report` receives a line after each kill. */
export async function chaos(
  options: ChaosOptions,
  report: (line: string) => void = () => {},
): Promise<ChaosResult> {
  const random = seeded(options.seed)
  const receiver = await openReceiver(random)
  const nodes: Node[] = []
  for (let n = 0; n < options.nodes; n++) nodes.push(await startNode(options))
  const headers = { 'x-api-key': options.key, 'content-type': 'application/json' }
  const send = (path: string, body: unknown, method = 'POST') =>
    fetch(nodes[Math.floor(random() * nodes.length)]!.url + path, {
      method,
      headers,
      body: JSON.stringify(body),
    })
  const webhooks: string[] = []
  for (let n = 0; n < options.registrations; n++) {
    const response = await send('/webhooks', { url: `${receiver.url}/${n}`, events: ['payment.*'] })
    if (response.status !== 201) throw new Error(`no registration: ${await response.text()}`)
    webhooks.push(((await response.json()) as { id: string }).id)
  }
  const acknowledged = new Set<string>()
  let hasFailed = false
  let isPosting = true
  /** Posts until `count` requests got a response, however long a node takes to restart. */
  const poster = async (count: number) => {
    for (let n = 0; n < count && !hasFailed; ) {
      try {
        const response = await send('/events', { type: 'payment.succeeded', object: { id: n } })
        n += 1
        if (response.status === 201)
          acknowledged.add(((await response.json()) as { id: string }).id)
        else await response.body?.cancel().then(() => pause(20)) // the database is unavailable
      } catch {
        await pause(20) // the kill of its node leaves open whether the event was committed
      }
    }
  }
  const postAll = (events: number) =>
    Promise.all(Array.from({ length: 8 }, () => poster(Math.ceil(events / 8))))
  if (options.waiting !== undefined) {
    const activate = (active: boolean) =>
      Promise.all(webhooks.map((id) => send(`/webhooks/${id}`, { active }, 'PATCH')))
    await activate(false)
    await beginBacklogs(options.databaseUrl)
    await postAll(options.waiting)
    await activate(true)
  }
  let inFlight = 0
  let restarts = 0
  const killNode = async () => {
    const at = Math.floor(random() * nodes.length)
    const { child } = nodes[at]!
    child.kill('SIGKILL')
    await ended(child)
    nodes[at] = await startNode(options)
  }
  const restart = async (server: NonNullable<ChaosOptions['server']>) => {
    restarts += 1
    await server.halt(random() < 0.5 ? 'fast' : 'immediate')
    await pause(random() * 500)
    await server.start()
  }
  const killer = async () => {
    for (let kill = 1; kill <= options.kills; kill++) {
      const least = acknowledged.size + POSTS_MIN
      const { waiting = 0, registrations } = options
      const arrivedLeast = Math.min(receiver.arrivals.size + ARRIVALS_MIN, waiting * registrations)
      await pause(200 + random() * 800)
      while (isPosting && acknowledged.size < least) await pause(20)
      // The deliveries of a failed node move to another one after ten seconds.
      while (receiver.arrivals.size < arrivedLeast) await pause(20)
      const server = random() < 1 / 3 ? options.server : undefined
      inFlight += receiver.countAtRisk(server ? 'server' : 'process')
      await (server ? restart(server) : killNode())
      report(`kill ${kill} of ${options.kills}: ${acknowledged.size} acknowledged`)
    }
  }
  const killing = killer().catch((error: unknown) => {
    hasFailed = true
    throw error
  })
  const posting = async () => {
    await postAll(options.events)
    isPosting = false
  }
  await Promise.all([killing, posting()])
  const arrived = () => {
    let count = 0
    for (const event of acknowledged) count += receiver.delivered.get(event)?.size ?? 0
    return count
  }
  const expected = acknowledged.size * options.registrations
  const untilMs = performance.now() + 60_000
  while (arrived() < expected && performance.now() < untilMs) await pause(50)
  const lost = expected - arrived()
  for (const { child } of nodes) child.kill('SIGTERM')
  await Promise.all(nodes.map(({ child }) => ended(child)))
  receiver.close()
  return {
    acknowledged: acknowledged.size,
    expected,
    lost,
    duplicates: receiver.countDoubled(),
    kills: options.kills,
    restarts,
    inFlight,
  }
}
