/** `gatehook start`: serves until a signal; the second signal does not wait (§2.4). */
import type { App } from '../app.ts'
import { type Config, withoutPassword } from '../config/config.ts'
import { readConfig } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { portError } from './checks.ts'
import type { CommandSpec, Input } from './command.ts'
import { type Found, findService, loadService } from './load.ts'
import { UsageError } from './mistake.ts'
import { terminalStream } from './terminal-log.ts'
import { packageVersion } from './version.ts'
import { welcomeText } from './welcome.ts'

const ROLES = ['api', 'delivery'] as const
/** Signal → exit code when it comes a second time: 128 and the signal's number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

const LONGEST_TIMER_MS = 2 ** 31 - 1

function rolesOf(text: unknown): readonly string[] {
  const roles = text === undefined ? ROLES : String(text).split(',')
  const unknown = roles.find((role) => !ROLES.includes(role as (typeof ROLES)[number]))
  if (unknown === undefined) return roles
  throw new UsageError(`--role "${unknown}" is not known; roles are ${ROLES.join(' and ')}.`)
}

/** Resolves when the service has drained after the first signal. */
async function untilSignal(app: App, log: Log): Promise<void> {
  // A node that opens no port has nothing else that keeps the process.
  const alive = setInterval(() => undefined, LONGEST_TIMER_MS)
  const signal = await new Promise<string>((resolve) => {
    let first = true
    for (const [name, exit] of Object.entries(SIGNALS)) {
      process.on(name, () => {
        if (!first) process.exit(exit)
        first = false
        resolve(name)
      })
    }
  })
  clearInterval(alive)
  log.info({ signal }, 'draining')
  await app.drain()
  await app.close()
  log.info('stopped')
}

interface Up {
  readonly app: App
  readonly config: Config
  readonly found: Found
  readonly url: string
}

function greet({ app, config, found, url }: Up, columns: number): void {
  const text = welcomeText({
    version: packageVersion,
    url,
    database: withoutPassword(config.databaseUrl),
    versions: [...app.versions].reverse(),
    collection: app.service.resources[0]?.name,
    startedMs: Math.round(wallClock.elapsedMs()),
    reference: !found.declared,
    testKey: app.firstRun.testKey,
    columns,
  })
  process.stdout.write(`${text}\n`)
}

function warnOf(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn(warning)
  if (config.webhookAllowPrivate) {
    log.warn(
      'GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1: receivers may be http and private. Never in production.',
    )
  }
}

async function run({ args, options, flags, out }: Input): Promise<undefined> {
  const roles = rolesOf(options.role)
  const serves = roles.includes('api')
  const config = readConfig(flags)
  // Without the API there are probes and metrics; the usual port may be that of the node beside it.
  const listens = serves || config.sources.port !== 'default'
  const found = findService(args[0] ?? '.')
  const service = await loadService(found)
  // Before anything is made: a test key of a first start that then fails would never be seen.
  const taken = listens ? await portError(config) : undefined
  if (taken) throw taken
  const friendly = out.terminal && !out.json
  const { logLevel: level } = config
  const log = createLog(friendly ? { level, destination: terminalStream } : { level })
  warnOf(config, log)
  const { openApp } = await import('../app.ts')
  const app = await openApp({
    config,
    service,
    log,
    release: packageVersion,
    serves,
    delivers: roles.includes('delivery'),
    seed: options.seed !== false && 'first',
    testKey: friendly,
    onProgress: (line) => log.info(line),
  })
  try {
    if (listens) {
      const { url, port } = await app.listen()
      log.info({ url, port, pid: process.pid, version: packageVersion }, 'listening')
      if (friendly && serves) greet({ app, config, found, url }, out.columns)
    }
    if (!listens) await app.work()
    if (!serves) log.info({ pid: process.pid, version: packageVersion }, 'working')
    log.flush?.()
  } catch (error) {
    await app.close()
    throw error
  }
  await untilSignal(app, log)
  log.flush?.()
}

export const start: CommandSpec = {
  name: 'start [DIR]',
  summary: 'serve what DIR/service.ts declares',
  description:
    'Serves the API that service.ts (or .js, .mjs) in DIR declares; where there is none, the ' +
    'reference service. DIR is this folder unless named.',
  options: [
    ['--role <ROLES>', 'api, delivery, or both (default: api,delivery)'],
    ['--no-seed', 'no sample data on the first start'],
  ],
  config: 'all',
  examples: [
    ['gatehook start', 'this folder, http://127.0.0.1:8787, data in ./data'],
    ['gatehook start my-api --port 0', 'another folder, any free port'],
    ['GATEHOOK_DATABASE_URL=postgres://… gatehook start', 'on PostgreSQL; more nodes may join'],
  ],
  run,
}
