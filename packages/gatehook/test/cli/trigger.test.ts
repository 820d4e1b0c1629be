/** `gatehook trigger` causes every event type of the reference service, and fills actions. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { hotel } from '../../examples/bookings/service.ts'
import { marketplace } from '../../examples/marketplace/service.ts'
import { api as reference } from '../../service/service.ts'
import { sampleValues, triggerable } from '../../src/cli/sample-event.ts'
import { suggestEventType } from '../../src/declare/resources/triggerable-event.ts'
import { f, resource } from '../../src/gatehook.ts'
import { gatehook } from './command.ts'

test('the body of a sample lacks values that the service sets', () => {
  const access = { read: 'o:read', create: 'o:write', update: false, delete: false } as const
  const { definition } = resource('orders', {
    fields: { id: f.id(), why: f.string(), number: f.int().default(0).readonly() },
    ...{ list: { filter: [], sort: [] }, access, events: [] },
  }).sample((n) => ({ why: `Reason ${n}`, number: n }))
  assert.deepEqual(sampleValues(definition, 3), { why: 'Reason 3' })
})

const services = {
  service: reference,
  'examples/bookings': hotel,
  'examples/marketplace': marketplace,
}

for (const [folder, { definition }] of Object.entries(services)) {
  test(`every event type of ${folder} can be triggered`, async (t) => {
    const dir = fileURLToPath(new URL(`../../${folder}`, import.meta.url))
    const cwd = emptyFolder(t)
    const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(cwd, 'g.db')}` }
    assert.equal((await gatehook({ cwd, env }, 'migrate', '--dir', dir)).exit, 0)
    assert.equal((await gatehook({ cwd, env }, 'seed', '--dir', dir)).exit, 0)
    // On empty tables, as in the first steps of the console.
    const suggestion = suggestEventType(definition)!
    const first = await gatehook(
      { cwd, env },
      'trigger',
      suggestion,
      '--dir',
      dir,
      '--mode',
      'live',
    )
    assert.equal(first.exit, 0, first.stderr)
    const failures: string[] = []
    for (const type of triggerable(definition)) {
      const { exit, stderr } = await gatehook({ cwd, env }, 'trigger', type, '--dir', dir)
      if (exit !== 0) failures.push(`${type}: ${stderr}`)
    }
    assert.deepEqual(failures, [])
  })
}

const desks = `import { f, resource, service } from 'gatehook'

const desks = resource('desks', {
  fields: { id: f.id(), number: f.pattern(/^[0-9]$/).unique() },
  list: { filter: [], sort: ['id'] },
  access: { read: 'd:read', create: 'd:write', update: false, delete: false },
  events: ['desk.created'],
}).sample((n) => ({ number: String(n % 10) }))
export const api = service({
  name: 'Desks', versions: { v1: { released: '2026-01-01' } }, resources: [desks],
})
`

test('a sample row differs from the rows that exist, while a value is free', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.mjs'), desks)
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(cwd, 'g.db')}` }
  assert.equal((await gatehook({ cwd, env }, 'migrate')).exit, 0)
  const results = []
  for (let n = 0; n < 11; n++) {
    results.push(await gatehook({ cwd, env }, 'trigger', 'desk.created'))
  }
  const last = results.pop()!
  assert.deepEqual([...new Set(results.map(({ exit, stderr }) => `${exit} ${stderr}`))], ['0 '])
  assert.notEqual(last.exit, 0)
  assert.match(last.stderr, /The sample row of desks was rejected/)
})

const invoices = `import { f, resource, service } from 'gatehook'

const access = { read: 'i:read', create: 'i:write', update: false, delete: false }
const list = { filter: [], sort: ['id'] }
const accounts = resource('accounts', {
  fields: { id: f.id(), name: f.string() }, list, access, events: [],
})
const invoices = resource('invoices', {
  fields: {
    id: f.id(),
    status: f.oneOf(['open', 'paid']).default('open').readonly(),
    paid_on: f.date().nullable().default(null).readonly(),
    memo: f.string().nullable().default(null).readonly(),
  },
  list, access, events: [],
}).action('pay', {
  scope: 'i:write', from: ['open'], to: 'paid', emits: 'invoice.paid',
  input: { paid_on: f.date(), account_id: f.ref('accounts'), memo: f.string().default('none') },
  run: ({ input: { paid_on, memo } }) => ({ paid_on, memo }),
})
export const api = service({
  name: 'Invoices', versions: { v1: { released: '2026-01-01' } }, resources: [accounts, invoices],
})
`

test('an event that no request of the API causes is no event to trigger', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(
    join(cwd, 'service.mjs'),
    invoices.replace(
      'events: [],\n}).action',
      "events: ['invoice.created', 'invoice.updated', 'invoice.deleted'],\n}).action",
    ),
  )
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(cwd, 'g.db')}` }
  assert.equal((await gatehook({ cwd, env }, 'migrate')).exit, 0)
  const exits = ['created', 'updated', 'deleted'].map(
    async (verb) => (await gatehook({ cwd, env }, 'trigger', `invoice.${verb}`)).exit,
  )
  assert.deepEqual(await Promise.all(exits), [0, 2, 2])
})

test('an action gets samples, rows that it refers to, and the given members', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.mjs'), invoices)
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(cwd, 'g.db')}` }
  assert.equal((await gatehook({ cwd, env }, 'migrate')).exit, 0)
  const trigger = (...args: string[]) =>
    gatehook({ cwd, env }, 'trigger', 'invoice.paid', '--json', ...args)
  const sample = await trigger()
  assert.equal(sample.exit, 0, sample.stderr)
  assert.equal(JSON.parse(sample.stdout).data.object.memo, 'none')
  const given = await trigger('--input', '{"paid_on": "2026-11-28", "memo": "cash"}')
  const { paid_on, memo } = JSON.parse(given.stdout).data.object
  assert.deepEqual([paid_on, memo], ['2026-11-28', 'cash'])
  assert.deepEqual(
    [(await trigger('--input', '[]')).exit, (await trigger('--input', '7')).exit],
    [2, 2],
  )
})
