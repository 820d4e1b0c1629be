/**
 * kill -9 at random moments, over real processes and sockets: events are posted, receivers count,
 * the process that serves and delivers is killed and started again, or the database's server is.
 * What was acknowledged has to arrive. Everything random follows from the seed; when exactly a
 * kill lands does not.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { PostgresServer } from '../rig/postgres.ts'

const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))

/** An API key in its right form: the first admin key of an empty database. */
export interface ChaosOptions {
  readonly databaseUrl: string
  readonly key: string
  readonly seed: number
  readonly events: number
  readonly kills: number
  /** Registrations of the same receiver, each of which gets every event. */
  readonly registrations: number
  /** Processes on the same database (PostgreSQL). */
  readonly nodes: number
  /** Ended, in order or by a crash, and started again, in place of a third of the kills. */
  readonly server?: Pick<PostgresServer, 'halt' | 'start'>
}

export interface ChaosResult {
  readonly acknowledged: number
  readonly expected: number
  readonly lost: number
  /** Arrivals beyond the first of each delivery. */
  readonly duplicates: number
  readonly kills: number
  /** Of these, how often it was the database's server. */
  readonly restarts: number
  /**
   * The most the kills can have made sent twice: what was in flight when each came, that is open at
   * the receiver, or answered so shortly before that the result may not have been committed. For
   * each registration that is no more than may be in flight (§9.7).
   */
  readonly underWay: number
}

/** From an answer to the commit of its result, however busy the machine is. */
const UNWRITTEN_MS = 250
const IN_FLIGHT_MAX = 20
/** Of PostgreSQL when it crashes: three rounds of its WAL writer, and room. */
const UNFLUSHED_MS = 1_000

interface Node {
  readonly child: ChildProcess
  readonly url: string
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function startNode({ databaseUrl, key }: ChaosOptions): Promise<Node> {
  const child = spawn(process.execPath, [MAIN, 'start', '--port', '0', '--no-seed'], {
    env: {
      PATH: process.env.PATH ?? '',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_BOOTSTRAP_KEY: key,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEHOOK_WEBHOOK_SCHEDULE_S: '1,1,1,1,1,1,1,1,1',
      GATEHOOK_DELIVERY_RATE: '0',
      GATEHOOK_RATE_LIMIT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('a node ended before it listened')))
    createInterface({ input: child.stdout! }).on('line', (text) => {
      const line = JSON.parse(text)
      if (line.msg === 'listening') resolve({ child, url: String(line.url) })
    })
  })
}

const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })

/** A receiver that answers most of the time, and counts by delivery. */
async function openReceiver(random: () => number) {
  const arrivals = new Map<string, number>()
  const delivered = new Map<string, Set<string>>()
  /** By registration, deliveries that are open, and when others were answered lately. */
  const lately = new Map<string, { open: number; answered: number[] }>()
  const server = createServer((request, response) => {
    const registration = request.url ?? ''
    const mine = lately.get(registration) ?? { open: 0, answered: [] }
    lately.set(registration, mine)
    mine.open += 1
    response.once('close', () => {
      mine.open -= 1
      mine.answered.push(performance.now())
    })
    request.resume().once('end', () => {
      const delivery = String(request.headers['gatehook-delivery'])
      const event = String(request.headers['webhook-id'])
      if (request.headers['gatehook-event'] === 'webhook.ping') return response.end()
      if (random() < 0.02) return response.writeHead(500).end()
      arrivals.set(delivery, (arrivals.get(delivery) ?? 0) + 1)
      const whose = delivered.get(event) ?? new Set()
      delivered.set(event, whose.add(delivery))
      setTimeout(() => response.end(), random() * 5)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    delivered,
    /** Deliveries whose results are lost with who ends now: a process, or the database server. */
    atRisk(ends: 'process' | 'server') {
      const now = performance.now()
      const [lastMs, most] =
        ends === 'server' ? [UNFLUSHED_MS, Number.POSITIVE_INFINITY] : [UNWRITTEN_MS, IN_FLIGHT_MAX]
      let all = 0
      for (const mine of lately.values()) {
        mine.answered = mine.answered.filter((at) => at >= now - UNFLUSHED_MS)
        const answered = mine.answered.filter((at) => at >= now - lastMs).length
        all += Math.min(most, mine.open + answered)
      }
      return all
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Runs it all; the caller judges. `say` hears how it goes. */
export async function chaos(
  options: ChaosOptions,
  say: (line: string) => void = () => {},
): Promise<ChaosResult> {
  const random = seeded(options.seed)
  const receiver = await openReceiver(random)
  const nodes: Node[] = []
  for (let n = 0; n < options.nodes; n++) nodes.push(await startNode(options))
  const headers = { 'x-api-key': options.key, 'content-type': 'application/json' }
  const post = (path: string, body: unknown) =>
    fetch(nodes[Math.floor(random() * nodes.length)]!.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
  for (let n = 0; n < options.registrations; n++) {
    const made = await post('/webhooks', { url: `${receiver.url}/${n}`, events: ['payment.*'] })
    if (made.status !== 201) throw new Error(`a registration was refused: ${await made.text()}`)
    await made.body?.cancel()
  }
  const acknowledged = new Set<string>()
  const unsure = { posts: 0 }
  const poster = async (count: number) => {
    for (let n = 0; n < count; n++) {
      try {
        const answer = await post('/events', { type: 'payment.succeeded', object: { id: n } })
        if (answer.status === 201) acknowledged.add(((await answer.json()) as { id: string }).id)
        else await answer.body?.cancel().then(() => pause(20)) // the database is away
      } catch {
        unsure.posts += 1 // its node was killed: it may or may not be there
        await pause(20)
      }
    }
  }
  let underWay = 0
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
      await pause(200 + random() * 800)
      const server = random() < 1 / 3 ? options.server : undefined
      underWay += receiver.atRisk(server ? 'server' : 'process')
      await (server ? restart(server) : killNode())
      say(`kill ${kill} of ${options.kills}: ${acknowledged.size} acknowledged`)
    }
  }
  const killing = killer()
  const posting = async () => {
    const each = Math.ceil(options.events / 8)
    await Promise.all(Array.from({ length: 8 }, () => poster(each)))
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
  let duplicates = 0
  for (const count of receiver.arrivals.values()) duplicates += count - 1
  return {
    ...{ acknowledged: acknowledged.size, expected, lost, duplicates, kills: options.kills },
    ...{ restarts, underWay },
  }
}
