/**
 * §15: own code that does not await a change, throws any value or returns one, changes nothing in
 * part: its transaction or attempt fails with a sentence, and the process goes on.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/gatehook.ts'
import { unawaited } from '../../src/kernel/unawaited.ts'
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
    const changes = ['create', 'update', 'act', 'remove', 'emit', 'enqueue']
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
      const sentence = `own code does not await the end of tx.${name}`
      assert.ok(
        yard.lines.some((line) => line.includes(sentence)),
        name,
      )
      assert.deepEqual(await totals(), before, name)
      verify(yard, reply, name)
    }
  })

  test(`reads that own code does not need change no response [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const { id } = await yard.rows()
    const trials: Readonly<Record<string, (tx: Words) => unknown>> = {
      async 'Promise.all with a malformed id'(tx) {
        const get = wordOf(tx, 'get')
        await assert.rejects(Promise.all([get(crates, '?'), get(crates, id)]) as Promise<unknown>)
        await wordOf(tx, 'update')(crates, id, { weight: '1.00' })
      },
      'Promise.race': (tx) =>
        Promise.race([wordOf(tx, 'get')(crates, id), wordOf(tx, 'find')(crates, { label: 'a' })]),
      async 'the end of an iteration'(tx) {
        const get = wordOf(tx, 'get')
        for await (const _ of [get(crates, id), get(crates, id), get(crates, '?')]) break
      },
      'a read in advance': (tx) => void wordOf(tx, 'get')(crates, id),
      'a lock and a statement in advance': (tx) =>
        void ['lock', 'sql.all'].map((name) =>
          wordOf(tx, name)(...validArguments[name]!({ id, other: id })),
        ),
    }
    for (const [title, trial] of Object.entries(trials)) {
      const code = inside(true, async (tx) => {
        await trial(tx)
      })
      const reply = await yard.runIn(CHANGE, code)
      assert.ok(reply && reply.status < 300, `${title}: ${reply?.text}`)
      verify(yard, reply, title)
    }
    assert.equal((await yard.get(`/api/v1/crates/${id}`)).body.weight, '1.00')
  })

  test(`a helper that own code does not await changes all or nothing [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const { id } = await yard.rows()
    const helpers: Readonly<Record<string, (tx: Words) => Promise<unknown>>> = {
      async 'a change that runs'(tx) {
        await wordOf(tx, 'update')(crates, id, { weight: '2.00' })
      },
      async 'a change after a read'(tx) {
        await wordOf(tx, 'get')(crates, id)
        await wordOf(tx, 'update')(crates, id, { weight: '2.00' })
      },
      async 'a read that fails'(tx) {
        await wordOf(tx, 'get')(crates, '?')
        await wordOf(tx, 'update')(crates, id, { weight: '2.00' })
      },
    }
    const cases = [...Object.entries(helpers), ...Object.entries(helpers).slice(2)]
    for (const [n, [title, helper]] of cases.entries()) {
      const isEarly = n >= Object.keys(helpers).length
      const label = `helper ${n}`
      // As `gatehook start` does; the runner of tests would end this one.
      const drop = (tx: Words) => void helper(tx).catch(unawaited.note)
      const code = inside(true, async (tx) => {
        if (isEarly) drop(tx)
        await wordOf(tx, 'create')(crates, { label })
        if (!isEarly) drop(tx)
      })
      const reply = await yard.runIn(CHANGE, code)
      const { body } = await yard.get(`/api/v1/crates?label=${encodeURIComponent(label)}`)
      const { body: row } = await yard.get(`/api/v1/crates/${id}`)
      // SQLite may run the whole helper before the code ends.
      const isWhole = reply?.status !== 500
      assert.deepEqual([body.data.length, row.weight], isWhole ? [1, '2.00'] : [0, null], title)
      if (isWhole) assert.notEqual(title, 'a read that fails')
      await yard.patch(`/api/v1/crates/${id}`, { weight: null })
      verify(yard, reply, title)
    }
  })

  test(`a step or write that own code does not await ends the attempt [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const cases: readonly (readonly [Context, string, readonly unknown[]])[] = [
      ['`.route({ steps: true })`', 'step', ['a', () => 1]],
      ['`.route({ steps: true })`', 'write', ['a', () => 1]],
      ['`.job()`', 'step', ['a', () => 1]],
      ['`.job()`', 'write', [() => 1]],
      [CHANGE, 'write', [use('create', [crates, { label: 'dropped' }])]],
    ]
    for (const [context, name, given] of cases) {
      const reply = await yard.runIn(context, use(name, given, true))
      const title = `${context} ${name}`
      if (reply) assert.ok(reply.status >= 500, title)
      assert.ok(
        yard.lines.some((line) => line.includes(`does not await the end of ${name}`)),
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
