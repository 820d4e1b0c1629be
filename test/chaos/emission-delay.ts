/**
 * §17.2 beside an old snapshot and a long transaction: the delay from the commit of the team's
 * transaction to the arrival of its event, at 100 events per second, before and beside them. The
 * snapshot is as old as the events that are emitted and delivered meanwhile: 360,000 are an hour.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { queryAsAdmin } from '../rig/postgres.ts'
import { type EmissionStage, openEmissionStage } from './emission-stage.ts'
import { ended } from './kill.ts'

const PER_SECOND = 100
const MEASURED_SECONDS = 60
const CONNECTIONS = 8
/** Events that wait for their delivery while the snapshot ages. */
const BACKLOG_MAX = 4_000
const REPORT_EACH = 20_000
const EMIT =
  "SELECT gatehook.gatehook_emit('invoice.paid', jsonb_build_object('id', $1::text), 'default')"

interface Delays {
  readonly events: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly longestMs: number
}

export interface DelayResult {
  readonly before: Delays
  /** While the snapshot and the transaction are open. */
  readonly beside: Delays
  /** Events delivered since the snapshot was taken, and the seconds that took. */
  readonly aged: number
  readonly agedSeconds: number
  /** Transactions since the snapshot, and deleted rows that it retains. */
  readonly transactions: number
  readonly deadRows: number
  /** From the commit of the long transaction to the arrival of its event. */
  readonly lateMs: number
}

/** Counts the first arrival of each invoice. */
async function openReceiver() {
  const arrivals = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    response.end()
    const id = JSON.parse(Buffer.concat(parts).toString()).data?.object?.id
    if (id !== undefined && !arrivals.has(id)) arrivals.set(id, performance.now())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const arrivalOf = async (id: string): Promise<number> => {
    while (!arrivals.has(id)) await pause(5)
    return arrivals.get(id)!
  }
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, arrivals, arrivalOf, close }
}

type Receiver = Awaited<ReturnType<typeof openReceiver>>

function openApplication(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  return {
    /** Adds an invoice and its event; returns the time of the commit. */
    async pay(id: string): Promise<number> {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await client.query('INSERT INTO app.invoices VALUES ($1)', [id])
        await client.query(EMIT, [id])
        await client.query('COMMIT')
        return performance.now()
      } finally {
        client.release()
      }
    },
    end: () => pool.end(),
  }
}

type Application = ReturnType<typeof openApplication>

async function measure(app: Application, receiver: Receiver, name: string): Promise<Delays> {
  const pending: Promise<number>[] = []
  const delayOf = async (id: string) => {
    const committedMs = await app.pay(id)
    return (await receiver.arrivalOf(id)) - committedMs
  }
  const startMs = performance.now()
  const events = PER_SECOND * MEASURED_SECONDS
  for (let n = 0; n < events; n++) {
    await pause(Math.max(0, startMs + (n * 1000) / PER_SECOND - performance.now()))
    pending.push(delayOf(`${name}-${n}`))
  }
  const sorted = (await Promise.all(pending)).sort((a, b) => a - b)
  const at = (part: number) => Math.round(sorted[Math.ceil(events * part) - 1]!)
  return { events, medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1) }
}

/** Emits events as fast as they are delivered, and returns when all are. */
async function age(
  app: Application,
  { arrivals }: Receiver,
  events: number,
  report: (line: string) => void,
): Promise<void> {
  const before = arrivals.size
  let sent = 0
  const emitAll = async () => {
    while (sent < events) {
      if (sent - (arrivals.size - before) >= BACKLOG_MAX) {
        await pause(20)
        continue
      }
      sent += 1
      if (sent % REPORT_EACH === 0) report(`${sent} of ${events} events emitted`)
      await app.pay(`age-${sent}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, emitAll))
  while (arrivals.size - before < events) await pause(50)
}

async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

async function readAge({ server }: EmissionStage) {
  const [row] = await queryAsAdmin(
    server.url,
    `SELECT (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE usename = 'app_rw')::int
        AS transactions,
      (SELECT sum(n_dead_tup) FROM pg_stat_user_tables WHERE schemaname = 'gatehook')::int AS dead`,
  )
  return { transactions: row!.transactions as number, deadRows: row!.dead as number }
}

/** @param events - emitted and delivered between the snapshot and the second measurement */
export async function measureDelays(
  events: number,
  report: (line: string) => void = () => {},
): Promise<DelayResult> {
  await using closing = new AsyncDisposableStack()
  const stage = await openEmissionStage()
  closing.defer(stage.close)
  const receiver = await openReceiver()
  closing.defer(receiver.close)
  const nodes = [await stage.startNode(), await stage.startNode()]
  closing.defer(async () => {
    for (const { child } of nodes) child.kill('SIGKILL')
    await Promise.all(nodes.map(({ child }) => ended(child)))
  })
  await stage.register(nodes[0]!, receiver.url)
  const app = openApplication(stage.applicationUrl)
  closing.defer(app.end)
  const open = async () => {
    const client = await openClient(stage.applicationUrl)
    closing.defer(() => client.end())
    return client
  }
  const [reader, late] = [await open(), await open()]
  await measure(app, receiver, 'warm')
  const before = await measure(app, receiver, 'before')
  report(`before: ${JSON.stringify(before)}`)
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query('SELECT count(*) FROM app.invoices')
  await late.query('BEGIN')
  await late.query(EMIT, ['late'])
  const startMs = performance.now()
  await age(app, receiver, events, report)
  const agedSeconds = Math.round((performance.now() - startMs) / 1000)
  const beside = await measure(app, receiver, 'beside')
  report(`beside: ${JSON.stringify(beside)}`)
  const { transactions, deadRows } = await readAge(stage)
  await late.query('COMMIT')
  const committedMs = performance.now()
  const lateMs = Math.round((await receiver.arrivalOf('late')) - committedMs)
  return { before, beside, aged: events, agedSeconds, transactions, deadRows, lateMs }
}
