/** The stub of a renamed field of every kind compiles and restores the promised shape. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOfService } from '../../../test/gate/service-copy.ts'
import { check, promisesOf } from '../../cli/check.ts'
import { f } from '../../protocol/fields/f.ts'
import type { AnyField } from '../../protocol/fields/fields.ts'
import { resource } from '../resources/resource.ts'
import { service } from '../resources/service.ts'
import { createIndex, indexesOf, storedIndex } from '../resources/table.ts'
import { fieldCode } from './field-code.ts'
import { lockOf } from './lock.ts'

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
  pin: f.string().max(8).secret(),
  cents: f.int().max(99).unit('cent'),
}

const resourceOf = (name: string, fields: Record<string, AnyField>) =>
  resource(name, {
    fields: { id: f.id(), ...fields },
    list: { filter: [], sort: [] },
    access: { read: 'r', create: 'w', update: 'w', delete: false },
    events: [],
  })

const serviceOf = (resources: Parameters<typeof service>[0]['resources']) =>
  service({ name: 'kinds', versions: { v1: { released: '2026-01-01' } }, resources }).definition

interface Case {
  readonly name: string
  readonly old: Record<string, AnyField>
  readonly now: Record<string, AnyField>
}

const named = (cases: readonly Omit<Case, 'name'>[]): Case[] =>
  cases.map((fields, n) => ({ name: `r${n}`, ...fields }))

/** Returns the gate's result for resources that had the old fields and have the new ones. */
function checkCases(cases: readonly Case[]) {
  const lock = lockOf(promisesOf(serviceOf(cases.map(({ name, old }) => resourceOf(name, old)))))
  return check(serviceOf(cases.map(({ name, now }) => resourceOf(name, now))), lock)
}

test('the stub of a renamed field compiles and restores compatibility', async (t) => {
  const cases = named(
    Object.values(kinds).map((field) => ({ old: { x: field }, now: { y: field } })),
  )
  const { mend, remaining } = checkCases(cases)
  assert.deepEqual(remaining, [])
  assert.equal(mend!.stubs.length, cases.length)
  const copy = copyOfService(t, { empty: true })
  const declarations = mend!.stubs.map(({ resource: name, code }) => {
    const { now } = cases.find((change) => change.name === name)!
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

test('a change that needs a decision has no stub, and is a break that says what it was', () => {
  const text = f.string().max(20)
  const undecided = named([
    // Another kind, or other bounds, under the same name and under another one.
    ...Object.values(kinds).flatMap((field) => [
      { old: { x: field }, now: { x: f.string().max(7) } },
      { old: { x: field }, now: { y: f.string().max(7) } },
      { old: { x: field }, now: {} },
    ]),
    // One of two fields could be the renamed one.
    { old: { a: text, b: text }, now: { c: text } },
    { old: { a: text }, now: { b: text, c: text } },
    { old: { a: text, b: text }, now: { c: text, d: text } },
    // A part of a split text is not the whole.
    { old: { name: text }, now: { first: text, last: text } },
    { old: {}, now: { x: text } },
  ])
  const { mend, verdicts } = checkCases(undecided)
  assert.deepEqual(mend?.stubs, [])
  const { breaks } = verdicts[0]!
  for (const { name } of undecided) {
    const schema = new RegExp(`schemas/R${name.slice(1)}(Create|Patch)?/|/${name}\\b`)
    assert.ok(
      breaks.some(({ where, operations }) => schema.test(`${where} ${operations}`)),
      name,
    )
  }
  for (const { sentence, promised, declared, guide } of breaks) {
    assert.ok(promised && declared && promised !== declared, `${sentence} ${promised}`)
    assert.match(guide!, /^docs\/guides\/\w+\.md#/)
  }
})

test('a renamed field keeps its stub beside a change that needs a decision', () => {
  const [a, b] = [f.string().max(20), f.int()]
  const { mend, remaining } = checkCases(named([{ old: { a, b }, now: { c: a } }]))
  assert.deepEqual(mend!.stubs[0]!.renamed, { a: 'c' })
  const sentences = remaining.flatMap(({ breaks }) => breaks.map(({ sentence }) => sentence))
  assert.ok(sentences.length > 0 && sentences.every((sentence) => /"-?b"/.test(sentence)))
})

test('a renamed field has the unique index that a new table has', () => {
  for (const softDelete of [false, true]) {
    const meters = (field: string) =>
      resource('meters', {
        fields: { id: f.id(), site: f.int(), [field]: f.string().max(20) },
        list: { filter: [], sort: [] },
        access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
        events: [],
        unique: [['site', field]],
        ...(softDelete && { softDelete }),
      })
    const lock = lockOf(promisesOf(serviceOf([meters('no')])))
    const now = serviceOf([meters('serial')])
    const [recipe] = check(now, lock).mend!.migrations
    for (const database of ['sqlite', 'postgres'] as const) {
      const [index] = indexesOf(now.resources[0]!)
        .filter(({ unique }) => unique)
        .map((declared) => storedIndex(declared, now.resources[0]!, database))
      const statement = createIndex('meters', index!)
      const ends = softDelete && database === 'sqlite'
      assert.ok(statement.endsWith(ends ? 'site, serial, scope)' : '(scope, site, serial)'))
      const ofDatabase = (code: string) =>
        code
          .split(/^ {2}(?=sqlite|postgres)/m)
          .filter((part) => part.startsWith(database))
          .join('')
      assert.ok(ofDatabase(recipe!.expand).includes(`${statement}`), recipe!.expand)
      assert.ok(!ofDatabase(recipe!.expand).replaceAll(statement, '').includes('UNIQUE'))
    }
  }
})
