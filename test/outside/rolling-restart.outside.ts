/**
 * The installed package as the files of `deploy/` start it: systemd, Compose and Kubernetes; and
 * §2.4 with the haproxy file: two nodes on PostgreSQL are restarted in turn under load, without a
 * pause, and no request of 10,000 fails. Needs a package registry, and haproxy for the second part.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { onEnd } from '../rig/cleanup.ts'
import { freshUrl } from '../rig/databases.ts'
import { haproxyCertificate, hasHaproxy, startHaproxy } from '../rig/haproxy.ts'
import { freePort } from '../rig/postgres.ts'
import {
  type Launch,
  launch,
  probeUntil,
  readCompose,
  readHealthCheck,
  readManifests,
  readUnit,
  statusOf,
  terminate,
} from './shipped.ts'
import { openSharedProject } from './stage.ts'

const REQUESTS = 10_000
const CONNECTIONS = 16
const RESTARTS = 4
const SECRET = 'a secret that only tests know, long enough'

let shared: Awaited<ReturnType<typeof openSharedProject>>
before(async () => {
  shared = await openSharedProject()
})
after(() => shared?.close())

/** Starts, probes and ends a node as its supervisor does. `check` runs while it is ready. */
async function live(started: Launch, port: number, node: ChildProcess, check = () => {}) {
  await probeUntil(started, node, port, (status) => status === 200)
  check()
  const ended = terminate(started, node)
  // It serves while it drains, and says so to balancers.
  await probeUntil(
    { ...started, probe: { path: '/readyz', periodMs: 50 } },
    node,
    port,
    (status) => {
      assert.notEqual(status, 0, 'a draining node accepts connections')
      return status === 503
    },
  )
  assert.equal(await statusOf(port, '/healthz'), 200)
  assert.equal(await ended, 0, 'it ends by itself within its time')
}

test('systemd: the unit starts, drains and ends the package', async (t) => {
  const port = await freePort()
  const url = await freshUrl(t, 'postgres')
  const unit = readUnit(shared.project, {
    GATEHOOK_PUBLIC_URL: 'https://api.example.com',
    GATEHOOK_TRUST_PROXY: '127.0.0.1',
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_SECRET_KEY: SECRET,
  })
  await live(unit, port, launch(unit, shared.project, { GATEHOOK_PORT: String(port) }))
})

test('Compose: the image starts, is healthy, drains and ends', async (t) => {
  const port = await freePort()
  const values = { GATEHOOK_DOMAIN: 'api.example.com', GATEHOOK_SECRET_KEY: SECRET }
  const compose = readCompose({ ...values, POSTGRES_PASSWORD: 'unused' })
  const own = {
    GATEHOOK_DATABASE_URL: await freshUrl(t, 'postgres'),
    GATEHOOK_PORT: String(port),
    GATEHOOK_INTERNAL: '',
  }
  const node = launch(compose, shared.project, own)
  await live(compose, port, node, () => {
    const [, ...args] = readHealthCheck().map((word) => word.replace('8787', String(port)))
    assert.equal(spawnSync(process.execPath, args).status, 0, 'the image is healthy')
  })
})

test('Kubernetes: the job migrates, a pod starts, drains and ends', async (t) => {
  const port = await freePort()
  const url = await freshUrl(t, 'postgres')
  const { job, pod } = readManifests({
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_SECRET_KEY: SECRET,
  })
  const [code] = await once(launch(job, shared.project, {}), 'exit')
  assert.equal(code, 0, 'the job of the migration')
  const ports = { GATEHOOK_PORT: String(port), GATEHOOK_INTERNAL: '' }
  await live(pod, port, launch(pod, shared.project, ports))
})

/** Sends one request; returns its status, or for a failure what the client got. */
const send = (agent: Agent, url: string, key: string, method: 'GET' | 'POST'): Promise<string> =>
  new Promise((resolve) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const sent = request(`${url}/api/v1/books`, { agent, method, headers })
    const fail = (error: Error) => resolve(`${method} ${error.message}`)
    sent.once('error', fail)
    sent.once('response', async (response) => {
      const status = response.statusCode!
      const body = await text(response).catch(String)
      resolve(status < 300 ? String(status) : `${method} ${status} ${body.slice(0, 120)}`)
    })
    sent.end(method === 'POST' ? '{"title":"Emma"}' : undefined)
  })

test('a rolling restart behind haproxy fails no request of 10,000', {
  skip: !hasHaproxy && 'haproxy is not installed',
}, async (t) => {
  const ports = [await freePort(), await freePort()]
  const key = generateApiKey(systemRandom(), 'live')
  const unit = readUnit(shared.project, {
    GATEHOOK_DATABASE_URL: await freshUrl(t, 'postgres'),
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: SECRET,
    GATEHOOK_TRUST_PROXY: '127.0.0.1',
    GATEHOOK_RATE_LIMIT: '0',
  })
  const nodes: ChildProcess[] = []
  const start = async (at: number) => {
    nodes[at] = launch(unit, shared.project, { GATEHOOK_PORT: String(ports[at]) })
    await probeUntil(unit, nodes[at], ports[at]!, (status) => status === 200)
  }
  onEnd(t, () => {
    for (const node of nodes) node.kill('SIGKILL')
  })
  await start(0)
  await start(1)
  const balancer = await startHaproxy(ports)
  onEnd(t, balancer.stop)
  const { url } = balancer
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca: haproxyCertificate })
  onEnd(t, () => agent.destroy())
  for (let tries = 0; (await send(agent, url, key, 'GET')) !== '200'; tries++) {
    assert.ok(tries < 200, 'no node serves behind haproxy')
    await pause(50)
  }

  const results = new Map<string, number>()
  let requests = 0
  let restarts = 0
  const load = async () => {
    while (restarts < RESTARTS || requests < REQUESTS) {
      const result = await send(agent, url, key, ++requests % 5 === 0 ? 'POST' : 'GET')
      results.set(result, (results.get(result) ?? 0) + 1)
    }
  }
  const restart = async () => {
    for (; restarts < RESTARTS; restarts++) {
      const node = restarts % nodes.length
      assert.equal(await terminate(unit, nodes[node]!), 0)
      await start(node) // the other node is next, without a pause
    }
  }
  await Promise.all([restart(), ...Array.from({ length: CONNECTIONS }, load)])
  t.diagnostic(JSON.stringify(Object.fromEntries(results)))
  assert.deepEqual([...results.keys()].sort(), ['200', '201'])
})
