/**
 * §15.11: a service of 30 resources and a program that uses each of them type-check in a few
 * seconds. The test counts the instantiations of types: time would depend on the machine.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { emptyFolder } from '../rig/cleanup.ts'

const INSTANTIATIONS_MAX = 1_000_000
const numbers = Array.from({ length: 30 }, (_, n) => n)
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Each resource refers to three others, so that relations have circles. */
const resourceCode = (n: number) => {
  const reference = (step: number) => {
    const target = (n + step) % numbers.length
    return `f.ref('things${target}', 't${target}')`
  }
  return `export const things${n} = resource('things${n}', {
  fields: {
    id: f.id('t${n}'),
    parent_id: ${reference(1)}.nullable(),
    other_id: ${reference(7)},
    third_id: ${reference(13)},
    status: f.oneOf(['open', 'paid', 'void']).default('open').readonly(),
    name: f.string(), email: f.email(), amount: f.int(), price: f.decimal(10, 2), at: f.time(),
    lines: f.array(f.object({ n: f.int(), text: f.string().default('') }), { max: 9 }),
    hidden: f.int().default(0).visible('x'), pin: f.string().writeOnly(), labels: f.metadata(),
    created_at: f.createdAt(), updated_at: f.updatedAt(),
  },
  list: {
    filter: ['status', 'name', 'amount', 'at', 'labels', 'parent_id'],
    sort: ['name', 'amount', ['status', 'at']], contains: ['email'],
  },
  search: ['name'],
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: ['things${n}.created', 'things${n}.updated'],
})
  .action('pay', { scope: 'w', from: ['open'], to: 'paid', emits: 'things${n}.paid' })
  .action('void', { scope: 'w', to: 'void', input: { reason: f.string() } })
  .rule('create', () => undefined, { failures: [failure('code${n}', { status: 409,
    message: 'x', details: fields({ due: f.int() }) })] })
`
}

const routeCode = (n: number) => `  .route({ method: 'POST', path: '/things${n}/:id/parts',
    scope: 'w', summary: 's', input: { n: f.int() }, output: { rows: [things${n}], at: f.time() },
    handle: () => ({ body: { rows: [], at: 1 } }) })
`

const useCode = (n: number) => `{
  const things = client.collection('things${n}')
  for await (const row of things.list({ status: 'open', amount: { gte: 1 }, sort: ['-at'],
    email: { contains: 'a' }, expand: ['parent.other', 'third'] })) {
    console.log(row.parent?.other.name, row.third.at)
  }
  const { id } = await things.create({ parent_id: null, other_id: 'a', third_id: 'b', name: 'n',
    email: 'e', amount: 1, price: '1.00', at: 'x', lines: [{ n: 1 }], pin: '1' })
  await things.act(id, 'void', { reason: 'x' })
  const request = { params: { id }, input: { n: 1 } }
  const { rows } = await client.route('POST /things${n}/:id/parts', request)
  for await (const { data } of client.events.list({ type: 'things${n}.paid' })) {
    console.log(rows[0]?.name, data.object.status)
  }
}
`

test('a service of 30 resources and its client compile within a bound of work', async (t) => {
  const folder = emptyFolder(t)
  const service = `import { f, failure, fields, resource, service } from 'gatehook'
${numbers.map(resourceCode).join('')}
export const api = service({
  name: 'x',
  versions: { v1: { released: '2026-01-01' } },
  resources: [${numbers.map((n) => `things${n}`).join(', ')}],
})
${numbers.map(routeCode).join('')}`
  const program = `import { createClient } from 'gatehook-client'
import type { api } from './service.ts'
const client = createClient<typeof api>({ baseUrl: 'x', apiKey: 'y', version: 'v1' })
${numbers.map(useCode).join('')}export {}
`
  const config = {
    extends: root('tsconfig.json'),
    compilerOptions: {
      typeRoots: [root('node_modules/@types')],
      paths: {
        gatehook: [root('packages/gatehook/src/gatehook.ts')],
        'gatehook-client': [root('packages/client/src/client.ts')],
      },
    },
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(join(folder, 'service.ts'), service)
  writeFileSync(join(folder, 'program.ts'), program)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const words = [root('node_modules/.bin/tsc'), '-p', folder, '--extendedDiagnostics']
  const { stdout } = await promisify(execFile)(process.execPath, words)
  const [, count] = /^Instantiations: +(\d+)$/m.exec(stdout) ?? []
  assert.ok(Number(count) < INSTANTIATIONS_MAX, stdout)
})
