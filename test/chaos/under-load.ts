/** Runs faults while clients pay on nodes behind haproxy, and verifies the books. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import type { Kind } from '../rig/databases.ts'
import { hasHaproxy } from '../rig/haproxy.ts'
import { createDatabase, type PostgresServer, startPostgres } from '../rig/postgres.ts'
import { booksOf } from './books.ts'
import { Cluster } from './cluster.ts'
import { type PaymentAudit, PaymentLoad } from './payments.ts'
import type { Release } from './payments-service.ts'
import type { ChaosContext, ChaosCounts } from './scenario.ts'
import { watch } from './watch.ts'

/** Without fsync a crash of the server process, not of the machine, loses no commit. */
export const SETTINGS = ['fsync=off', 'full_page_writes=off']

/** How long the load runs before and after the faults. */
const QUIET_MS = 2_000
/** Fewer acknowledged payments say that the nodes did not recover between the faults. */
const PAYMENTS_MIN = 50

export interface Faults extends ChaosContext {
  readonly cluster: Cluster
  readonly load: PaymentLoad
  readonly databaseUrl: string
  readonly key: string
}

export interface LoadWorld {
  /** The address that nodes use. */
  readonly databaseUrl: string
  /** Returns the address of the server that has the books after the faults. */
  readonly booksUrl: () => string
  readonly release?: Release
  readonly spares?: number
  readonly environment?: Readonly<Record<string, string>>
}

export const needHaproxy = () => (hasHaproxy ? undefined : 'haproxy is not installed')

/** Starts nodes and load, injects the faults, and returns the audit. */
export async function auditUnderLoad(
  context: ChaosContext,
  { databaseUrl, booksUrl, release = 'first', spares = 0, environment = {} }: LoadWorld,
  inject: (faults: Faults) => Promise<void>,
): Promise<PaymentAudit> {
  const { nodes, folder, random, witness } = context
  const key = generateApiKey(systemRandom(), 'live')
  const options = { nodes, databaseUrl, key, folder, environment, release, spares, witness }
  const cluster = await Cluster.start(options)
  let load: PaymentLoad | undefined
  const endWatch = watch({ cluster, key, witness })
  try {
    load = await PaymentLoad.start({ url: cluster.url, key, random, witness, nodes })
    await pause(QUIET_MS)
    await inject({ ...context, cluster, load, databaseUrl, key })
    await pause(QUIET_MS)
    return await load.finish((text) => booksOf(booksUrl())(text))
  } finally {
    load?.close()
    await endWatch()
    await cluster.stop()
  }
}

/** Returns the counts of an audit. Nothing may be lost, doubled, double-spent, or wrong. */
export function verifyAudit({ wrong, inFlight, ...counts }: PaymentAudit): ChaosCounts {
  const faults = [...new Set(wrong)].slice(0, 5)
  for (const name of ['lost', 'doubled', 'doubleSpent', 'phantom'] as const) {
    if (counts[name] > 0) faults.push(`${name}: ${counts[name]}`)
  }
  if (counts.resent > inFlight) {
    faults.push(`${counts.resent} webhooks arrived again; ${inFlight} were in flight`)
  }
  if (counts.acknowledged < PAYMENTS_MIN) faults.push(`${counts.acknowledged} payments only`)
  return { ...counts, resentMax: inFlight, faults }
}

/** No request may fail. */
export function requireNoFailure(counts: ChaosCounts): ChaosCounts {
  const { failed = 0, faults } = counts
  return failed === 0 ? counts : { ...counts, faults: [...faults, `failed: ${failed}`] }
}

/** §18.1: a request waits for at most 5 s; the rest is that of a busy machine. */
const WAIT_MAX_MS = 6_500

/** No request may wait without a bound. */
export function requireShortWaits(counts: ChaosCounts): ChaosCounts {
  const { longestWaitMs = 0, faults } = counts
  if (longestWaitMs <= WAIT_MAX_MS) return counts
  return { ...counts, faults: [...faults, `a request waited for ${longestWaitMs} ms`] }
}

/** Requires that the product has named as many changes as a failover has lost, or more. */
export function verifyLoss(
  audit: PaymentAudit,
  acknowledged: ReadonlyMap<string, number>,
  named: number,
): ChaosCounts {
  const { faults, ...counts } = verifyAudit({ ...audit, lost: 0, phantom: 0 })
  const ids = [...acknowledged.values()]
  const repeated = ids.length - new Set(ids).size
  const own = [...faults]
  if (audit.lost === 0) own.push('the standby lacked no commit, so the failover was not tried')
  if (audit.lost > named) own.push(`lost: ${audit.lost}, of which ${named} were named`)
  if (repeated > 0) own.push(`${repeated} ids were assigned twice`)
  return { ...counts, lost: audit.lost, named, faults: own }
}

/** Runs with an empty database: of a server of its own, or a file in the folder. */
export async function withDatabase<T>(
  kind: Kind,
  { folder }: ChaosContext,
  run: (url: string, server: PostgresServer | undefined) => Promise<T>,
): Promise<T> {
  if (kind === 'sqlite') return run(`sqlite:${join(folder, 'data', 'gatehook.db')}`, undefined)
  const server = await startPostgres(SETTINGS)
  try {
    return await run(await createDatabase(server.url), server)
  } finally {
    await server.stop()
  }
}

/** Runs faults on nodes with a server of their own. */
export async function runUnderLoad(
  context: ChaosContext,
  inject: (faults: Faults, server: PostgresServer) => Promise<void>,
): Promise<ChaosCounts> {
  return withDatabase('postgres', context, async (databaseUrl, server) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return verifyAudit(await auditUnderLoad(context, world, (faults) => inject(faults, server!)))
  })
}

export interface OperatorFaults extends Faults {
  /** Records a broken promise unless the condition holds. */
  expect(holds: boolean, sentence: string): void
}

/** Runs one fault on a world, and verifies the books and what the fault expects. */
export async function auditFault(
  context: ChaosContext,
  world: LoadWorld,
  inject: (faults: OperatorFaults) => Promise<void>,
): Promise<ChaosCounts> {
  const broken: string[] = []
  const expect = (holds: boolean, sentence: string) => {
    if (!holds) broken.push(sentence)
  }
  const audit = await auditUnderLoad(context, world, (faults) => inject({ ...faults, expect }))
  const { faults, ...counts } = verifyAudit(audit)
  return { ...counts, faults: [...faults, ...broken] }
}
