/**
 * A contender as a process: started on its core, reached at the URL that it prints. Reads its CPU
 * time and memory from the kernel.
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
  /** User and system time of all threads, microseconds; undefined if the OS does not report it. */
  cpuMicros(): number | undefined
  /** Resident memory; undefined if the OS does not report it. */
  rssBytes(): number | undefined
  /** Allocated memory without pages of files; undefined if the OS does not report it. */
  allocatedBytes(): number | undefined
  /** Truncates the log, which would fill the disk in a long run. */
  trimLog(): void
  /** Resolves with the exit code; null if the signal ended the process. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

const START_LIMIT_MS = 120_000
const END_LIMIT_MS = 20_000
/** Unit of `times(2)`: 100 per second on Linux. */
const TICK_MICROS = 10_000

/** Contenders to kill when the bench exits. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

let profileArgs: readonly string[] = []

/** Servers that end by SIGTERM from now on write CPU profiles of their threads to a folder. */
export function writeProfiles(folder: string): void {
  profileArgs = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
}

/** The signal that ends a server after its row. Without profiles, rows prove durability by it. */
export const endSignal = (): 'SIGTERM' | 'SIGKILL' =>
  profileArgs.length > 0 ? 'SIGTERM' : 'SIGKILL'

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

/** Returns the command that runs `node` with `args`, pinned to a core if `taskset` exists. */
export function pinnedCommand(
  core: number | undefined,
  args: readonly string[],
): [string, string[]] {
  if (!canPin || core === undefined) return [process.execPath, [...args]]
  return ['taskset', ['-c', String(core), process.execPath, ...args]]
}

/**
 * Starts a process and waits for its JSON line with `url`. Its output goes to `logFile`: the reader
 * of a pipe would share the cores. Throws with the end of the log if the process exits first.
 */
export async function startServer(
  { args, env }: Command,
  logFile: string,
  core: number | undefined,
): Promise<Server> {
  const log = openSync(logFile, 'a')
  truncateSync(logFile)
  const [file, argv] = pinnedCommand(core, [...profileArgs, ...args])
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, argv, { stdio: ['ignore', log, log], env: { PATH, HOME, ...env } })
  closeSync(log)
  running.add(child)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.once('exit', () => running.delete(child))
  try {
    const url = await waitForUrl(child, logFile)
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
      // The name in parentheses may contain spaces; the numbers follow it.
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

async function waitForUrl(child: ChildProcess, logFile: string): Promise<string> {
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
