/** A receiver that is slow beside one that is not; a node that ended and stays away. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, withDatabase } from './under-load.ts'

/** Above the time from which an attempt is slow. */
const SLOW_MS = 3_000
/** §18.10 */
const LISTED_MAX_MS = 60_000

async function openSlowReceiver() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => setTimeout(() => response.end(), SLOW_MS))
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
    const receiver = await openSlowReceiver()
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    const counts = await auditFault(context, world, async ({ load, witness, expect }) => {
      load.markFault()
      await load.register(receiver.url)
      await witness.until(/attention: \w+ endpoint_slow/)
      await witness.until(/metrics: gatehook_webhook_receivers.*slow/)
      await load.recovery()
      expect(!witness.find(/readyz 503|queue_old/), 'one slow receiver makes a node late')
    }).finally(receiver.close)
    const { failed = 0, faults } = counts
    return failed === 0 ? counts : { ...counts, faults: [...faults, `failed: ${failed}`] }
  })

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
    groups: ['operate'],
    nodes: [2],
    words: [/attention: \w+ endpoint_slow/, /metrics: gatehook_webhook_receivers.*slow/],
    missing: needHaproxy,
    run: slowDown,
  },
  {
    name: 'ended-node',
    title: 'a node ends by kill -9 and stays away',
    groups: ['operate'],
    nodes: [2],
    words: [/attention: bad node_not_ready: node2/],
    missing: needHaproxy,
    run: endNode,
  },
]
