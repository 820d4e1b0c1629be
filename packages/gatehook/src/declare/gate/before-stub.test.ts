/** Stubs for every pair of field kinds compile and restore the promised shape. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOfService } from '../../../test/gate/service-copy.ts'
import { check, promisesOf } from '../../cli/check.ts'
import { f } from '../../protocol/fields/f.ts'
import type { AnyField } from '../../protocol/fields/fields.ts'
import { resource } from '../resources/resource.ts'
import { service } from '../resources/service.ts'
import { lockOf } from './lock.ts'
import { fieldCode } from './stub-conversion.ts'

const kinds: Readonly<Record<string, AnyField>> = {
  short: f.string().min(1).max(20),
  long: f.string().max(600),
  maybe: f.string().nullable().default(null),
  email: f.email(),
  url: f.url(),
  currency: f.currency().default('EUR'),
  few: f.oneOf(['a', "it's"]).default('a'),
  many: f.oneOf(['a', 'b', 'c']),
  odd: f.oneOf(['c', 'd']).nullable().default(null),
  count: f.int().min(1).max(9),
  total: f.int().readonly().default(0),
  perhaps: f.int().nullable().default(null),
  share: f.number(),
  flag: f.bool().default(false),
  at: f.time(),
  day: f.date(),
  clock: f.timeOfDay(),
  token: f.uuid(),
  lasts: f.duration(),
  code: f.pattern(/^[a-z]+(-[a-z]+)*$/),
  price: f.decimal(12, 2).min(0),
  rate: f.decimal(8, 4),
  place: f.object({ city: f.string(), point: f.object({ lat: f.number() }).nullable() }),
  tags: f.array(f.string().max(20), { max: 5 }),
  metadata: f.metadata(),
  any: f.json(),
}

const resourceOf = (name: string, fields: Record<string, AnyField>) =>
  resource(name, {
    fields: { id: f.id(), ...fields },
    list: { filter: [], sort: [] },
    access: { read: 'r', create: 'w', update: 'w', delete: false },
    events: [],
  })

const serviceOf = (resources: ReturnType<typeof resourceOf>[]) =>
  service({ name: 'kinds', versions: { v1: { released: '2026-01-01' } }, resources }).definition

/** Each field is converted to every other, renamed, removed and added. */
function cases(): { name: string; old: Record<string, AnyField>; now: Record<string, AnyField> }[] {
  const names = Object.keys(kinds)
  const all = names.flatMap((from) => [
    ...names
      .filter((to) => to !== from)
      .map((to) => ({ old: { x: kinds[from]! }, now: { x: kinds[to]! } })),
    { old: { x: kinds[from]! }, now: { y: kinds[from]! } },
    { old: { x: kinds[from]! }, now: {} },
    { old: {}, now: { x: kinds[from]! } },
  ])
  return all.map((fields, n) => ({ name: `r${n}`, ...fields }))
}

type Case = ReturnType<typeof cases>[number]

/** Resources of one service. The time of a check grows faster than their number. */
const GROUP = 182

/** Returns the stubs of a service that had the old fields and has the new ones. */
function stubsOf(group: readonly Case[]) {
  const lock = lockOf(promisesOf(serviceOf(group.map(({ name, old }) => resourceOf(name, old)))))
  const now = serviceOf(group.map(({ name, now }) => resourceOf(name, now)))
  const { mend, remaining } = check(now, lock)
  // A new optional field breaks no caller, so it has no stub.
  assert.deepEqual(remaining, [])
  return mend?.stubs ?? []
}

test('a stub compiles and restores compatibility for every change of a field', async (t) => {
  const all = cases()
  const starts = all.flatMap((_, at) => (at % GROUP === 0 ? [at] : []))
  const stubs = starts.flatMap((at) => stubsOf(all.slice(at, at + GROUP)))
  assert.ok(stubs.length > 200)
  const copy = copyOfService(t, { empty: true })
  const declarations = stubs.map(({ resource: name, code }) => {
    const { now } = all.find((change) => change.name === name)!
    const fields = Object.entries(now).map(([field, { spec }]) => `${field}: ${fieldCode(spec)}`)
    return `resource('${name}', {
      fields: { id: f.id(), ${fields.join(', ')} },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: 'w', delete: false },
      events: [],
    })${code}`
  })
  copy.write(
    'stubs.ts',
    "import { f, resource } from 'gatehook'\n" +
      `export const all = [\n${declarations.join(',\n')}\n]\n`,
  )
  assert.deepEqual(await copy.compile(), [])
})
