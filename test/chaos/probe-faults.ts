/** Probes that fail while no caller is harmed: of a node that drains for long. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getFrom } from './node-requests.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  needHaproxy,
  type OperatorFaults,
  requireNoFailure,
  withDatabase,
} from './under-load.ts'

/** More than would be an item of attention, if they were requests. */
const PROBES = 400
const AT_ONCE = 10
const DRAIN_DELAY_S = 30

interface Items {
  readonly data: readonly { readonly kind?: string; readonly status?: number }[]
}

interface LogLine {
  readonly url?: string
  readonly status?: number
}

/** Statuses of the lines that a node has logged for `/readyz`. */
function loggedProbes(folder: string, node: string): number[] {
  const lines = readFileSync(join(folder, `${node}.log`), 'utf8').split('\n')
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine)
    .flatMap(({ url, status }) => (url === '/readyz' && status !== undefined ? [status] : []))
}

async function failProbes({ cluster, load, witness, key, folder, expect }: OperatorFaults) {
  load.markFault()
  const [draining, other] = cluster.nodes
  const before = loggedProbes(folder, 'node1').length
  const ending = cluster.end(0, 'SIGTERM')
  let failed = 0
  while (failed < PROBES && draining!.child.exitCode === null) {
    const probes = Array.from({ length: AT_ONCE }, () => getFrom(`${draining!.url}/readyz`))
    for (const { status } of await Promise.all(probes)) if (status === 503) failed++
  }
  expect(failed >= PROBES, `the node drained during ${failed} failed probes`)
  await witness.until(FAILED)
  const logged = loggedProbes(folder, 'node1').slice(before)
  expect(logged.join() === '503', `the log has lines for the probes ${logged}`)
  await ending
  await load.recovery()
  const read = async (path: string) =>
    JSON.parse((await getFrom(other!.url + path, { 'x-api-key': key })).text) as Items
  const errors = (await read('/admin/errors')).data.filter(({ status = 0 }) => status >= 500)
  expect(errors.length === 0, `/admin/errors has ${JSON.stringify(errors)}`)
  const kinds = (await read('/admin/attention')).data.map(({ kind }) => kind)
  expect(!kinds.includes('server_errors'), 'probes count as errors of callers')
  await cluster.replace(0)
  await load.recovery()
}

const FAILED = /metrics: gatehook_http_probes_total\{route="\/readyz",status="503"\}/

async function run(context: ChaosContext): Promise<ChaosCounts> {
  const environment = { GATEHOOK_DRAIN_DELAY_S: String(DRAIN_DELAY_S) }
  return requireNoFailure(
    await withDatabase('postgres', context, (databaseUrl) => {
      const world = { databaseUrl, booksUrl: () => databaseUrl, environment }
      return auditFault(context, world, failProbes)
    }),
  )
}

export const probeFaults: readonly ChaosScenario[] = [
  {
    name: 'failing-probes',
    title: `${PROBES} probes fail at a node that drains, and no request does`,
    groups: ['operate'],
    nodes: [2],
    words: [/readyz 503: draining/, FAILED],
    missing: needHaproxy,
    run,
  },
]
