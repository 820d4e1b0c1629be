/**
 * §15: own code that does not await a change, throws any value or returns one, changes nothing in
 * part: its transaction or attempt fails with a sentence, and the process goes on.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/gatehook.ts'
import { CANARY, type Context, crates, jammed, validArguments } from '../fixtures/yard.ts'
import { inside, openYard, use, verify, type Words, wordOf } from '../fixtures/yard-rig.ts'

const throws = () => {
  throw new Error('hostile')
}
const hostile = new Proxy({}, { get: throws, has: throws, ownKeys: throws })
const unreadable = Object.defineProperty(new Error('x'), 'message', { get: throws })
const plain = (value: unknown) => value as never
const CHANGE: Context = '`.route()`, other methods'

/** Plain JavaScript can throw any value. */
const thrown: readonly (() => unknown)[] = [
  ...[undefined, null, 0, 'text', 7n, Symbol('x'), Object.create(null), hostile, unreadable].map(
    (value) => () => value,
  ),
  () => ({ pin: CANARY }),
  () => Object.assign(new Error('x'), { pin: CANARY, detail: CANARY }),
  () => new Error('x'.repeat(1_000_000)),
  () => new Failure(plain('no_such_code'), 'x'),
  () => new Failure('conflict', plain(Symbol('x'))),
  () => new Failure('conflict', 'x', plain({ errors: 'x' })),
  () => new Failure('conflict', 'x', plain({ errors: [null] })),
  () => new Failure('conflict', 'x', plain({ errors: [{ pointer: 7, code: 'conflict' }] })),
  () => new Failure('conflict', 'x', plain({ details: { n: 7n } })),
  () => new Failure('conflict', 'x', plain({ headers: { 'x-a': 'a\r\nb' } })),
  () => jammed(plain({})),
  () => jammed(plain({ details: { n: CANARY } })),
  () => jammed(plain({ details: { n: 1 }, message: 7 })),
  () => jammed(plain({ details: { n: 1 }, errors: [{ pointer: '/a', code: 7 }] })),
]

const throwing: readonly Context[] = [
  CHANGE,
  '`.route()`, GET',
  '`.route({ steps: true })`',
  'the code of a step',
  '`run` of an action',
  '`.rule()`',
  '`.job()`',
]

const loop: Record<string, unknown> = {}
loop.loop = loop
const returned = [7, 'text', 7n, Symbol('x'), () => 1, [1], { body: 7n }, { body: loop }, hostile]
returned.push(
  { status: 99 },
  { status: 'x' },
  { headers: 7 },
  { headers: { 'x-a': '\n' } },
  { a: 1 },
)

for (const { name: kind } of databases) {
  test(`any thrown or returned value has an answer [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const contexts = kind === 'postgres' ? throwing.slice(0, 3) : throwing
    for (const context of contexts) {
      for (const [n, create] of thrown.entries()) {
        const run = () => {
          throw create()
        }
        const reply = await yard.runIn(context, run)
        verify(yard, reply, `${context} throws ${n}`)
        if (reply) assert.ok(reply.status >= 400, `${context} throws ${n}`)
      }
      for (const [n, value] of returned.entries()) {
        verify(yard, await yard.runIn(context, () => value), `${context} returns ${n}`)
      }
    }
    const error = Error.stackTraceLimit
    assert.ok(error > 0, 'errors still have their stack')
  })

  test(`a change that own code does not await fails as a whole [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const totals = async () =>
      Promise.all(
        ['/api/v1/crates', '/events'].map(
          async (path) => (await yard.get(`${path}?pagination=page&limit=1`)).body.total,
        ),
      )
    const changes = [
      'create',
      'update',
      'act',
      'remove',
      'emit',
      'enqueue',
      'lock',
      'get',
      'sql.all',
    ]
    for (const name of changes) {
      const rows = await yard.rows()
      const given = validArguments[name]!(rows)
      let before: unknown
      const drop = inside(true, use(name, given, true))
      const reply = await yard.runIn(CHANGE, async (words) => {
        before = await totals()
        return drop(words)
      })
      assert.equal(reply?.status, 500, name)
      const sentence = `own code does not await tx.${name}`
      assert.ok(
        yard.lines.some((line) => line.includes(sentence)),
        name,
      )
      assert.deepEqual(await totals(), before, name)
      verify(yard, reply, name)
    }
  })

  test(`a step or write that own code does not await ends the attempt [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const cases: readonly (readonly [Context, string, readonly unknown[]])[] = [
      ['`.route({ steps: true })`', 'step', ['a', () => 1]],
      ['`.route({ steps: true })`', 'write', ['a', () => 1]],
      ['`.route({ steps: true })`', 'read', ['a', () => 1]],
      ['`.job()`', 'step', ['a', () => 1]],
      ['`.job()`', 'write', [() => 1]],
      [CHANGE, 'write', [() => 1]],
    ]
    for (const [context, name, given] of cases) {
      const reply = await yard.runIn(context, use(name, given, true))
      const title = `${context} ${name}`
      if (reply) assert.ok(reply.status >= 500, title)
      assert.ok(
        yard.lines.some((line) => line.includes(`does not await ${name}`)),
        title,
      )
      verify(yard, reply, title)
    }
  })

  test(`a transaction is of no use after its end [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    for (const context of [CHANGE, '`.job()`'] as const) {
      let late: Words | undefined
      await yard.runIn(
        context,
        inside(true, (tx) => {
          late = tx as Words
        }),
      )
      const { id } = await yard.rows()
      for (const [name, given] of [
        ['create', [crates, { label: 'late' }]],
        ['remove', [crates, id]],
        ['get', [crates, id]],
      ] as const) {
        await assert.rejects(async () => wordOf(late!, name)(...given), /has ended/, name)
      }
      assert.equal((await yard.get(`/api/v1/crates/${id}`)).status, 200)
      verify(yard, undefined, context)
    }
  })
}
