/**
 * §2.4 with the haproxy of `deploy/`: two nodes on PostgreSQL are restarted in turn under load, and
 * no request of 10,000 fails. Needs haproxy.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { freshUrl } from '../rig/databases.ts'
import { haproxyCertificate, hasHaproxy, startHaproxy } from '../rig/haproxy.ts'
import { freePort } from '../rig/postgres.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'packages/gatehook/bin/gatehook.cjs')
const REQUESTS = 10_000
const CONNECTIONS = 16

async function startNode(environment: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, 'start', '--no-seed'], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('exit', () => reject(new Error('a node ended before it listened')))
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (line.includes('"listening"')) resolve()
  })
  await promise
  return child
}

/** Sends one request and returns its status; 0 when the connection failed. */
const send = (agent: Agent, url: string, key: string): Promise<number> =>
  new Promise((resolve) => {
    const sent = request(`${url}/api/v2/users`, { agent, headers: { 'x-api-key': key } })
    sent.once('error', () => resolve(0))
    sent.once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
    sent.end()
  })

test('a rolling restart behind haproxy fails no request of 10,000', {
  skip: !hasHaproxy && 'haproxy is not installed',
}, async (t) => {
  const ports = [await freePort(), await freePort()]
  const key = generateApiKey(systemRandom(), 'live')
  const databaseUrl = await freshUrl(t, 'postgres')
  const environments = ports.map((port) => ({
    GATEHOOK_PORT: String(port),
    GATEHOOK_DATABASE_URL: databaseUrl,
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    GATEHOOK_DRAIN_DELAY_S: '3',
    GATEHOOK_TRUST_PROXY: '127.0.0.1',
    GATEHOOK_RATE_LIMIT: '0',
  }))
  const nodes: ChildProcess[] = []
  for (const environment of environments) nodes.push(await startNode(environment))
  t.after(() => {
    for (const node of nodes) node.kill('SIGKILL')
  })
  const balancer = await startHaproxy(ports)
  t.after(balancer.stop)
  const { url } = balancer
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca: haproxyCertificate })
  t.after(() => agent.destroy())
  for (let tries = 0; (await send(agent, url, key)) !== 200; tries++) {
    assert.ok(tries < 200, 'no node serves behind haproxy')
    await pause(50)
  }

  const statuses = new Map<number, number>()
  let restarts = 0
  const load = async () => {
    while (restarts < 4 || (statuses.get(200) ?? 0) < REQUESTS) {
      const status = await send(agent, url, key)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const restart = async () => {
    for (let n = 0; n < 4; n++) {
      const node = n % 2
      nodes[node]!.kill('SIGTERM')
      await once(nodes[node]!, 'exit')
      nodes[node] = await startNode(environments[node]!)
      await pause(2_000) // haproxy has to find it ready twice
      restarts++
    }
  }
  await Promise.all([restart(), ...Array.from({ length: CONNECTIONS }, load)])
  t.diagnostic(JSON.stringify(Object.fromEntries(statuses)))
  assert.deepEqual([...statuses.keys()], [200])
})
