/** The databases of row 12 with default durability, and their CPU time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../../test/rig/postgres.ts'

export interface Server {
  readonly address: string
  /** CPU time of all its processes, microseconds; undefined if the OS does not report it. */
  cpuMicros(): number | undefined
  /** Prepares the filled database for the measurement: statistics, checkpoint. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** A database within the measured process. */
export async function fileServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-bench-'))
  return {
    address: `sqlite:${join(folder, 'gatehook.db')}`,
    cpuMicros: () => 0,
    async settle() {},
    stop: () => rm(folder, { recursive: true, force: true }),
  }
}

export async function postgresServer(): Promise<Server> {
  const server = await startPostgres([])
  const pid = server.pid()
  return {
    address: server.url,
    cpuMicros: () => cpuOf(pid),
    async settle() {
      const client = new pg.Client(server.url)
      await client.connect()
      await client.query('VACUUM ANALYZE')
      await client.query('CHECKPOINT')
      await client.end()
    },
    stop: server.stop,
  }
}

/** Starts Redis on a Unix socket, which is faster than TCP. */
export async function redisServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-bench-'))
  const address = join(folder, 'redis.sock')
  const words = ['--port', '0', '--unixsocket', address, '--dir', folder]
  const child = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    if (/ready to accept connections/i.test((output += text))) break
  }
  if (child.exitCode !== null) throw new Error(`redis-server did not start:\n${output}`)
  return {
    address,
    cpuMicros: () => cpuOf(child.pid!),
    async settle() {},
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Unit of `times(2)`: 100 per second on Linux. */
const TICK_MICROS = 10_000

/** Returns user and system time of a process, its children and its ended children. */
function cpuOf(parent: number): number | undefined {
  if (!existsSync('/proc/self/stat')) return undefined
  let ticks = 0
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const isParent = Number(name) === parent
      if (!isParent && fields[1] !== parent) continue
      const [user, system, endedUser, endedSystem] = fields.slice(11, 15) as [
        ...[number, number, number, number],
      ]
      ticks += user + system + (isParent ? endedUser + endedSystem : 0)
    } catch {} // the process has ended
  }
  return ticks * TICK_MICROS
}
