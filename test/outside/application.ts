/** Applications of the guides: their folders, with frameworks and packages, and their processes. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanEnv } from '../docs/process.ts'
import { filesOf } from '../docs/snippets.ts'
import { bindChild } from '../rig/child-processes.ts'
import { type CleanupScope, onEnd } from '../rig/cleanup.ts'
import { eventually } from '../rig/eventually.ts'
import { freePort } from '../rig/postgres.ts'
import { environment, npm, output } from './stage.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Writes the files of a page below a folder: all, or those that `selects` accepts. */
export function writePage(
  folder: string,
  page: string,
  selects: (path: string) => boolean = () => true,
): void {
  for (const { path, text } of filesOf(readFileSync(join(ROOT, page), 'utf8'))) {
    if (!selects(path)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Installs the frameworks, and the packages of the checkout. */
export async function installFrameworks(folder: string): Promise<void> {
  cpSync(join(import.meta.dirname, 'frameworks'), folder, { recursive: true })
  await npm(folder, dirname(process.execPath), 'install')
  const modules = join(folder, 'node_modules')
  symlinkSync(join(ROOT, 'packages/gatehook'), join(modules, 'gatehook'))
  symlinkSync(join(ROOT, 'packages/client'), join(modules, 'gatehook-client'))
}

export const hasGo = spawnSync('go', ['version']).status === 0

/** Creates the environment `venv` of Python with the frameworks. */
export async function installPython(folder: string): Promise<void> {
  const run = (program: string, ...args: string[]) =>
    output(folder, environment(dirname(process.execPath)), program, ...args)
  await run('python3', '-m', 'venv', 'venv')
  const requirements = join(import.meta.dirname, 'frameworks/requirements.txt')
  await run('venv/bin/pip', 'install', '--quiet', '--requirement', requirements)
}

/** Returns the seconds since the call. */
export function startStopwatch(): () => number {
  const startMs = performance.now()
  return () => Math.round((performance.now() - startMs) / 1000)
}

/** Prints the stopwatch of a guide: the installation, which tests share, and the test until now. */
export const reportGuide = (t: TestContext, installedS: number, seconds: () => number): void =>
  t.diagnostic(
    `${installedS + seconds()} s from an empty folder, ${installedS} s of them to install`,
  )

export interface Application {
  readonly url: string
  /** Ends it with SIGTERM, and returns its exit code. */
  stop(): Promise<number | null>
}

/**
 * Starts a program that listens on `PORT`, and waits until it accepts connections.
 *
 * @param words The program and its arguments; an argument `PORT` is replaced by the port.
 */
export async function startApplication(
  t: CleanupScope,
  folder: string,
  words: readonly string[],
  environment: (url: string) => Readonly<Record<string, string>>,
): Promise<Application> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const [program = '', ...args] = words.map((word) => (word === 'PORT' ? String(port) : word))
  const printed: string[] = []
  const started: ChildProcess = spawn(program, args, {
    cwd: folder,
    env: { ...cleanEnv(), PORT: String(port), ...environment(url) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const child = bindChild(started)
  const exited = once(child, 'exit') as Promise<[number | null]>
  onEnd(t, async () => {
    child.kill('SIGKILL')
    await exited
  })
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk) => printed.push(String(chunk)))
  }
  const isListening = async () => {
    assert.equal(child.exitCode, null, printed.join(''))
    return fetch(url).then(
      () => true,
      () => false,
    )
  }
  await eventually(isListening, Boolean)
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      if (code !== 0) process.stderr.write(printed.join(''))
      return code
    },
  }
}
