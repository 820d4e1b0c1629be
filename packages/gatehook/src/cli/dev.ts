/**
 * `gatehook dev`: `gatehook start`, restarted after each change of a source file. It watches
 * folders, because most editors replace a file when they save it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, resolve } from 'node:path'
import type { CommandSpec, Input } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { dim, writeText } from './output.ts'
import { findService } from './service-file.ts'
import { start } from './start.ts'

const SOURCE = /\.(?:[cm]?[jt]s|json)$/
/** Dependencies, and folders of tools: `.git`, `.cache`. */
const isIgnored = (name: string) => name === 'node_modules' || name.startsWith('.')
const FOLDERS_MAX = 1_000
/** Editors write several times for one save. */
const DEBOUNCE_MS = 50
/** After this time, a second signal ends the service without draining. */
const DRAIN_MS = 300

/** Lists a folder and its subfolders. Throws `UsageError` for more than 1,000. */
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

/** Calls `onChange` with the name of a changed source file, 50 ms after the last change. */
function watchSources(root: string, onChange: (name: string) => void): void {
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
      if (!watchers.has(folder)) watchers.set(folder, watch(folder, onEvent).on('error', ignore))
    }
  }
  const ignore = () => undefined // the folder was removed; `refresh` closes its watcher
  const onEvent = (event: string, file: string | null) => {
    const name = file ?? ''
    if (event === 'rename' && !SOURCE.test(name) && !isIgnored(name)) refresh()
    if (!SOURCE.test(name)) return
    clearTimeout(timer)
    timer = setTimeout(() => onChange(name), DEBOUNCE_MS)
  }
  refresh()
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const secondSignal = setTimeout(() => child.kill('SIGTERM'), DRAIN_MS)
  await exit
  clearTimeout(secondSignal)
}

/** Runs `gatehook start` with the same arguments in another process. */
function startService(): ChildProcess {
  const [program = '', , ...words] = process.argv.slice(1)
  const args = [...process.execArgv, program, 'start', ...words]
  return spawn(process.execPath, args, { stdio: 'inherit' })
}

async function run({ folder }: Input): Promise<number> {
  const { path, isDeclared } = findService(folder)
  if (!isDeclared) throw new UsageError(`There is no service.ts in ${resolve(folder)}.`)
  const report = (text: string) => writeText(process.stderr, `${dim(text)}\n`)
  let isRestarting = false
  let hasChanged = false
  let child = launch()

  function launch(): ChildProcess {
    const service = startService()
    service.once('exit', (code) => {
      if (!isRestarting && code !== 0) report('The service ended. It restarts after a change.')
    })
    return service
  }
  async function restart(name: string): Promise<void> {
    hasChanged = true
    if (isRestarting) return
    isRestarting = true
    report(`${name} changed`)
    while (hasChanged) {
      hasChanged = false
      await stop(child)
      child = launch()
    }
    isRestarting = false
  }

  watchSources(resolve(path, '..'), (name) => void restart(name))
  const signals = ['SIGINT', 'SIGTERM'] as const
  await Promise.race(signals.map((signal) => once(process, signal)))
  isRestarting = true
  await stop(child)
  process.exit(EXIT.ok) // open watchers prevent the exit
}

export const dev: CommandSpec = {
  ...start,
  name: 'dev [DIR]',
  summary: 'start, and restart when a source file changes',
  description:
    'Serves the API that DIR declares; restarts it after each change of a .ts, .js or .json file.',
  examples: [['gatehook dev', 'this folder, http://127.0.0.1:8787']],
  run,
}
