/** `gatehook doctor`: every check of `checks.ts` in a table; exit 1 when one fails. */
import { readConfig } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import type { Service } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import { openDatabase } from '../storage/open.ts'
import type { Finding } from './checks.ts'
import * as checks from './checks.ts'
import type { CommandSpec, Input } from './command.ts'
import { engineOptions } from './engine.ts'
import { findService, loadService } from './load.ts'
import { EXIT, explain } from './mistake.ts'
import { alarm, dim, green, type Output, table, yellow } from './output.ts'

const signs: Readonly<Record<Finding['state'], string>> = {
  ok: green('ok'),
  warn: yellow('warn'),
  fail: alarm('fail'),
}

type Findings = (Finding & { readonly check: string })[]

/**
 * Adds a finding; what the check throws becomes one. The value of `look` where it did not throw.
 */
async function note<T>(
  findings: Findings,
  check: string,
  look: () => Promise<T> | T,
  finding: (value: T) => Finding,
  hint: string,
): Promise<T | undefined> {
  try {
    const value = await look()
    findings.push({ check, ...finding(value) })
    return value
  } catch (error) {
    const mistake = explain(error)
    const detail = mistake ? mistake.sentences.join(' ') : (error as Error).message
    findings.push({ check, ...checks.fail(detail, hint) })
    return undefined
  }
}

const same = (finding: Finding) => finding

async function examine({ flags, options }: Input): Promise<Findings> {
  const findings: Findings = []
  findings.push({ check: 'node', ...checks.nodeVersion(process.versions.node) })
  const found = findService(String(options.dir ?? '.'))
  const service = await note(
    findings,
    'service',
    () => loadService(found),
    ({ definition }) => ({
      state: 'ok',
      detail: found.declared
        ? `${definition.name}: ${definition.resources.map(({ name }) => name).join(', ')}`
        : 'none declared here: the reference service',
    }),
    'Correct the declaration; nothing starts without one that loads.',
  )
  const config = await note(
    findings,
    'configuration',
    () => readConfig(flags),
    ({ warnings }) =>
      warnings.length === 0
        ? { state: 'ok', detail: 'every value fits' }
        : { state: 'warn', detail: warnings.join(' '), hint: 'Unset it, if it was meant for us.' },
    'All options: gatehook config --markdown',
  )
  if (!config) return findings
  const add = (check: string, look: () => Promise<Finding> | Finding, hint: string) =>
    note(findings, check, look, same, hint)
  await add('data folder', () => checks.dataWritable(config), 'Look at GATEHOOK_DATABASE_URL.')
  await add('secret key', () => checks.secretMode(config), 'Look at the file secret.key.')
  await add('port', () => checks.portFree(config), 'Look at GATEHOOK_HOST and GATEHOOK_PORT.')
  const db = await openForLooking(findings, config)
  try {
    await examineStored(findings, config, db, service)
  } finally {
    await db?.close()
  }
  return findings
}

type Config = ReturnType<typeof readConfig>

async function openForLooking(findings: Findings, config: Config): Promise<Database | undefined> {
  if (!checks.databaseExists(config)) {
    const detail = `${checks.databaseShown(config)} (the first start makes it)`
    findings.push({ check: 'database', state: 'ok', detail })
    return undefined
  }
  return note(
    findings,
    'database',
    () => openDatabase(config.databaseUrl, { log: createLog({ level: 'silent' }) }),
    () => ({ state: 'ok', detail: checks.databaseShown(config) }),
    'Is it running, and may this user open it?',
  )
}

async function examineStored(
  findings: Findings,
  config: Config,
  db: Database | undefined,
  service: Service | undefined,
): Promise<void> {
  const hint = 'Is it the database of this service?'
  if (db) {
    await note(
      findings,
      'master secret',
      () => checks.secretFits(config, db),
      same,
      'See docs/guides/master-secret.md',
    )
    await note(findings, 'migrations', () => checks.migrationsDone(db, service), same, hint)
  }
  await note(findings, 'clock', () => checks.clockSane(wallClock, config, db), same, hint)
}

function show(findings: Findings, out: Output): void {
  out.result({ checks: findings }, () =>
    table(
      ['check', 'state', 'what was found'],
      findings.map(({ check, state, detail, hint }) => [
        check,
        signs[state],
        hint ? `${detail}\n${' '.repeat(23)}${dim(`→ ${hint}`)}` : detail,
      ]),
    ),
  )
}

async function run(input: Input): Promise<number> {
  const findings = await examine(input)
  show(findings, input.out)
  return findings.some(({ state }) => state === 'fail') ? EXIT.failed : EXIT.fine
}

export const doctor: CommandSpec = {
  name: 'doctor',
  summary: 'look for what would keep the service from working',
  description: 'Checks this machine, the configuration and the database. Changes nothing.',
  options: engineOptions,
  config: 'all',
  examples: [
    ['gatehook doctor', 'exit 1 when something is wrong'],
    ['gatehook doctor --json', 'for monitors'],
  ],
  run,
}
