/** §2.4: the first signal makes a node unready; it serves requests until balancers notice. */
import assert from 'node:assert/strict'
import { Agent, get } from 'node:http'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { breath, eventually } from '../../../../test/rig/eventually.ts'
import { serving } from '../cli/process.ts'

interface Reply {
  readonly status: number
  readonly connection: string | undefined
}

/** Sends a GET on a connection that stays open as long as the server permits. */
const request = (agent: Agent, url: string) =>
  new Promise<Reply>((resolve, reject) => {
    get(url, { agent }, (response) => {
      const { statusCode: status = 0, headers } = response
      response.once('error', reject).once('end', () => {
        resolve({ status, connection: headers.connection })
      })
      response.resume()
    }).once('error', reject)
  })

test('a draining node is unready, serves requests, and exits at a second signal', async (t) => {
  const env = { GATEHOOK_DRAIN_DELAY_S: '300' }
  const { url, kill, ended } = await serving(t, { cwd: emptyFolder(t), env }, '--no-seed')
  const keepAlive = new Agent({ keepAlive: true, maxSockets: 1 })
  onEnd(t, () => keepAlive.destroy())
  assert.deepEqual(await request(keepAlive, `${url}/`), { status: 200, connection: 'keep-alive' })
  kill('SIGTERM')
  const ready = () => fetch(`${url}/readyz`, { headers: { connection: 'close' } })
  const unready = await eventually(ready, ({ status }) => status === 503)
  const { reasons } = (await unready.json()) as { reasons: { check: string }[] }
  assert.deepEqual(
    reasons.map(({ check }) => check),
    ['draining'],
  )
  assert.equal((await fetch(`${url}/readyz?for=read`)).status, 503)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  // On the open connection and on a new one, the response closes the connection.
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(await request(keepAlive, `${url}/`), { status: 200, connection: 'close' })
  }
  kill('SIGTERM')
  assert.equal((await ended).exit, 143)
})

/** A balancer with persistent connections: sends requests while `/readyz` is 200. */
async function balance(url: string, clients: number) {
  let [ready, sent, failed] = [true, 0, 0]
  const check = async () => {
    const agent = new Agent()
    while (ready) {
      ready = (await request(agent, `${url}/readyz`).catch(() => ({ status: 0 }))).status === 200
      await breath()
    }
  }
  const client = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (ready) {
      sent++
      const reply = await request(agent, `${url}/`).catch(() => undefined)
      if (reply?.status !== 200) failed++
    }
    agent.destroy()
  }
  await Promise.all([check(), ...Array.from({ length: clients }, client)])
  return { sent, failed }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`no request of a balancer fails while a node leaves [${kind}]`, async (t) => {
    const env = {
      GATEHOOK_DATABASE_URL: await freshUrl(t, kind),
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_RATE_LIMIT: '0',
      // Longer than the balancer takes to detect it, even on a busy machine.
      GATEHOOK_DRAIN_DELAY_S: '3',
    }
    const { url, kill, ended } = await serving(t, { cwd: emptyFolder(t), env }, '--no-seed')
    const balancer = balance(url, 8)
    await request(new Agent(), `${url}/`)
    kill('SIGTERM')
    const { sent, failed } = await balancer
    assert.equal(failed, 0, `${failed} of ${sent}`)
    assert.ok(sent >= 8, String(sent))
    assert.equal((await ended).exit, 0)
  })
}
