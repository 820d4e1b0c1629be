/**
 * §17.2 under kill -9: applications add rows and emit events in one transaction, while the test
 * kills applications, nodes and the database server at random moments. Afterwards each committed
 * row has one event that was delivered, and no event lacks its row.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { bindChild } from '../rig/child-processes.ts'
import { eventually } from '../rig/eventually.ts'
import type { PostgresServer } from '../rig/postgres.ts'
import { openEmissionStage } from './emission-stage.ts'
import { type Emitter, type EmitterName, installEmitters } from './emitters.ts'
import { ended, type Node, openReceiver, seeded } from './kill.ts'

export interface EmissionKillOptions {
  readonly seed: number
  readonly rounds: number
  /** Ends the rounds earlier. */
  readonly minutes: number
  /** The applications that emit. */
  readonly clients: readonly EmitterName[]
  /** Keeps the packages of the applications; default: a temporary folder. */
  readonly folder?: string | undefined
}

export interface EmissionKillResult {
  readonly seed: number
  readonly rounds: number
  /** Of each application, of nodes and of the server. */
  readonly kills: Readonly<Record<string, number>>
  /** Commits that each application saw. */
  readonly commits: Readonly<Record<string, number>>
  /** Ends of applications that no kill caused. */
  readonly ownEnds: number
  /** Committed rows, and those whose commit a client saw. */
  readonly committed: number
  readonly acknowledged: number
  /** Rows without a delivered event, and acknowledged commits without a row. */
  readonly lost: number
  /** Events without a row, and rows with two events. */
  readonly phantom: number
  /** Arrivals beyond the first of each delivery, and the most that the kills can cause. */
  readonly doubled: number
  readonly inFlight: number
  readonly seconds: number
}

const DELIVERED_WITHIN_MS = 600_000
const RESTART_MS = 100
const NODES = 2

/** Returns the application of an invoice. */
const nameOf = (id: string): string => id.split('-', 1)[0]!

function countBy(ids: Iterable<string>, keyOf: (id: string) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const id of ids) counts[keyOf(id)] = (counts[keyOf(id)] ?? 0) + 1
  return counts
}

/** Returns the rows of the team, and the invoice of each event. */
async function readBooks(server: PostgresServer) {
  const client = new pg.Client(server.url)
  await client.connect()
  try {
    const rows = await client.query('SELECT id FROM app.invoices')
    const events = await client.query('SELECT id, object FROM gatehook.gh_events')
    const invoices = new Map(events.rows.map(({ id, object }) => [id, JSON.parse(object).id]))
    return { committed: new Set<string>(rows.rows.map(({ id }) => id)), invoices }
  } finally {
    await client.end()
  }
}

/**
 * Applications that run, each under a new prefix after a kill. One that ends itself without a
 * database, as some drivers do, is started again, as a supervisor would.
 */
function openClients(emitters: readonly Emitter[], url: string) {
  const acknowledged = new Set<string>()
  let starts = 0
  let ownEnds = 0
  let isOver = false
  interface Application {
    readonly emitter: Emitter
    child: ChildProcess
  }
  const run = ({ name, folder, command: [program, ...args] }: Emitter) => {
    const words = [...args, url, `${name}-${++starts}`]
    const child = bindChild(spawn(program!, words, { cwd: folder }))
    child.stderr.on('data', (text) => process.stderr.write(text))
    createInterface({ input: child.stdout }).on('line', (id) => acknowledged.add(id))
    return child
  }
  const start = (application: Application) => {
    application.child = run(application.emitter)
    application.child.once('exit', async (code) => {
      if (code === null) return
      ownEnds += 1
      await pause(RESTART_MS)
      if (!isOver) start(application)
    })
  }
  const running = emitters.map((emitter) => {
    const application = { emitter } as Application
    start(application)
    return application
  })
  const stop = async ({ child }: Application) => {
    child.kill('SIGKILL')
    await ended(child)
  }
  return {
    acknowledged,
    ownEnds: () => ownEnds,
    /** Kills an application and starts it again; returns its name. */
    async kill(at: number): Promise<EmitterName> {
      const application = running[at]!
      const hasEnded = application.child.exitCode !== null
      await stop(application)
      if (!hasEnded) start(application)
      return application.emitter.name
    },
    async stop() {
      isOver = true
      await Promise.all(running.map(stop))
    },
  }
}

/** Nodes that run. One that ends is started again, as a supervisor would. */
async function openNodes(start: () => Promise<Node>) {
  const current: (Node | undefined)[] = []
  const starting: Promise<void>[] = []
  let isOver = false
  const startAgain = async (at: number): Promise<void> => {
    current[at] = undefined
    while (!isOver && !current[at]) {
      current[at] = await start().catch(() => undefined)
      if (!current[at]) await pause(RESTART_MS)
    }
    current[at]?.child.once('exit', () => {
      if (!isOver) starting[at] = startAgain(at)
    })
  }
  for (let at = 0; at < NODES; at++) starting[at] = startAgain(at)
  await Promise.all(starting)
  return {
    first: current[0]!,
    /** Kills the node of the position, or another one; waits for one that listens. */
    async kill(position: number): Promise<void> {
      await eventually(
        async () => current.some((node) => node !== undefined),
        (listens) => listens,
      )
      const { child } = (current[position] ?? current.find((node) => node !== undefined))!
      child.kill('SIGKILL')
      await ended(child)
    },
    async stop() {
      isOver = true
      await Promise.all(starting)
      for (const node of current) node?.child.kill('SIGTERM')
      for (const node of current) if (node) await ended(node.child)
    },
  }
}

/** Runs the rounds and returns the counts. `report` receives a line after some rounds. */
export async function killWhileEmitting(
  options: EmissionKillOptions,
  report: (line: string) => void = () => {},
): Promise<EmissionKillResult> {
  const { seed, rounds } = options
  const random = seeded(seed)
  const startMs = performance.now()
  await using closing = new AsyncDisposableStack()
  const stage = await openEmissionStage()
  closing.defer(stage.close)
  const { server } = stage
  const folder = options.folder ?? join(stage.folder, 'applications')
  const receiver = await openReceiver(seeded(seed + 1))
  closing.defer(() => receiver.close())
  const nodes = await openNodes(stage.startNode)
  closing.defer(nodes.stop)
  const emitters = await installEmitters(folder, options.clients)
  await stage.register(nodes.first, `${receiver.url}/0`)
  const clients = openClients(emitters, stage.applicationUrl)
  closing.defer(clients.stop)
  const kills: Record<string, number> = {}
  let inFlight = 0
  const untilMs = startMs + options.minutes * 60_000
  let round = 0
  while (round < rounds && performance.now() < untilMs) {
    round += 1
    await pause(50 + random() * 400)
    const target = (['client', 'node', 'server'] as const)[Math.floor(random() * 3)]!
    const place = random()
    const waits = random() * 200
    if (target !== 'client') {
      inFlight += receiver.countAtRisk(target === 'server' ? 'server' : 'process')
    }
    let killed: string = target
    if (target === 'server') {
      await server.halt('kill')
      await pause(waits)
      await server.start()
    } else if (target === 'node') {
      await nodes.kill(Math.floor(place * NODES))
    } else {
      killed = await clients.kill(Math.floor(place * emitters.length))
    }
    kills[killed] = (kills[killed] ?? 0) + 1
    if (round % 25 === 0) report(`round ${round}: ${clients.acknowledged.size} commits`)
  }
  await clients.stop()
  const books = await balance(server, receiver, clients.acknowledged)
  const { committed, lost, phantom } = books
  const { size: acknowledged } = clients.acknowledged
  const commits = countBy(clients.acknowledged, nameOf)
  const idle = options.clients.filter((name) => commits[name] === undefined)
  if (idle.length > 0) throw new Error(`no commit of ${idle.join(', ')}`)
  const doubled = receiver.countDoubled()
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const counts = { committed, acknowledged, lost, phantom, doubled, inFlight }
  return { seed, rounds: round, kills, commits, ownEnds: clients.ownEnds(), ...counts, seconds }
}

/** Compares rows, events and arrivals, until nothing is missing or the time is over. */
async function balance(
  server: PostgresServer,
  { delivered }: Awaited<ReturnType<typeof openReceiver>>,
  acknowledged: ReadonlySet<string>,
) {
  const untilMs = performance.now() + DELIVERED_WITHIN_MS
  for (;;) {
    const { committed, invoices } = await readBooks(server)
    const arrived = [...delivered.keys()].map((id) => invoices.get(id))
    const invoicesOfArrivals = new Set(arrived)
    const missing = [...committed].filter((id) => !invoicesOfArrivals.has(id)).length
    const forgotten = [...acknowledged].filter((id) => !committed.has(id)).length
    const without = [...invoices.values()].filter((id) => !committed.has(id)).length
    const twice = invoices.size - new Set(invoices.values()).size
    const unknown = arrived.filter((id) => id === undefined).length
    const lost = missing + forgotten
    if (lost === 0 || performance.now() >= untilMs) {
      return { committed: committed.size, lost, phantom: without + twice + unknown }
    }
    await pause(250)
  }
}
