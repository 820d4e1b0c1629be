/** `gatehook doctor`: a table of the checks in `doctor-checks.ts`; exit 1 if one fails. */
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import type { Service } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import { openDatabase } from '../storage/open.ts'
import type { CommandSpec, Input } from './command.ts'
import type { CheckResult } from './doctor-checks.ts'
import * as checks from './doctor-checks.ts'
import { EXIT, reportOfError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { alarm, dim, green, type Output, table, yellow } from './output.ts'
import { findService, loadService } from './service-file.ts'

const signs: Readonly<Record<CheckResult['state'], string>> = {
  ok: green('ok'),
  warn: yellow('warn'),
  fail: alarm('fail'),
}

type CheckResults = (CheckResult & { readonly check: string })[]

/**
 * Runs a check and adds its result. An error becomes a failed result.
 *
 * @param hint - the remedy if `inspect` throws
 * @returns the value of `inspect`; undefined if it throws
 */
async function runCheck<T>(
  results: CheckResults,
  check: string,
  inspect: () => Promise<T> | T,
  resultOf: (value: T) => CheckResult,
  hint: string,
): Promise<T | undefined> {
  try {
    const value = await inspect()
    results.push({ check, ...resultOf(value) })
    return value
  } catch (error) {
    const report = reportOfError(error)
    const detail = report ? report.sentences.join(' ') : (error as Error).message
    results.push({ check, ...checks.fail(detail, hint) })
    return undefined
  }
}

const unchanged = (result: CheckResult) => result

async function runChecks({ flags, options }: Input): Promise<CheckResults> {
  const results: CheckResults = []
  results.push({ check: 'node', ...checks.checkNodeVersion(process.versions.node) })
  const serviceFile = findService(String(options.dir ?? '.'))
  const service = await runCheck(
    results,
    'service',
    () => loadService(serviceFile),
    ({ definition }) => ({
      state: 'ok',
      detail: serviceFile.isDeclared
        ? `${definition.name}: ${definition.resources.map(({ name }) => name).join(', ')}`
        : 'none declared here: the reference service',
    }),
    'Correct the declaration: the service does not start without it.',
  )
  const config = await runCheck(
    results,
    'configuration',
    () => readConfig(flags),
    ({ warnings }) =>
      warnings.length === 0
        ? { state: 'ok', detail: 'every value is valid' }
        : { state: 'warn', detail: warnings.join(' '), hint: 'Unset it, or correct its name.' },
    'All options: gatehook config --markdown',
  )
  if (!config) return results
  const add = (check: string, inspect: () => Promise<CheckResult> | CheckResult, hint: string) =>
    runCheck(results, check, inspect, unchanged, hint)
  await add('data folder', () => checks.checkDataFolder(config), 'Check GATEHOOK_DATABASE_URL.')
  await add('secret key', () => checks.checkSecretFile(config), 'Check the file secret.key.')
  await add('port', () => checks.checkPort(config), 'Check GATEHOOK_HOST and GATEHOOK_PORT.')
  const db = await openDatabaseCheck(results, config)
  try {
    await checkDatabase(results, config, db, service)
  } finally {
    await db?.close()
  }
  return results
}

async function openDatabaseCheck(
  results: CheckResults,
  config: Config,
): Promise<Database | undefined> {
  if (!checks.databaseExists(config)) {
    const detail = `${checks.printableDatabaseUrl(config)} (the first start creates it)`
    results.push({ check: 'database', state: 'ok', detail })
    return undefined
  }
  return runCheck(
    results,
    'database',
    () => openDatabase(config.databaseUrl, { log: createLog({ level: 'silent' }) }),
    () => ({ state: 'ok', detail: checks.printableDatabaseUrl(config) }),
    'Is it running, and may this user open it?',
  )
}

async function checkDatabase(
  results: CheckResults,
  config: Config,
  db: Database | undefined,
  service: Service | undefined,
): Promise<void> {
  const hint = 'Is it the database of this service?'
  if (db) {
    await runCheck(
      results,
      'master secret',
      () => checks.checkStoredSecret(config, db),
      unchanged,
      'See docs/guides/master-secret.md',
    )
    await runCheck(
      results,
      'migrations',
      () => checks.checkMigrations(db, service),
      unchanged,
      hint,
    )
  }
  await runCheck(results, 'clock', () => checks.checkClock(wallClock, config, db), unchanged, hint)
}

function printResults(results: CheckResults, out: Output): void {
  out.result({ checks: results }, () =>
    table(
      ['check', 'state', 'detail'],
      results.map(({ check, state, detail, hint }) => [
        check,
        signs[state],
        hint ? `${detail}\n${' '.repeat(23)}${dim(`→ ${hint}`)}` : detail,
      ]),
    ),
  )
}

async function run(input: Input): Promise<number> {
  const results = await runChecks(input)
  printResults(results, input.out)
  return results.some(({ state }) => state === 'fail') ? EXIT.failed : EXIT.ok
}

export const doctor: CommandSpec = {
  name: 'doctor',
  summary: 'find problems of this machine, the configuration and the database',
  description: 'Checks this machine, the configuration and the database. Changes nothing.',
  options: installationOptions,
  config: 'all',
  examples: [
    ['gatehook doctor', 'exit 1 if a check fails'],
    ['gatehook doctor --json', 'for monitors'],
  ],
  run,
}
