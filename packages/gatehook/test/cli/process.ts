/**
 * Runs the real command line in real processes: one that ends, or one that serves until it is
 * told.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../bin/gatehook.cjs', import.meta.url))

export interface Place {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** What it reads on standard input; nothing without it. */
  readonly input?: string
}

export interface Ended {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** An empty folder that goes with the test. */
export function emptyFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehook-cli-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const { PATH = '', NODE_COMPILE_CACHE } = process.env
/** Without the cache, a start takes three times as long. */
const INHERITED = { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }

/** Only what is given: a developer's own GATEHOOK_ variables stay out. */
function launch(args: readonly string[], { cwd, env, input }: Place): Child {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...INHERITED, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined) // it may end without having read
  child.stdin.end(input)
  return child
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

const exitOf = (child: Child) =>
  new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))

/** Runs a command to its end. */
export async function gatehook(place: Place, ...args: string[]): Promise<Ended> {
  const child = launch(args, place)
  const [exit, stdout, stderr] = await Promise.all([
    exitOf(child),
    textOf(child.stdout),
    textOf(child.stderr),
  ])
  return { exit, stdout, stderr }
}

/** Runs a command with `--json` and gives what it printed; throws when it did not end with 0. */
export async function jsonOf(place: Place, ...args: string[]) {
  const { exit, stdout, stderr } = await gatehook(place, ...args, '--json')
  if (exit !== 0) throw new Error(`exit ${exit}: ${stderr}`)
  return JSON.parse(stdout)
}

type Line = Record<string, unknown>

export interface Running {
  /** Lines of standard output so far, parsed. */
  readonly lines: readonly Line[]
  /** The first line that is `wanted`; throws what was printed when the process ends before. */
  line(wanted: (line: Line) => boolean): Promise<Line>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

/** A process that goes on until it is told; killed when the test ends. */
export function launched(t: TestContext, place: Place, ...args: string[]): Running {
  const child = launch(args, place)
  t.after(() => void child.kill('SIGKILL'))
  const stderr = textOf(child.stderr)
  const lines: Line[] = []
  const texts: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    texts.push(text)
    lines.push(JSON.parse(text))
    for (const look of waiting) look()
  })
  const ended = exitOf(child).then(async (exit) => ({
    exit,
    stdout: texts.join('\n'),
    stderr: await stderr,
  }))
  return {
    lines,
    ended,
    kill: (signal) => void child.kill(signal),
    line: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find(wanted)
          if (found) resolve(found)
        }
        waiting.add(look)
        look()
        ended.then((end) => reject(new Error(`ended before:\n${end.stdout}\n${end.stderr}`)))
      }),
  }
}

/** Starts the service and resolves when it listens. */
export async function serving(t: TestContext, place: Place, ...args: string[]) {
  const run = launched(t, place, 'start', '--port', '0', ...args)
  const { url } = await run.line(({ msg }) => msg === 'listening')
  return { ...run, url: String(url) }
}
