/** `gatehook doctor`: a table of the checks in `doctor-checks.ts`; exit 1 if one fails. */

import type { Service } from '../declare/resources/service.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { type Config, databaseTarget } from '../platform/config/config.ts'
import { databaseExists, readConfig, refuseRemains } from '../platform/config/environment.ts'
import type { Database } from '../platform/storage/database.ts'
import { openDatabase } from '../platform/storage/open.ts'
import type { CommandSpec, Input } from './command.ts'
import type { CheckResult } from './doctor-checks.ts'
import * as checks from './doctor-checks.ts'
import * as machine from './doctor-machine.ts'
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

/** One check; undefined skips it. `hint`: the remedy if `inspect` throws. */
type CheckStep = readonly [
  check: string,
  hint: string,
  inspect: () => Promise<CheckResult | undefined> | CheckResult | undefined,
]

/** Runs the checks in order. Later checks use the resources that earlier ones have opened. */
async function runChecks({ flags, options }: Input): Promise<CheckResults> {
  const serviceFile = findService(String(options.dir ?? '.'))
  let service: Service | undefined
  let config: Config | undefined
  let db: Database | undefined
  const databaseHint = 'Is it the database of this service?'
  const steps: readonly CheckStep[] = [
    ['node', '', () => checks.checkNodeVersion(process.versions.node)],
    [
      'service',
      'Correct the declaration: the service does not start without it.',
      async () => {
        service = await loadService(serviceFile)
        if (!serviceFile.isDeclared) return checks.ok('none declared here: the reference service')
        const { name, resources } = service.definition
        return checks.ok(`${name}: ${resources.map((resource) => resource.name).join(', ')}`)
      },
    ],
    [
      'configuration',
      'All options: gatehook config --markdown',
      () => {
        config = readConfig(flags)
        if (config.warnings.length === 0) return checks.ok('every value is valid')
        return checks.warn(config.warnings.join(' '), 'Unset it, or correct its name.')
      },
    ],
    ['data folder', 'Check GATEHOOK_DATABASE_URL.', () => config && checks.checkDataFolder(config)],
    ['secret key', 'Check the file secret.key.', () => config && checks.checkSecretFile(config)],
    [
      'request log',
      'Check the folder of the database.',
      () => config && checks.checkMonitoringFile(config),
    ],
    ['disk', 'Check the folder of the database.', () => config && machine.checkDisk(config)],
    [
      'certificate',
      'Check GATEHOOK_TLS_CERT.',
      () => config && machine.checkCertificate(config, wallClock),
    ],
    ['port', 'Check GATEHOOK_HOST and GATEHOOK_PORT.', () => config && checks.checkPort(config)],
    [
      'database',
      'Is it running, and may this user open it?',
      async () => {
        if (!config) return undefined
        const url = checks.printableDatabaseUrl(config)
        refuseRemains(config)
        if (!databaseExists(config)) return checks.ok(`${url} (the first start creates it)`)
        db = await openDatabase(databaseTarget(config), { log: createLog({ level: 'silent' }) })
        return checks.ok(url)
      },
    ],
    [
      'master secret',
      'See docs/guides/master-secret.md',
      () => config && db && checks.checkStoredSecret(config, db),
    ],
    ['durability', databaseHint, () => config && db && checks.checkDurability(config, db)],
    ['migrations', databaseHint, () => db && checks.checkMigrations(db, service)],
    ['mail', databaseHint, () => config && checks.checkMail(config, service, db)],
    ['backup', databaseHint, () => db && machine.checkBackup(db, wallClock)],
    ['clock', databaseHint, () => config && checks.checkClock(wallClock, config, db)],
  ]
  const results: CheckResults = []
  for (const [check, hint, inspect] of steps) {
    try {
      const result = await inspect()
      if (result) results.push({ check, ...result })
    } catch (error) {
      const report = reportOfError(error)
      const detail = report ? report.sentences.join(' ') : (error as Error).message
      results.push({ check, ...checks.fail(detail, hint) })
    }
  }
  await db?.close()
  return results
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
