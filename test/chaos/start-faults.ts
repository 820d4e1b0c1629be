/**
 * Starts that an operator's mistake prevents: options, modes of files, copies without their log.
 * Each is refused with a sentence, and changes nothing; nodes that run serve on.
 */
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileOf } from './books.ts'
import { EXIT } from './primary-faults.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  needHaproxy,
  type OperatorFaults,
  requireNoFailure,
  withDatabase,
} from './under-load.ts'

/** Wrong options, each with a part of the sentence that refuses it. */
const MISTAKES: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{ GATEHOOK_PORT: 'tcp://10.96.12.7:80' }, /enableServiceLinks: false/],
  [{ GATEHOOK_DATABSE_URL: 'x' }, /Did you mean GATEHOOK_DATABASE_URL\?/],
  [{ GATEHOOK_DELIVERY_RATE: 'ten' }, /GATEHOOK_DELIVERY_RATE is .*ten.*expected/],
  [{ GATEHOOK_TLS_CERT: '/none.crt' }, /GATEHOOK_TLS_(CERT|KEY)/],
  [{ GATEHOOK_SECRET_KEY: 'short' }, /GATEHOOK_SECRET_KEY/],
]
const UNPRIVILEGED_USER = 65_534

/** A node is restarted with wrong options, one after the other; the other one serves. */
async function startWithMistakes({ cluster, load, expect }: OperatorFaults) {
  load.markFault()
  await cluster.end(1, 'SIGTERM')
  for (const [environment, sentence] of MISTAKES) {
    const { exit, output } = await cluster.startRefused(1, { environment })
    const names = Object.keys(environment).join()
    expect(exit === EXIT.configuration, `a start with a wrong ${names} ends with ${exit}`)
    expect(sentence.test(output), `a start with a wrong ${names} says ${output.slice(0, 300)}`)
  }
  await cluster.replace(1, { environment: { GATEHOK_PORT: '1' } })
  await load.recovery()
}

/** The file of the database may not be written by the user of the service. */
async function forbidWrites(faults: OperatorFaults) {
  const { cluster, load, databaseUrl, folder, expect } = faults
  const file = fileOf(databaseUrl)
  const uid = UNPRIVILEGED_USER
  const resume = await load.hold()
  load.markFault()
  await cluster.end(0, 'SIGTERM')
  for (const parent of [dirname(folder), folder]) chmodSync(parent, 0o711)
  const data = dirname(file)
  for (const path of [data, ...readdirSync(data).map((name) => join(data, name))]) {
    chownSync(path, uid, uid)
  }
  chmodSync(file, 0o444)
  const start = await cluster.startRefused(0, { uid })
  expect(start.exit === EXIT.configuration, `a start without write access ends with ${start.exit}`)
  chmodSync(file, 0o600)
  await cluster.replace(0, { uid })
  resume()
  await load.recovery()
}

/** A copy of the file alone, taken while the service writes, lacks the log. */
async function copyTorn({ cluster, load, databaseUrl, folder, expect }: OperatorFaults) {
  const copy = join(folder, 'torn', 'gatehook.db')
  mkdirSync(dirname(copy))
  load.markFault()
  copyFileSync(fileOf(databaseUrl), copy)
  const environment = { GATEHOOK_DATABASE_URL: `sqlite:${copy}` }
  const doctor = await cluster.run(['doctor', '--deep'], { environment })
  expect(doctor.exit === 1, `doctor finds nothing in a copy without its log: ${doctor.exit}`)
  const restore = await cluster.run(['restore', copy], {
    environment: { GATEHOOK_DATABASE_URL: `sqlite:${join(folder, 'restored', 'gatehook.db')}` },
  })
  expect(restore.exit === 1, `a restore of a file that is no backup ends with ${restore.exit}`)
  const backup = join(folder, 'b.gatehook')
  expect((await cluster.run(['backup', backup])).exit === 0, 'the backup fails')
  const over = await cluster.run(['restore', backup])
  expect(over.exit !== 0, 'a restore replaces a database that is there')
  await load.recovery()
}

const onKind =
  (kind: 'sqlite' | 'postgres', inject: (faults: OperatorFaults) => Promise<void>) =>
  async (context: ChaosContext): Promise<ChaosCounts> => {
    const counts = await withDatabase(kind, context, (databaseUrl) =>
      auditFault(context, { databaseUrl, booksUrl: () => databaseUrl }, inject),
    )
    return inject === forbidWrites ? counts : requireNoFailure(counts)
  }

const needRoot = () =>
  needHaproxy() ?? (process.getuid?.() === 0 ? undefined : 'another user needs root')

export const startFaults: readonly ChaosScenario[] = [
  {
    name: 'wrong-options',
    title: 'a node is restarted with wrong options, those of Kubernetes among them',
    groups: ['operate'],
    nodes: [2],
    words: [
      ...MISTAKES.map(([, sentence]) => new RegExp(`exit 78: .*${sentence.source}`)),
      /log of node2: GATEHOK_PORT is set\. Did you mean GATEHOOK_PORT\?/,
    ],
    missing: needHaproxy,
    run: onKind('postgres', startWithMistakes),
  },
  {
    name: 'read-only-file',
    title: 'the file of the database has the mode 0444',
    groups: ['operate'],
    nodes: [1],
    words: [/gatehook start, exit 78: .*has the mode 0444, .*chmod 600/],
    missing: needRoot,
    run: onKind('sqlite', forbidWrites),
  },
  {
    name: 'torn-copy',
    title: 'the file of the database is copied without its log; restores that must be refused',
    groups: ['operate'],
    nodes: [1],
    words: [/gatehook doctor --deep, exit 1: .*fail/, /gatehook restore .*, exit 1: /],
    missing: needHaproxy,
    run: onKind('sqlite', copyTorn),
  },
]
