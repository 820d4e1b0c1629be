/**
 * Runs the real command line in real processes: one that ends, or one that serves until it is
 * told.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface Place {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Ended {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

type Child = ChildProcessByStdio<null, Readable, Readable>

/** An empty folder that goes with the test. */
export function emptyFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehook-cli-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Only what is given: a developer's own GATEHOOK_ variables stay out. */
const launch = (args: readonly string[], { cwd, env }: Place): Child =>
  spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

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

export interface Serving {
  readonly url: string
  /** Lines of standard output so far, parsed. */
  readonly lines: readonly Record<string, unknown>[]
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

/** Starts and resolves when it listens; throws what it printed when it ends before. */
export async function serving(t: TestContext, place: Place, ...args: string[]): Promise<Serving> {
  const child = launch(['start', '--port', '0', ...args], place)
  t.after(() => void child.kill('SIGKILL'))
  const stderr = textOf(child.stderr)
  const lines: Record<string, unknown>[] = []
  const texts: string[] = []
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      texts.push(text)
      const line = JSON.parse(text) as Record<string, unknown>
      lines.push(line)
      if (line.msg === 'listening') resolve(String(line.url))
    })
  })
  const ended = exitOf(child).then(async (exit) => ({
    exit,
    stdout: texts.join('\n'),
    stderr: await stderr,
  }))
  const early = ended.then(({ stdout, stderr }) => {
    throw new Error(`ended before it listened:\n${stdout}\n${stderr}`)
  })
  early.catch(() => undefined)
  const url = await Promise.race([listening, early])
  return { url, lines, kill: (signal) => void child.kill(signal), ended }
}
