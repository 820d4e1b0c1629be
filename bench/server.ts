/**
 * A contender as a process of its own: started on its core, found by the URL it prints, its CPU
 * time and memory read from the kernel. Knows nothing of rows.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, truncateSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Command {
  /** Arguments of `node`. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface Server {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** User and system time of all threads so far, microseconds; undefined where the OS hides it. */
  cpuMicros(): number | undefined
  /** Resident memory; undefined where the OS hides it. */
  rssBytes(): number | undefined
  /** Memory that the process has allocated, without pages of files; undefined where hidden. */
  allocatedBytes(): number | undefined
  /** Log lines so far are thrown away, or a long run would fill the disk. */
  trimLog(): void
  /** Gives the exit code; null when the signal ended it. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

const START_LIMIT_MS = 120_000
const END_LIMIT_MS = 20_000
/** What `times(2)` counts in; 100 a second on every Linux Node runs on. */
const TICK_MICROS = 10_000

/** No contender outlives the bench, however that ends. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

/** `node` with `args`, bound to a core where the system can; the process id is node's own. */
export function pinned(core: number | undefined, args: readonly string[]): [string, string[]] {
  if (!canPin || core === undefined) return [process.execPath, [...args]]
  return ['taskset', ['-c', String(core), process.execPath, ...args]]
}

/**
 * Resolves once the process has printed a JSON line with `url`. Its output goes to `logFile`, not a
 * pipe: a reader would share the cores. Throws with the log's end when it exits before.
 */
export async function startServer(
  { args, env }: Command,
  logFile: string,
  core: number | undefined,
): Promise<Server> {
  const log = openSync(logFile, 'a')
  truncateSync(logFile)
  const [file, argv] = pinned(core, args)
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, argv, { stdio: ['ignore', log, log], env: { PATH, HOME, ...env } })
  closeSync(log)
  running.add(child)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.once('exit', () => running.delete(child))
  try {
    const url = await announced(child, logFile)
    return serverOf(child, ended, url, logFile)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

function serverOf(
  child: ChildProcess,
  ended: Promise<number | null>,
  url: string,
  logFile: string,
): Server {
  const pid = child.pid!
  return {
    url,
    port: Number(new URL(url).port),
    pid,
    cpuMicros() {
      // The name in parentheses may hold spaces; the numbers start behind it.
      const stat = procFile(pid, 'stat')?.split(') ')[1]?.split(' ')
      return stat && (Number(stat[11]) + Number(stat[12])) * TICK_MICROS
    },
    rssBytes: () => statusBytes(pid, 'VmRSS'),
    allocatedBytes: () => statusBytes(pid, 'RssAnon'),
    trimLog: () => truncateSync(logFile),
    async end(signal) {
      child.kill(signal)
      const late = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS)
      const code = await ended
      clearTimeout(late)
      return code
    },
  }
}

function statusBytes(pid: number, name: string): number | undefined {
  const line = new RegExp(`${name}:\\s+(\\d+) kB`).exec(procFile(pid, 'status') ?? '')
  return line ? Number(line[1]) * 1024 : undefined
}

function procFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

async function announced(child: ChildProcess, logFile: string): Promise<string> {
  let failed: Error | undefined
  child.once('error', (error) => {
    failed = error
  })
  const limit = performance.now() + START_LIMIT_MS
  while (performance.now() < limit) {
    const text = readFileSync(logFile, 'utf8')
    const url = urlIn(text)
    if (url !== undefined) return url
    if (failed) throw failed
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`ended before it printed its URL: ${text.trim().slice(-400) || 'no output'}`)
    }
    await sleep(2)
  }
  throw new Error('printed no URL in time')
}

function urlIn(text: string): string | undefined {
  for (const line of text.split('\n').slice(0, -1)) {
    if (!line.startsWith('{') || !line.includes('"url"')) continue
    const { url } = JSON.parse(line) as { url?: unknown }
    if (typeof url === 'string' && /^http:\/\/127\.0\.0\.1:\d+/.test(url)) return url
  }
  return undefined
}
