/** Faults of nodes: kill -9, stops of seconds, rolling restarts and changes of the schema. */
import { setTimeout as pause } from 'node:timers/promises'
import { queryAsAdmin } from '../rig/postgres.ts'
import type { Release } from './payments-service.ts'
import type { ChaosScenario } from './scenario.ts'
import { type Faults, needHaproxy, requireNoFailure, runUnderLoad } from './under-load.ts'

const KILLS = 8
/** The shorter one is below, the longer one above the time after which others take work over. */
const STOPS_MS = [4_000, 14_000]
const REQUESTS = 10_000
/** haproxy has to find a new node ready twice. */
const READY_MS = 2_000

const chooseNode = ({ cluster, random }: Faults) => Math.floor(random() * cluster.nodes.length)

async function killNodes(faults: Faults): Promise<void> {
  const { cluster, load, random, report } = faults
  for (let kill = 1; kill <= KILLS; kill++) {
    await pause(300 + random() * 1_000)
    const at = chooseNode(faults)
    load.markFault()
    await cluster.end(at, 'SIGKILL')
    await cluster.replace(at)
    report(`kill ${kill} of ${KILLS}`)
  }
}

async function stopNodes(faults: Faults): Promise<void> {
  const { cluster, load, report } = faults
  for (const ms of STOPS_MS) {
    const { child } = cluster.nodes[chooseNode(faults)]!
    load.markFault()
    child.kill('SIGSTOP')
    await pause(ms)
    child.kill('SIGCONT')
    report(`a node was stopped for ${ms / 1_000} s`)
    await pause(READY_MS)
  }
}

/** Restarts each node in turn with the given release. */
export async function restartInTurn(
  { cluster, load, report }: Faults,
  release: Release,
): Promise<void> {
  for (const at of cluster.nodes.keys()) {
    load.markFault()
    await cluster.end(at, 'SIGTERM')
    await cluster.replace(at, { release }) // the other node is next, without a pause
    report(`node ${at + 1} restarted, ${load.requests} requests`)
  }
}

/** The same, until enough requests have ended. */
async function restartUnderLoad(faults: Faults, release: Release): Promise<void> {
  await restartInTurn(faults, release)
  await faults.load.until(REQUESTS)
}

/**
 * Stores earlier payments of the wallets that can afford them, so that the new index takes a while.
 * Each transaction locks one wallet: payments wait for a lock for 5 s at most.
 */
async function fill(databaseUrl: string): Promise<void> {
  const rich = 'SELECT id FROM wallets WHERE balance > 100000'
  for (const { id } of await queryAsAdmin(databaseUrl, rich)) {
    await queryAsAdmin(
      databaseUrl,
      `WITH paid AS (INSERT INTO payments (scope, wallet_id, amount, label, memo)
          SELECT scope, id, 1, 'earlier-' || id || '-' || n, 'none'
          FROM wallets, generate_series(1, 5000) AS n WHERE id = ${id})
        UPDATE wallets SET balance = balance - 5000 WHERE id = ${id}`,
    )
  }
}

const DRAINING = /readyz 503: draining/

export const nodeFaults: readonly ChaosScenario[] = [
  {
    name: 'kill',
    title: `kill -9 of nodes, ${KILLS} times`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/log of node\d: took over the deliveries of failed nodes/],
    missing: needHaproxy,
    run: (context) => runUnderLoad(context, killNodes),
  },
  {
    name: 'stop',
    title: `SIGSTOP of nodes for ${STOPS_MS.map((ms) => ms / 1_000).join(' and ')} s`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/log of node\d: took over the deliveries of failed nodes/],
    missing: needHaproxy,
    run: (context) => runUnderLoad(context, stopNodes),
  },
  {
    name: 'rolling-restart',
    title: `restart of each node in turn, ${REQUESTS} requests`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [DRAINING],
    missing: needHaproxy,
    run: async (context) =>
      requireNoFailure(await runUnderLoad(context, (faults) => restartUnderLoad(faults, 'first'))),
  },
  {
    name: 'rolling-schema',
    title: 'a release with a new field and its index replaces each node in turn',
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [DRAINING],
    missing: needHaproxy,
    run: async (context) =>
      requireNoFailure(
        await runUnderLoad(context, async (faults) => {
          await fill(faults.databaseUrl)
          await restartUnderLoad(faults, 'next')
        }),
      ),
  },
  {
    name: 'rolling-back',
    title: 'the former release replaces one with a new field again, which its table keeps',
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [DRAINING],
    missing: needHaproxy,
    run: async (context) =>
      requireNoFailure(
        await runUnderLoad(context, async (faults) => {
          await fill(faults.databaseUrl)
          await restartInTurn(faults, 'next')
          await restartUnderLoad(faults, 'first')
          const table = 'SELECT count(tip) AS count FROM payments'
          const [row] = await queryAsAdmin(faults.databaseUrl, table)
          if (Number(row!.count) === 0) throw new Error('the new column is away')
        }),
      ),
  },
]
