/**
 * A machine as "One server" of `docs/guides/operations.md` sets it up: folders, `gatehook` and
 * `systemctl`. It executes the commands of a runbook in their order, as they are written.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { emptyFolder, onEnd } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import { cleanEnv } from './process.ts'

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = readFileSync(join(ROOT, 'docs/guides/operations.md'), 'utf8')
const MAIN = join(ROOT, 'packages/gatehook/bin/gatehook.cjs')

const PROGRAMS =
  /^(chown|cp|curl|df|gatehook|grep|mkdir|mv|openssl|rm|sed|sqlite3|systemctl|tr|cd) /

/** Returns the commands of a runbook in their order: of its blocks, and of the text between. */
export function commandsOf(title: string): string[] {
  const [, section] = GUIDE.split(`\n### ${title}\n`)
  assert.ok(section, title)
  const text = section.split(/\n##+ /)[0]!
  const commands: string[] = []
  for (const [, language, block, span] of text.matchAll(/```(\w*)\n([^`]+)```|`([^`]+)`/g)) {
    if (language === 'sql') commands.push(`sqlite3 gatehook.db "${block!.trim()}"`)
    else if (block !== undefined) commands.push(...block.trim().split('\n'))
    else if (PROGRAMS.test(span!)) commands.push(span!.replace(/\s+/g, ' '))
  }
  return commands.map((command) => command.trim())
}

/** `systemctl` waits as systemd does: until the service is ready, and until it has ended. */
const PRELUDE = `
gatehook() { (cd "$SRV" && "$NODE" "$MAIN" "$@"); }
ready() { command curl -sf -o /dev/null "http://127.0.0.1:$GATEHOOK_PORT/healthz"; }
systemctl() {
  if [ "$1" = stop ]; then
    kill "$(cat "$SRV/pid")"
    while kill -0 "$(cat "$SRV/pid")" 2>/dev/null; do sleep 0.05; done
  else
    (cd "$SRV" && exec "$NODE" "$MAIN" start >>"$SRV/log" 2>&1 & echo $! >"$SRV/pid")
    until ready; do kill -0 "$(cat "$SRV/pid")" || return 1; sleep 0.05; done
  fi
}
`

export interface CommandResult {
  readonly command: string
  readonly exit: number
  readonly output: string
}

interface RunbookOptions {
  /** Values of the placeholders in the commands, one for each occurrence or for all. */
  readonly values?: Readonly<Record<string, string | readonly string[]>>
  /** Commands whose exit code is 1 by their nature, by their beginning. */
  readonly mayFail?: readonly string[]
  /** Called before the command that begins so, for steps without a command. */
  readonly before?: Readonly<Record<string, () => unknown>>
}

export interface Machine {
  /** Replaces `/var/lib/gatehook`. */
  readonly lib: string
  /** Replaces `/local`. */
  readonly local: string
  /** The folder of the service. */
  readonly service: string
  readonly url: string
  readonly environment: Record<string, string>
  /** `input`: the standard input. */
  run(command: string, input?: string): Promise<CommandResult>
  /** Returns the process id of the service. */
  pid(): string
  /** Executes all commands of a runbook, and returns their results. */
  follow(title: string, options?: RunbookOptions): Promise<CommandResult[]>
}

export async function setUpMachine(t: TestContext, lib = emptyFolder(t)): Promise<Machine> {
  const root = emptyFolder(t)
  const folderOf = (name: string) => {
    const folder = join(root, name)
    mkdirSync(folder)
    return folder
  }
  const [service, backups] = [folderOf('service'), folderOf('backups')]
  const local = join(root, 'local')
  const port = String(await freePort())
  const environment: Record<string, string> = {
    GATEHOOK_DATABASE_URL: `sqlite:${join(lib, 'gatehook.db')}`,
    GATEHOOK_PORT: port,
  }
  let cwd = service
  const paths = [
    ['/var/lib/gatehook', lib],
    ['/var/backups', backups],
    [':8787', `:${port}`],
    ['/local', local],
  ] as const
  const run: Machine['run'] = async (command, input = '') => {
    const text = paths.reduce((all, [name, path]) => all.replaceAll(name, path), command)
    const end = join(root, 'cwd')
    const script = `${PRELUDE}cd '${cwd}'\n${text}\nresult=$?; pwd > '${end}'; exit $result`
    const own = { SRV: service, NODE: process.execPath, MAIN }
    const env = { ...cleanEnv(), ...environment, ...own }
    const running = promisify(execFile)('bash', ['-c', script], { env })
    const stdin = running.child.stdin!
    // A command that reads no input may have ended.
    stdin.on('error', () => undefined)
    stdin.end(input)
    const { exit, output } = await running.then(
      ({ stdout, stderr }) => ({ exit: 0, output: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ exit: Number(code), output: `${stdout}${stderr}` }),
    )
    cwd = readFileSync(end, 'utf8').trim()
    return { command, exit, output }
  }
  const pid = () => readFileSync(join(service, 'pid'), 'utf8').trim()
  onEnd(t, () => {
    if (!existsSync(join(service, 'pid'))) return
    try {
      process.kill(Number(pid()), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  return {
    lib,
    local,
    service,
    url: `http://127.0.0.1:${port}`,
    environment,
    run,
    pid,
    async follow(title, { values = {}, mayFail = [], before = {} } = {}) {
      const results: CommandResult[] = []
      const used = new Map<string, number>()
      const nextValue = (name: string) => {
        const value = values[name]!
        const at = used.get(name) ?? 0
        used.set(name, at + 1)
        return typeof value === 'string' ? value : value[at]!
      }
      for (const command of commandsOf(title)) {
        const [, prepare] =
          Object.entries(before).find(([start]) => command.startsWith(start)) ?? []
        await prepare?.()
        const text = Object.keys(values).reduce(
          (all, name) => all.replaceAll(name, () => nextValue(name)),
          command,
        )
        const result = await run(text)
        const isExpected =
          result.exit === 0 ||
          (result.exit === 1 && mayFail.some((start) => command.startsWith(start)))
        assert.ok(isExpected, `${text}: ${result.exit}\n${result.output}`)
        results.push({ ...result, command })
      }
      return results
    },
  }
}
