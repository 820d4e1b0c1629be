/**
 * An installation that goes elsewhere under load, with real processes: a backup that is restored in
 * another folder, and a move to another database whose process is killed on the way. Every event
 * that was acknowledged must be there, and every delivery must arrive.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ended, MAIN, type Node, openReceiver, RESENT_MAX, seeded, startNode } from './kill.ts'

export interface RelocationOptions {
  readonly source: string
  readonly target: string
  /** Becomes the first admin key of the empty source. */
  readonly key: string
  readonly seed: number
  /** Events that the load posts before and during the relocation. */
  readonly events: number
  readonly registrations: number
}

export interface RelocationResult {
  readonly acknowledged: number
  /** Acknowledged events, or deliveries of them, that are missing. */
  readonly lost: number
  /** Arrivals beyond the first of each delivery. */
  readonly duplicates: number
  /** The most deliveries that can be in flight when the source stops. */
  readonly inFlight: number
  /** Kills of the process that moves. */
  readonly kills: number
}

const SECRET = 'a secret that only tests know, long enough'

function gatehook(databaseUrl: string, args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args, '--json'], {
    env: {
      ...env,
      PATH: process.env.PATH ?? '',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_SECRET_KEY: SECRET,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function requireSuccess(child: ChildProcess): Promise<void> {
  await ended(child)
  if (child.exitCode !== 0) throw new Error(`gatehook ended with ${child.exitCode}`)
}

/** Posts events with eight connections until `stop`, and collects those that were acknowledged. */
function postEvents(node: Node, key: string) {
  const acknowledged = new Set<string>()
  let isPosting = true
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'payment.succeeded', object: { id: 1 } })
  const poster = async () => {
    while (isPosting) {
      try {
        const response = await fetch(`${node.url}/events`, { method: 'POST', headers, body })
        const text = await response.text()
        if (response.status === 201) acknowledged.add((JSON.parse(text) as { id: string }).id)
        else await pause(20) // the source is read-only
      } catch {
        await pause(20) // the source has ended
      }
    }
  }
  const posting = Promise.all(Array.from({ length: 8 }, poster))
  return {
    acknowledged,
    async until(count: number) {
      while (acknowledged.size < count) await pause(20)
    },
    async stop() {
      isPosting = false
      await posting
    },
  }
}

async function register(node: Node, key: string, urls: readonly string[]): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  for (const url of urls) {
    const body = JSON.stringify({ url, events: ['payment.*'] })
    const response = await fetch(`${node.url}/webhooks`, { method: 'POST', headers, body })
    if (response.status !== 201) throw new Error(`no registration: ${await response.text()}`)
  }
}

/** Returns the ids of all events of the installation. */
async function eventIds(node: Node, key: string): Promise<Set<string>> {
  const ids = new Set<string>()
  let cursor = ''
  for (;;) {
    const response = await fetch(`${node.url}/events?limit=100${cursor}`, {
      headers: { 'x-api-key': key },
    })
    const page = (await response.json()) as { data: { id: string }[]; next_cursor: string | null }
    for (const { id } of page.data) ids.add(id)
    if (page.next_cursor === null) return ids
    cursor = `&cursor=${page.next_cursor}`
  }
}

type Load = ReturnType<typeof postEvents>
type Relocate = (load: Load, node: Node) => Promise<ReadonlySet<string>>

/** Runs the load on the source, relocates, and counts on the target. */
async function relocate(
  options: RelocationOptions,
  kills: () => number,
  run: Relocate,
  afterStart: () => Promise<void> = async () => {},
): Promise<RelocationResult> {
  const { source, target, key, registrations, seed } = options
  const receiver = await openReceiver(seeded(seed))
  const nodes: Node[] = []
  const start = async (databaseUrl: string) => {
    const node = await startNode({ databaseUrl, key })
    nodes.push(node)
    return node
  }
  let load: Load | undefined
  try {
    const first = await start(source)
    const urls = Array.from({ length: registrations }, (_, n) => `${receiver.url}/${n}`)
    await register(first, key, urls)
    load = postEvents(first, key)
    const expected = await run(load, first)
    const second = await start(target)
    await afterStart()
    const stored = await eventIds(second, key)
    const missing = [...expected].filter((id) => !stored.has(id)).length
    const arrived = () => [...expected].filter((id) => receiver.delivered.get(id)).length
    const untilMs = performance.now() + 60_000
    while (arrived() < expected.size && performance.now() < untilMs) await pause(50)
    return {
      acknowledged: expected.size,
      lost: missing + expected.size - arrived(),
      duplicates: receiver.countDoubled(),
      inFlight: RESENT_MAX,
      kills: kills(),
    }
  } finally {
    await load?.stop()
    for (const { child } of nodes) child.kill('SIGTERM')
    await Promise.all(nodes.map(({ child }) => ended(child)))
    receiver.close()
  }
}

/**
 * Backs up under load, kills the source and restores. Events that were acknowledged before the
 * backup began must be there; later deliveries are resent, so all may be duplicates.
 */
export function restoreUnderLoad(options: RelocationOptions, folder: string) {
  return relocate(
    options,
    () => 1,
    async (load, node) => {
      await load.until(options.events / 2)
      const expected = new Set(load.acknowledged)
      const file = join(folder, 'chaos.gatehook')
      await requireSuccess(gatehook(options.source, ['backup', file]))
      await load.until(load.acknowledged.size + options.events / 4)
      node.child.kill('SIGKILL')
      await ended(node.child)
      await load.stop()
      await requireSuccess(gatehook(options.target, ['restore', file]))
      await rm(file)
      return expected
    },
    // Restored data delivers nothing until an operator releases it (§18.5).
    () => requireSuccess(gatehook(options.target, ['restore', 'release'])),
  )
}

/** Moves under load, killing the process that moves at random moments until it has finished. */
export function moveUnderLoad(options: RelocationOptions) {
  const random = seeded(options.seed)
  let kills = 0
  return relocate(
    options,
    () => kills,
    async (load, node) => {
      await load.until(options.events)
      for (let limitMs = 800; ; limitMs *= 1.5) {
        const child = gatehook(options.source, ['move'], { GATEHOOK_MOVE_TO: options.target })
        const timer = setTimeout(() => child.kill('SIGKILL'), limitMs * (0.5 + random()))
        await ended(child)
        clearTimeout(timer)
        if (child.exitCode === 0) break
        if (child.signalCode !== 'SIGKILL') throw new Error(`move ended with ${child.exitCode}`)
        kills++
      }
      await load.stop()
      node.child.kill('SIGTERM')
      await ended(node.child)
      return load.acknowledged
    },
  )
}
