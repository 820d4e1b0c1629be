/** Clocks of nodes that differ from that of the database, by libfaketime. */
import { existsSync, globSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createDatabase, type PostgresServer, startPostgres } from '../rig/postgres.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  type Faults,
  needHaproxy,
  requireNoFailure,
  runUnderLoad,
  SETTINGS,
} from './under-load.ts'

const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1').filter(existsSync)

/** Nodes measure the difference every 15 s. */
const MEASURED_MS = 20_000
const SKEWED_MS = 6_000
/** haproxy has to find a new node ready twice. */
const READY_MS = 2_000

const NOT_READY = /readyz 503: clock/
const IS_SET_BACK = /attention: .*node_warning.*clock of this machine was set back by 60 minutes/
/** Without the clock of the database, a node would follow its own after a minute. */
const FOLLOWED_MS = 75_000
const DATABASE_IS_WRONG = /attention: .*node_warning.*The clock of the database's machine/
const IN_ATTENTION = /attention: bad node_not_ready.*clock/

/** The wall clock of a node, in seconds beside that of the machine; its timers are not changed. */
const ahead = (seconds: number) => ({
  LD_PRELOAD: LIBRARY!,
  FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})

async function readReadiness(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/readyz`, { headers: { 'x-forwarded-proto': 'https' } })
  return { status: response.status, text: await response.text() }
}

/** Starts the first node with a clock that `set` moves while it runs. */
async function startWithMovingClock(faults: string[], { cluster, folder }: Faults) {
  const file = join(folder, 'faketime')
  const set = (seconds: number) => writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  await set(0)
  const { FAKETIME: _, ...library } = ahead(0)
  const environment = { ...library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }
  const { url } = await cluster.replace(0, { environment })
  const becomes = async (expected: number) => {
    for (const untilMs = performance.now() + MEASURED_MS; performance.now() < untilMs; ) {
      if ((await readReadiness(url)).status === expected) return
      await pause(500)
    }
    faults.push(`/readyz does not become ${expected} within ${MEASURED_MS / 1_000} s`)
  }
  return { set, becomes }
}

/** Returns a sentence for each difference from what nodes promise. */
async function skewClocks(context: Faults): Promise<string[]> {
  const { cluster, load, report, witness } = context
  const faults: string[] = []
  const hasWarned = (at: number) => cluster.nodes[at]!.warnings.some((text) => /clock/.test(text))
  const restart = async (at: number, environment: Readonly<Record<string, string>>) => {
    load.markFault()
    await cluster.end(at, 'SIGTERM')
    await cluster.replace(at, { environment })
    await pause(READY_MS)
  }
  await restart(0, ahead(1.5))
  await restart(1, ahead(-1.5))
  await pause(SKEWED_MS)
  if (hasWarned(0) || hasWarned(1)) faults.push('a difference of 1.5 s causes a warning')
  report('1.5 s ahead, 1.5 s behind')

  await restart(0, ahead(30))
  await pause(SKEWED_MS)
  const { status } = await readReadiness(cluster.nodes[0]!.url)
  if (status !== 200) faults.push(`a node 30 s ahead is not ready: ${status}`)
  if (!hasWarned(0)) faults.push('a difference of 30 s causes no warning')
  report('30 s ahead')

  load.markFault()
  await cluster.end(0, 'SIGTERM')
  const isRefused = await cluster.replace(0, { environment: ahead(90) }).then(
    () => false,
    () => true,
  )
  if (!isRefused) faults.push('a node starts 90 s ahead')
  if (!isRefused) await cluster.end(0, 'SIGKILL')
  report('90 s ahead')

  const { becomes, set } = await startWithMovingClock(faults, context)
  await set(65)
  await becomes(503)
  report('the clock of a running node has advanced by 65 s')
  await witness.until(IN_ATTENTION)
  await set(0)
  await becomes(200)
  return faults
}

/** The clock of a node falls behind by an hour, and jumps back: the node has the right time. */
async function jumpAnHour(context: Faults): Promise<string[]> {
  const { cluster, load, report, witness } = context
  const faults: string[] = []
  load.markFault()
  await cluster.end(0, 'SIGTERM')
  const { becomes, set } = await startWithMovingClock(faults, context)
  await becomes(200)
  load.markFault()
  await set(-3_600)
  report('the clock of a running node is an hour behind')
  await witness.until(IS_SET_BACK)
  await pause(FOLLOWED_MS)
  await becomes(200)
  await load.recovery()
  await set(0)
  await load.recovery()
  return faults
}

/** Starts a server whose wall clock is that of a file; its user has to read it. */
async function startWithClock(file: string): Promise<PostgresServer> {
  const { FAKETIME: _, ...library } = ahead(0)
  const environment = { ...library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }
  Object.assign(process.env, environment)
  try {
    return await startPostgres(SETTINGS)
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name]
  }
}

/** The clock of the database's machine advances by ten minutes: nodes agree, and go on. */
async function jumpDatabase(context: ChaosContext): Promise<ChaosCounts> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-clock-'))
  await chmod(folder, 0o755)
  const file = join(folder, 'faketime')
  await writeFile(file, '+0\n')
  const server = await startWithClock(file)
  try {
    const databaseUrl = await createDatabase(server.url)
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return await auditFault(context, world, async ({ cluster, load, witness, expect }) => {
      load.markFault()
      await writeFile(file, '+600\n')
      await witness.until(DATABASE_IS_WRONG)
      await load.recovery()
      for (const { url } of cluster.nodes) {
        const { status, text } = await readReadiness(url)
        expect(status === 200, `a node is not ready: ${text}`)
      }
      await cluster.end(0, 'SIGTERM')
      await cluster.replace(0)
      await load.recovery()
      await writeFile(file, '+0\n')
      await pause(MEASURED_MS)
    })
  } finally {
    await server.stop()
    await rm(folder, { recursive: true })
  }
}

const onClocks =
  (inject: (faults: Faults) => Promise<string[]>) =>
  async (context: ChaosContext): Promise<ChaosCounts> => {
    let own: readonly string[] = []
    const counts = await runUnderLoad(context, async (faults) => {
      own = await inject(faults)
    })
    return { ...counts, faults: [...counts.faults, ...own] }
  }

const missing = () => needHaproxy() ?? (LIBRARY ? undefined : 'libfaketime is not installed')

export const clockFaults: readonly ChaosScenario[] = [
  {
    name: 'clock',
    title: 'clocks of nodes differ by 1.5, 30 and 90 s',
    groups: ['load', 'operate', 'drill'],
    nodes: [2],
    words: [
      NOT_READY,
      /log of node\d: .*clock/,
      IN_ATTENTION,
      /system: .*clock/,
      /metrics: gatehook_clock_difference_seconds/,
    ],
    missing,
    run: onClocks(skewClocks),
  },
  {
    name: 'hour-of-a-clock',
    title: 'the clock of a node falls behind by an hour, and returns',
    groups: ['operate'],
    nodes: [2],
    words: [IS_SET_BACK, /log of node1: .*clock/],
    missing,
    run: async (context) => requireNoFailure(await onClocks(jumpAnHour)(context)),
  },
  {
    name: 'clock-of-the-database',
    title: "the clock of the database's machine advances by ten minutes, and returns",
    groups: ['operate'],
    nodes: [2],
    words: [DATABASE_IS_WRONG, /log of node1: .*clock of the database's machine/],
    missing,
    run: async (context) => requireNoFailure(await jumpDatabase(context)),
  },
]
