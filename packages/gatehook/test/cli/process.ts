/** Runs the command line in processes: one that ends, or one that serves until it is stopped. */
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
  /** Standard input; empty without it. */
  readonly input?: string
}

export interface ProcessResult {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** Creates an empty folder that the test removes at its end. */
export function emptyFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehook-cli-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const { PATH = '', NODE_COMPILE_CACHE } = process.env
/** Without the compile cache, a start takes three times as long. */
const INHERITED = { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }

/** Starts the process with `env` only, without a developer's GATEHOOK_ variables. */
function launch(args: readonly string[], { cwd, env, input }: Place): Child {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...INHERITED, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined) // it may end before it reads
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
export async function gatehook(place: Place, ...args: string[]): Promise<ProcessResult> {
  const child = launch(args, place)
  const [exit, stdout, stderr] = await Promise.all([
    exitOf(child),
    textOf(child.stdout),
    textOf(child.stderr),
  ])
  return { exit, stdout, stderr }
}

/** Runs a command with `--json` and returns its output. Throws if the exit code is not 0. */
export async function jsonOf(place: Place, ...args: string[]) {
  const { exit, stdout, stderr } = await gatehook(place, ...args, '--json')
  if (exit !== 0) throw new Error(`exit ${exit}: ${stderr}`)
  return JSON.parse(stdout)
}

type Line = Record<string, unknown>

export interface Running {
  /** Lines of standard output so far, parsed. */
  readonly lines: readonly Line[]
  /** Resolves with the first matching line. Rejects with the output if the process ends first. */
  line(matches: (line: Line) => boolean): Promise<Line>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<ProcessResult>
}

/** Starts a process that runs until `kill`. The test kills it at its end. */
export function launched(t: TestContext, place: Place, ...args: string[]): Running {
  const child = launch(args, place)
  t.after(() => void child.kill('SIGKILL'))
  const stderr = textOf(child.stderr)
  const lines: Line[] = []
  const texts: string[] = []
  const searches = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    texts.push(text)
    lines.push(JSON.parse(text))
    for (const search of searches) search()
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
    line: (matches) =>
      new Promise((resolve, reject) => {
        const search = () => {
          const match = lines.find(matches)
          if (match) resolve(match)
        }
        searches.add(search)
        search()
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
