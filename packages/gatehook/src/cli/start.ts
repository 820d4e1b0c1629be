/** `gatehook start`: serves until a signal. A second signal ends it without draining (§2.4). */

import { resolve } from 'node:path'
import type { App } from '../app.ts'
import { withApi } from '../declare/resources/api-resources.ts'
import { findNarrowings } from '../declare/resources/change-check.ts'
import { findScopeWarnings, readScopeOf } from '../declare/resources/scopes.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { createFirstLink } from '../identity/people/operators.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { unawaited } from '../kernel/unawaited.ts'
import {
  type Config,
  ConfigError,
  mountPathOf,
  withoutPassword,
} from '../platform/config/config.ts'
import { isCommandOfNpm, nodeNameOf, readSettings } from '../platform/config/environment.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { portError } from './doctor-checks.ts'
import { EXIT, UsageError } from './errors.ts'
import { outliveNpm } from './npm-watch.ts'
import { writeText } from './output.ts'
import { packageVersion } from './own-package.ts'
import { findService, loadService, type ServiceFile } from './service-file.ts'
import { createSignalCounter } from './signals.ts'
import { terminalStream } from './terminal-log.ts'
import { welcomeText } from './welcome.ts'

const ROLES = ['api', 'delivery'] as const
/** Signal → exit code of a second signal: 128 plus its number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

const NO_PATH =
  'GATEHOOK_PUBLIC_URL has a path, under which only an application mounts the API ' +
  '(gatehook/server); set a URL without a path.'

const LONGEST_TIMER_MS = 2 ** 31 - 1

function rolesOf(text: unknown): readonly string[] {
  const roles = text === undefined ? ROLES : String(text).split(',')
  const unknownRole = roles.find((role) => !ROLES.includes(role as (typeof ROLES)[number]))
  if (unknownRole === undefined) return roles
  throw new UsageError(`--role "${unknownRole}" is not a role; roles are ${ROLES.join(' and ')}.`)
}

/** The longest wait for standard output to take the last lines of the log. */
const LOG_WAIT_MS = 2_000

/**
 * Writes the log, then calls `onWritten`. Ends the process after 2 s if the reader of standard
 * output has stopped reading: a supervisor may wait for the end without a limit.
 */
function finishLog(log: Log, onWritten: () => void = () => undefined): void {
  const timer = setTimeout(endAtOnce, LOG_WAIT_MS)
  const finish = () => {
    clearTimeout(timer)
    onWritten()
  }
  log.flush(() => log.flush(finish)) // the first one may only end a write of earlier lines
}

/**
 * `process.exit` would wait for the write. An end by SIGTERM is an end in order to supervisors.
 * Process 1 of a container ignores it, and its runtime has a limit.
 */
function endAtOnce(): void {
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}

/** Waits for the first signal, then drains and closes the service. */
async function serveUntilSignal(app: App, log: Log): Promise<void> {
  // Of own code that awaits a promise of its own nowhere: other requests go on.
  process.on('unhandledRejection', (err) => {
    unawaited.note(err)
    log.error({ err }, 'bug: a promise was rejected, and no code awaits it')
  })
  // Without a port, only this timer keeps the process alive.
  const keepAlive = setInterval(() => undefined, LONGEST_TIMER_MS)
  const signal = await new Promise<string>((resolve) => {
    const receive = createSignalCounter({ clock: wallClock, isForwarded: isCommandOfNpm() })
    for (const [name, exit] of Object.entries(SIGNALS)) {
      process.on(name, () => {
        const signal = receive(name)
        if (signal === 'further') finishLog(log, () => process.exit(exit))
        if (signal !== 'first') return
        outliveNpm()
        resolve(name)
      })
    }
  })
  clearInterval(keepAlive)
  log.info({ signal }, 'draining')
  await app.drain()
  await app.close()
  log.info('stopped')
}

interface RunningService {
  readonly app: App
  readonly config: Config
  readonly serviceFile: ServiceFile
  readonly url: string
}

async function printWelcome(
  { app, config, serviceFile, url }: RunningService,
  columns: number,
): Promise<void> {
  const isLinkUseful = config.operatorsPasswords !== 'off'
  const link = isLinkUseful ? await createFirstLink(app.administration) : undefined
  const resources = withApi(app.service.resources)
  const first = resources.find(({ name }) => app.seeded[name]) ?? resources[0]
  const text = welcomeText({
    consolePath: link?.path,
    version: packageVersion,
    url,
    database: withoutPassword(config.databaseUrl),
    versions: [...app.versions].reverse(),
    collection: first?.name,
    scope: (first && readScopeOf(first)) ?? 'events:read',
    startedMs: Math.round(wallClock.elapsedMs()),
    isReference: !serviceFile.isDeclared,
    testKey: app.firstRun.testKey,
    columns,
  })
  writeText(process.stdout, `${text}\n`)
}

function logWarnings(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn(warning)
  if (config.webhookAllowPrivate) {
    log.warn(
      'GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1: receivers may be http and private. Never in production.',
    )
  }
}

/** Returns a sentence per value that an older version accepts and its conversion rejects. */
function narrowingsOf({ resources, versions: declared }: ServiceDefinition): string[] {
  const versions = declared.map(({ name }) => name)
  const changed = resources.filter(({ changes }) => changes.length > 0)
  return versions.flatMap((version) =>
    changed.flatMap((resource) => findNarrowings(resource, versions, version)),
  )
}

/** Reads configuration and service. */
async function prepare(input: Input) {
  const config = configOf(input)
  if (mountPathOf(config) !== '') throw new ConfigError([NO_PATH])
  const serviceFile = findService(input.folder)
  // Before the service: the hook that resolves its imports would delay those of the app.
  const { openApp } = await import('../app.ts')
  return { config, serviceFile, openApp, service: await loadService(serviceFile) }
}

/** Reports a mistake of configuration or service, or a taken port, to other nodes; throws it. */
async function refuse({ flags }: Input, error: unknown): Promise<never> {
  const { reportFailedStart } = await import('../assembly/failed-start.ts')
  await reportFailedStart(readSettings(flags), error)
  throw error
}

async function run(input: Input): Promise<undefined> {
  const { folder, options, out } = input
  const roles = rolesOf(options.role)
  const serves = roles.includes('api')
  const { config, serviceFile, openApp, service } = await prepare(input).catch((error) =>
    refuse(input, error),
  )
  // A delivery node serves probes and metrics, but not on the default port: a node beside it may.
  const listens = serves || config.sources.port !== 'default' || config.internal !== null
  // Before the database exists: a first start that failed later would never display its test key.
  const listenError = listens ? await portError(config) : undefined
  if (listenError) await refuse(input, listenError)
  const isInteractive = out.terminal && !out.json
  const log = createLog({
    level: config.logLevel,
    ...(isInteractive ? { destination: terminalStream } : { node: nodeNameOf(config) }),
  })
  logWarnings(config, log)
  if (!serviceFile.isDeclared && !isInteractive) {
    log.info({ folder: resolve(folder) }, 'no service.ts in this folder: the reference service')
  }
  const { definition } = service
  const warnings = [...narrowingsOf(definition), ...findScopeWarnings(definition)]
  for (const warning of warnings) log.warn(warning)
  const app = await openApp({
    config,
    service,
    isReference: !serviceFile.isDeclared,
    log,
    release: packageVersion,
    serves,
    delivers: roles.includes('delivery'),
    seed: options.seed !== false && 'first',
    testKey: isInteractive,
    ownership: { takesOver: options.takeOver === true },
    recognition: { isRestored: options.restored === true },
    // It sends no response: its state may be outdated.
    onTakenOver() {
      log.fatal('another process has taken the database over; this one ends')
      log.flush?.()
      process.exit(EXIT.temporary)
    },
    onProgress: (line) => log.info(line),
  })
  try {
    if (listens) {
      const { url, port } = await app.listen()
      log.info({ url, port, pid: process.pid, version: packageVersion }, 'listening')
      if (isInteractive && serves)
        await printWelcome({ app, config, serviceFile, url }, out.columns)
    }
    if (!listens) await app.work()
    if (!serves) log.info({ pid: process.pid, version: packageVersion }, 'working')
    log.flush?.()
  } catch (error) {
    await app.close()
    throw error
  }
  await serveUntilSignal(app, log)
  finishLog(log)
}

export const start: CommandSpec = {
  name: 'start [DIR]',
  summary: 'serve the API that DIR/service.ts declares',
  description:
    'Serves the API that service.ts (or .js, .mjs) in DIR declares. Without such a file, serves ' +
    'the reference service. DIR is by default this folder. A relative path of the database is ' +
    'relative to DIR.',
  options: [
    ['--role <ROLES>', 'api, delivery, or both (default: api,delivery)'],
    ['--no-seed', 'no sample data on the first start'],
    ['--restored', 'the data was restored: deliveries, jobs and mail wait for an operator'],
    ['--take-over', 'SQLite: replaces a process that holds the database and does not end'],
  ],
  config: 'all',
  examples: [
    ['gatehook start', 'this folder, http://127.0.0.1:8787, data in ./data'],
    ['gatehook start my-api --port 0', 'another folder, any free port'],
    ['GATEHOOK_DATABASE_URL=postgres://… gatehook start', 'on PostgreSQL; more nodes may join'],
  ],
  run,
}
