/**
 * Runs commands of the command line to their end. Commands share a process, `command-host.ts`,
 * which loads the program once for all files of a test process.
 */
import { type ChildProcess, type ChildProcessByStdio, fork, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import type { HostCommand } from './command-host.ts'

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const MAIN = fileOf('../../bin/gatehook.cjs')

export interface Place {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Standard input; empty without it. */
  readonly input?: string
  /** The user of a process of its own; default: that of the test. */
  readonly uid?: number
  /** Starts the process by a shell that waits for it, as npm does. */
  readonly shell?: boolean
}

export interface ProcessResult {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Returns the sentences of errors; a start writes them as lines of its JSON log. */
export const sentencesOf = ({ stderr }: Pick<ProcessResult, 'stderr'>): string[] =>
  stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('{') ? JSON.parse(line).msg : line.replace(/^error /, '')))

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const { PATH = '', NODE_COMPILE_CACHE } = process.env
/** Without the compile cache, a start takes three times as long. */
const INHERITED = { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }

/** Runs its arguments, without `exec`. */
const SHELL = ['sh', '-c', '"$0" "$@"; exit $?']

/** Starts a process with `env` only, without a developer's GATEHOOK_ variables. */
export function launch(args: readonly string[], { cwd, env, input, uid, shell }: Place): Child {
  const [program = '', ...words] = [...(shell ? SHELL : []), process.execPath, MAIN, ...args]
  const child = spawn(program, words, {
    cwd,
    env: { ...INHERITED, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid }),
  })
  child.stdin.on('error', () => undefined) // it may end before it reads
  child.stdin.end(input)
  return child
}

/** Collects the text of a stream. */
export async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

/** Resolves with the exit code of a process. */
export const exitOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))

/** Runs a command to its end, in a process of its own. */
export async function ownProcess(place: Place, ...args: string[]): Promise<ProcessResult> {
  const child = launch(args, place)
  const [exit, stdout, stderr] = await Promise.all([
    exitOf(child),
    textOf(child.stdout),
    textOf(child.stderr),
  ])
  return { exit, stdout, stderr }
}

let host: { readonly child: ChildProcess; readonly ended: Promise<never> } | undefined
let last: Promise<unknown> = Promise.resolve()

/** Starts the process of commands. It ends when this process ends, and does not extend it. */
function openHost() {
  const child = fork(fileOf('./command-host.ts'), {
    execArgv: ['--require', fileOf('../../bin/compile-cache.cjs')],
    env: INHERITED,
  })
  child.unref()
  const ended = exitOf(child).then((code) => {
    throw new Error(`the command host ended with ${code}`)
  })
  ended.catch(() => undefined) // a command that waits reports it
  return { child, ended }
}

async function inHost(command: HostCommand): Promise<ProcessResult> {
  host ??= openHost()
  const { child, ended } = host
  const result = new Promise<ProcessResult>((resolve) => {
    child.once('message', (message) => resolve(message as ProcessResult))
  })
  child.channel!.ref()
  child.send(command)
  try {
    return await Promise.race([result, ended])
  } finally {
    child.channel?.unref()
  }
}

/**
 * Runs a command to its end. Commands share one process, which takes a tenth of the time; one that
 * reads standard input, or that loads a project's own service, has a process of its own.
 */
export function gatehook(place: Place, ...args: string[]): Promise<ProcessResult> {
  const { cwd, env, input } = place
  const isOwn = input !== undefined || existsSync(join(cwd, 'service.ts'))
  if (isOwn) return ownProcess(place, ...args)
  const result = last.then(() => inHost({ args, cwd, env: { ...INHERITED, ...env } }))
  last = result.catch(() => undefined)
  return result
}

/** Creates a folder with an installation that no service has used. */
export async function installed(t: TestContext): Promise<Place> {
  const place = { cwd: emptyFolder(t) }
  await jsonOf(place, 'migrate')
  return place
}

/** Runs a command with `--json` and returns its output. Throws if the exit code is not 0. */
export async function jsonOf(place: Place, ...args: string[]) {
  const { exit, stdout, stderr } = await gatehook(place, ...args, '--json')
  if (exit !== 0) throw new Error(`exit ${exit}: ${stderr}`)
  return JSON.parse(stdout)
}
