/**
 * Receivers that are slow or broken beside one that is not; a job that hangs; a node that ended and
 * stays away.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { getFrom } from './node-requests.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  needHaproxy,
  type OperatorFaults,
  requireNoFailure,
  withDatabase,
} from './under-load.ts'

/** Above the time from which an attempt is slow. */
const SLOW_MS = 3_000
/** §18.10 */
const LISTED_MAX_MS = 60_000

/** A page of one registration. */
interface Endpoints {
  readonly data: readonly [{ readonly url: string; readonly health: { readonly state: string } }]
}

async function openReceiver(afterMs: number) {
  const server = createServer((request, response) => {
    request.resume().once('end', () => setTimeout(() => response.end(), afterMs))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const slowDown = (context: ChaosContext): Promise<ChaosCounts> =>
  withDatabase('postgres', context, async (databaseUrl) => {
    const receiver = await openReceiver(SLOW_MS)
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    const counts = await auditFault(context, world, async (faults) => {
      const { load, cluster, key, witness, expect } = faults
      load.markFault()
      await load.register(receiver.url)
      await witness.until(/attention: \w+ endpoint_slow/)
      await witness.until(/metrics: gatehook_webhook_receivers.*slow/)
      const path = `${cluster.nodes[0]!.url}/admin/webhooks?sort=-health&limit=1`
      const { text } = await getFrom(path, { 'x-api-key': key })
      const [{ health, url }] = (JSON.parse(text) as Endpoints).data
      const isFirst = health.state === 'slow' && url.startsWith(receiver.url)
      expect(isFirst, `the least healthy receiver is ${text.slice(0, 300)}`)
      await load.recovery()
      expect(!witness.find(/readyz 503|queue_old/), 'one slow receiver makes a node late')
    }).finally(receiver.close)
    return requireNoFailure(counts)
  })

const onPostgres =
  (inject: (faults: OperatorFaults) => Promise<void>) => async (context: ChaosContext) =>
    requireNoFailure(
      await withDatabase('postgres', context, (databaseUrl) =>
        auditFault(context, { databaseUrl, booksUrl: () => databaseUrl }, inject),
      ),
    )

/** A receiver that refuses connections is the matter of its customer. */
async function breakReceiver({ load, witness, expect }: OperatorFaults) {
  const receiver = await openReceiver(0)
  await load.register(receiver.url)
  load.markFault()
  receiver.close()
  await witness.until(/attention: \w+ endpoint_failing/)
  await witness.until(/metrics: gatehook_webhook_receivers.*failing/)
  await load.recovery()
  expect(!witness.find(/readyz 503|queue_old/), 'one broken receiver makes a node late')
}

/** A handler of events waits for a service that never answers. */
async function hangJob({ cluster, load, witness }: OperatorFaults) {
  load.markFault()
  for (const at of cluster.nodes.keys()) {
    await cluster.end(at, 'SIGTERM')
    await cluster.replace(at, { release: 'stuck' })
  }
  load.markFault()
  await load.recovery()
  await witness.until(/attention: warn jobs_long/)
  await witness.until(/metrics: gatehook_job_longest_run_seconds/)
  await load.recovery()
}

const endNode = (context: ChaosContext): Promise<ChaosCounts> =>
  withDatabase('postgres', context, async (databaseUrl) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return auditFault(context, world, async ({ load, cluster, key, witness, expect }) => {
      load.markFault()
      const endedMs = performance.now()
      await cluster.end(1, 'SIGKILL')
      await witness.until(/attention: bad node_not_ready: node2/)
      const isListed = async () => {
        const headers = { 'x-api-key': key, 'x-forwarded-proto': 'https' }
        const response = await fetch(`${cluster.nodes[0]!.url}/admin/attention`, { headers })
        return (await response.text()).includes('node2')
      }
      while ((await isListed()) && performance.now() - endedMs < 2 * LISTED_MAX_MS) await pause(500)
      const listedMs = performance.now() - endedMs
      expect(listedMs < 1.2 * LISTED_MAX_MS, `the node is listed for ${Math.round(listedMs)} ms`)
      await cluster.replace(1)
      await load.recovery()
    })
  })

export const receiverFaults: readonly ChaosScenario[] = [
  {
    name: 'slow-receiver',
    title: `a receiver answers after ${SLOW_MS / 1_000} s, beside one that answers at once`,
    groups: ['operate', 'drill'],
    nodes: [2],
    words: [/attention: \w+ endpoint_slow/, /metrics: gatehook_webhook_receivers.*slow/],
    missing: needHaproxy,
    run: slowDown,
  },
  {
    name: 'broken-receiver',
    title: 'a receiver refuses connections, beside one that answers',
    groups: ['operate'],
    nodes: [2],
    words: [/attention: \w+ endpoint_failing/, /metrics: gatehook_webhook_receivers.*failing/],
    missing: needHaproxy,
    run: onPostgres(breakReceiver),
  },
  {
    name: 'stuck-job',
    title: 'a handler of events waits for a service that never answers',
    groups: ['operate', 'drill'],
    nodes: [2],
    words: [/attention: warn jobs_long/, /metrics: gatehook_job_longest_run_seconds/],
    missing: needHaproxy,
    run: onPostgres(hangJob),
  },
  {
    name: 'ended-node',
    title: 'a node ends by kill -9 and stays away',
    groups: ['operate', 'drill'],
    nodes: [2],
    words: [/attention: bad node_not_ready: node2/, /system: node2 gone/],
    missing: needHaproxy,
    run: endNode,
  },
]
