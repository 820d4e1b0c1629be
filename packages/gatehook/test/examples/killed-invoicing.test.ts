/**
 * The example `examples/invoicing` under `kill -9`: no number is lost, no payment is charged twice,
 * and the program of a client uses it afterwards.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { exitOf, jsonOf, type Place, textOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { startProvider } from '../fixtures/provider.ts'

const FOLDER = fileURLToPath(new URL('../../examples/invoicing', import.meta.url))
const DRAFTS = 6
const SCOPES = [
  ...['customers', 'products', 'invoices', 'payments', 'credit_notes'].flatMap((name) => [
    `${name}:read`,
    `${name}:write`,
  ]),
  'invoices:finalize',
  'reports:read',
  'events:read',
]

type Json = Record<string, never>

async function killOffice(t: TestContext, kind: Kind): Promise<void> {
  const provider = await startProvider(t)
  const env = {
    GATEHOOK_DATABASE_URL: await freshUrl(t, kind),
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEHOOK_RATE_LIMIT: '0', // the test polls
    PROVIDER_URL: provider.url,
    PROVIDER_SECRET: 'a secret of the provider',
  }
  const place: Place = { cwd: emptyFolder(t), env }
  writeFileSync(join(place.cwd, 'service.ts'), `export { api } from '${FOLDER}/service.ts'\n`)
  await jsonOf(place, 'migrate')
  const created = await jsonOf(place, 'keys', 'create', '--name', 'a', '--scopes', SCOPES.join())
  const key = String(created.key)
  let { url, kill, ended } = await serving(t, place, '--no-seed')
  const restart = async () => {
    kill('SIGKILL')
    await ended
    ;({ url, kill, ended } = await serving(t, place, '--no-seed'))
  }
  const post = async (
    path: string,
    body?: object,
    idempotencyKey: string = crypto.randomUUID(),
  ) => {
    const response = await fetch(`${url}/api/v2${path}`, {
      method: 'POST',
      headers: {
        'x-api-key': key,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const get = async (path: string) => {
    const response = await fetch(`${url}/api/v2${path}`, { headers: { 'x-api-key': key } })
    return (await response.json()) as Json
  }

  const customer = (await post('/customers', { name: 'First', email: 'a@b.example' })).body
  const product = (await post('/products', { name: 'Lamp', unit_price: 10_000 })).body
  const lines = [{ product_id: product.id, quantity: 1 }]
  const ids: string[] = []
  for (let n = 0; n < DRAFTS; n++) {
    ids.push(String((await post('/invoices', { customer_id: customer.id, lines })).body.id))
  }
  const finalize = (id: string) => post(`/invoices/${id}/finalize`)
  // The process ends while the others are underway.
  const first = ids.map((id) => finalize(id).catch(() => undefined))
  await Promise.race(first)
  await restart()
  await Promise.all(first)
  for (const id of ids) assert.ok([200, 409].includes((await finalize(id)).status))
  const numbers: string[] = []
  for (const id of ids) numbers.push(String((await get(`/invoices/${id}`)).number))
  assert.deepEqual(
    numbers.sort(),
    ids.map((_, n) => `INV-0000${n + 1}`),
  )

  // The provider has charged, and the process ends before the response.
  const [id = ''] = ids
  const charging = new Promise<void>((resolve) => {
    provider.onRequest = () => {
      resolve()
      return new Promise(() => {})
    }
  })
  const pay = () => post(`/invoices/${id}/payments`, { amount: 5_000, source: 'card' }, 'pay-1')
  const lost = pay().catch(() => undefined)
  await charging
  provider.onRequest = undefined
  await restart()
  await lost
  const paid = await eventually(pay, ({ status }) => status === 201)
  assert.equal(paid.body.status, 'succeeded')
  const { paid: amount, reserved } = await get(`/invoices/${id}`)
  assert.deepEqual([amount, reserved], [5_000, undefined])
  assert.deepEqual([provider.charges.size, new Set(provider.keys).size], [1, 1])

  const output = await runClient(url, key)
  const number = `INV-0000${DRAFTS + 1}`
  assert.match(output, new RegExp(`^${number} is open: 95200 cents until 20`))
  assert.match(output, /pay_\w+ succeeded at most 45200\n/)
  assert.ok(output.includes(`${number} Acme Desk\n`), output)
  assert.match(output, /hidden from this key/)
  kill('SIGKILL')
}

/** Runs the program of the example, and returns its output. */
async function runClient(url: string, key: string): Promise<string> {
  const env = { PATH: process.env.PATH, INVOICING_URL: url, INVOICING_KEY: key }
  const child = spawn(process.execPath, [`${FOLDER}/client.ts`], { env })
  const [exit, output, errors] = await Promise.all([
    exitOf(child),
    textOf(child.stdout),
    textOf(child.stderr),
  ])
  assert.equal(exit, 0, errors)
  return output
}

for (const kind of ['sqlite', 'postgres'] as const satisfies readonly Kind[]) {
  test(`kill -9 loses no number and charges once [${kind}]`, (t) => killOffice(t, kind))
}
