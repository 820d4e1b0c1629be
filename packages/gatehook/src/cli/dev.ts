/**
 * `gatehook dev`: `gatehook start`, restarted whenever a source file of the folder changes. Folders
 * are watched, not files: most editors replace a file when they save it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, resolve } from 'node:path'
import type { CommandSpec, Input } from './command.ts'
import { findService } from './load.ts'
import { EXIT, UsageError } from './mistake.ts'
import { dim } from './output.ts'
import { start } from './start.ts'

const SOURCE = /\.(?:[cm]?[jt]s|json)$/
/** Dependencies, and folders of tools: `.git`, `.cache`. */
const isIgnored = (name: string) => name === 'node_modules' || name.startsWith('.')
const FOLDERS_MAX = 1_000
/** An editor that saves writes several times. */
const SETTLE_MS = 50
/** After it a second signal ends the service without waiting for requests in flight. */
const DRAIN_MS = 300

/** The folder and those below it; throws a `UsageError` where there are more than 1,000. */
function foldersOf(root: string): string[] {
  const folders = [root]
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || isIgnored(entry.name)) continue
      folders.push(join(folder, entry.name))
    }
    if (folders.length > FOLDERS_MAX) {
      throw new UsageError(`${root} has more than ${FOLDERS_MAX} folders. Name the project's own.`)
    }
  }
  return folders
}

/** Calls `changed` with the name of a source file after it and those saved with it settled. */
function watchSources(root: string, changed: (name: string) => void): void {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  const refresh = () => {
    const folders = new Set(foldersOf(root))
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue
      watcher.close()
      watchers.delete(folder)
    }
    for (const folder of folders) {
      if (!watchers.has(folder)) watchers.set(folder, watch(folder, noticed).on('error', lost))
    }
  }
  const lost = () => undefined // a folder that was removed; `refresh` lets go of it
  const noticed = (event: string, file: string | null) => {
    const name = file ?? ''
    if (event === 'rename' && !SOURCE.test(name) && !isIgnored(name)) refresh()
    if (!SOURCE.test(name)) return
    clearTimeout(timer)
    timer = setTimeout(() => changed(name), SETTLE_MS)
  }
  refresh()
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGTERM'), DRAIN_MS)
  await ended
  clearTimeout(impatience)
}

/** `gatehook start` with the same arguments, in a process of its own. */
function startService(): ChildProcess {
  const [program = '', , ...words] = process.argv.slice(1)
  const args = [...process.execArgv, program, 'start', ...words]
  return spawn(process.execPath, args, { stdio: 'inherit' })
}

async function run({ args }: Input): Promise<number> {
  const { file, declared } = findService(args[0] ?? '.')
  if (!declared) throw new UsageError(`There is no service.ts in ${resolve(args[0] ?? '.')}.`)
  const say = (text: string) => process.stderr.write(`${dim(text)}\n`)
  let restarting = false
  let again = false
  let child = launch()

  function launch(): ChildProcess {
    const launched = startService()
    launched.once('exit', (code) => {
      if (!restarting && code !== 0) say('The service ended. It starts again after a change.')
    })
    return launched
  }
  async function restart(name: string): Promise<void> {
    again = true
    if (restarting) return
    restarting = true
    say(`${name} changed`)
    while (again) {
      again = false
      await stop(child)
      child = launch()
    }
    restarting = false
  }

  watchSources(resolve(file, '..'), (name) => void restart(name))
  const signals = ['SIGINT', 'SIGTERM'] as const
  await Promise.race(signals.map((signal) => once(process, signal)))
  restarting = true
  await stop(child)
  process.exit(EXIT.fine) // the watchers would keep the process
}

export const dev: CommandSpec = {
  ...start,
  name: 'dev [DIR]',
  summary: 'start, and start again when a source file changes',
  description:
    'Serves the API that DIR declares; restarts it after each change of a .ts, .js or .json file.',
  examples: [['gatehook dev', 'this folder, http://127.0.0.1:8787']],
  run,
}
