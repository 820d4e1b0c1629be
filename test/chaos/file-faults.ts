/** A SQLite file that is away, that two processes open, or whose master secret is lost. */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileOf } from './books.ts'
import { ended } from './kill.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, type OperatorFaults, withDatabase } from './under-load.ts'

const EXIT = { later: 75, configuration: 78 } as const

const onFile = (
  inject: (faults: OperatorFaults) => Promise<void>,
  spares = 0,
): ((context: ChaosContext) => Promise<ChaosCounts>) => {
  return (context) =>
    withDatabase('sqlite', context, (databaseUrl) =>
      auditFault(context, { databaseUrl, booksUrl: () => databaseUrl, spares }, inject),
    )
}

const CREATE_KEY = ['keys', 'create', '--name', 'a', '--scopes', 'r']

/** The file is not there, beside its log; and commands name a folder without a database. */
async function removeFile({ load, cluster, databaseUrl, folder, expect }: OperatorFaults) {
  const file = fileOf(databaseUrl)
  load.markFault()
  await cluster.end(0, 'SIGKILL')
  renameSync(file, `${file}.away`)
  const start = await cluster.startRefused(0)
  expect(start.exit === EXIT.configuration, `a start without the file ends with ${start.exit}`)
  expect(!existsSync(file), 'a start replaces the missing file')
  const empty = join(folder, 'empty')
  const environment = { GATEHOOK_DATABASE_URL: `sqlite:${join(empty, 'gatehook.db')}` }
  for (const command of [['backup', join(folder, 'b.gatehook')], CREATE_KEY]) {
    const { exit } = await cluster.run(command, { environment })
    expect(exit === 1, `${command[0]} without a database ends with ${exit}`)
  }
  expect(!existsSync(empty), 'a command creates a database')
  renameSync(`${file}.away`, file)
  await cluster.replace(0)
  await load.recovery()
}

/** A second start is refused; a take-over ends the process that was stopped. */
async function startTwice({ load, cluster, expect }: OperatorFaults) {
  load.markFault()
  const second = await cluster.startRefused(1)
  expect(second.exit === EXIT.later, `a second start ends with ${second.exit}`)
  const { child } = cluster.nodes[0]!
  child.kill('SIGSTOP')
  await cluster.replace(1, { args: ['--take-over'] })
  await load.recovery()
  child.kill('SIGCONT')
  await ended(child)
  expect(child.exitCode === EXIT.later, `the former process ends with ${child.exitCode}`)
}

/** The new secret does not fit; `secrets reset` abandons what the former one encrypted. */
async function loseSecret({ load, cluster, expect }: OperatorFaults) {
  const resume = await load.hold()
  load.markFault()
  await cluster.end(0, 'SIGTERM')
  const environment = { GATEHOOK_SECRET_KEY: 'another secret that only tests know, long enough' }
  const start = await cluster.startRefused(0, { environment })
  expect(start.exit === EXIT.configuration, `a start with another secret ends with ${start.exit}`)
  const reset = await cluster.run(['secrets', 'reset', '--force'], { environment })
  expect(reset.exit === 0, `secrets reset ends with ${reset.exit}`)
  await cluster.replace(0, { environment })
  resume()
  await load.recovery()
}

const scenario = (
  rest: Pick<ChaosScenario, 'name' | 'title' | 'words' | 'run'>,
): ChaosScenario => ({
  groups: ['operate'],
  nodes: [1],
  missing: needHaproxy,
  ...rest,
})

export const fileFaults: readonly ChaosScenario[] = [
  scenario({
    name: 'missing-file',
    title: 'the file of the database is away, and its log is there',
    words: [
      /gatehook start, exit 78: There is no database at .* belongs to an installation/,
      /gatehook backup .*, exit 1: .*There is no database at/,
      /gatehook keys create .*, exit 1: .*There is no database at/,
    ],
    run: onFile(removeFile),
  }),
  scenario({
    name: 'second-process',
    title: 'a second process starts on the file, then takes it over from a stopped one',
    words: [
      /gatehook start, exit 75: .*is in use: process/,
      /log of node1: another process has taken/,
    ],
    run: onFile(startTwice, 1),
  }),
  scenario({
    name: 'lost-secret',
    title: 'the master secret is lost and replaced',
    words: [/gatehook start, exit 78: .*secret/],
    run: onFile(loseSecret),
  }),
]
