/** §15.1: each context of own code has its words, and `log` writes ids and no secret. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { contextWords } from '../../../../docs/generate/context-words.ts'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, type Kind } from '../../../../test/rig/databases.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'
import { createLog } from '../../src/kernel/log.ts'
import { requestIdOf } from '../monitoring/admin.ts'

type Context = keyof typeof contextWords
interface CommonWords {
  readonly log?: { info(data: object, message: string): void }
  readonly signal?: AbortSignal
  readonly fetch?: typeof fetch
  readonly principal?: { readonly customer: string; readonly mode: string }
}

/** The context of each word, by its name in the table. */
const seen = new Map<Context, CommonWords>()
const TOKEN = `gk_live_${'aB3'.repeat(12)}`
/** The value of secret fields. */
const CANARY = 'canary-7f3a'
const loop: Record<string, unknown> = { name: 'loop' }
loop.loop = loop

function note(context: Context, words: object): void {
  const own: CommonWords = words
  seen.set(context, own)
  own.log?.info(
    {
      context,
      pin: CANARY,
      deep: [{ pin: CANARY, apiToken: CANARY }],
      at: new Date(0),
      error: new Error(`no ${TOKEN}`),
      long: 'x'.repeat(1_000_000),
      many: Array.from({ length: 1_000_000 }, () => 'many'),
      loop,
      get unreadable() {
        return 1n
      },
    },
    `said \u001b[2J ${TOKEN} /x?pin=${CANARY}`,
  )
}

const books = resource('books', {
  fields: {
    id: f.id('book'),
    status: f.oneOf(['in', 'out']).default('in').readonly(),
    pin: f.string().writeOnly().default('x'),
  },
  list: { filter: [], sort: [] },
  access: { read: 'b', create: 'b', update: false, delete: false },
  events: ['book.created'],
})
  .action('lend', { scope: 'b', to: 'out', run: (words) => void note('`run` of an action', words) })
  .rule('create', (words) => note('`.rule()`', words))

/** Receives the signal of a request that waits for the departure of its client. */
let onWait = (_signal: AbortSignal) => {}

const count = job('count', { n: f.int() })
const library = service({
  name: 'library',
  versions: { v1: { released: '2026-01-01' } },
  resources: [books],
})
  .route({
    method: 'GET',
    path: '/look',
    scope: 'b',
    summary: 'x',
    handle: (words) => {
      note('`.route()`, GET', words)
      return { body: null }
    },
  })
  .route({
    method: 'GET',
    path: '/wait',
    scope: 'b',
    summary: 'x',
    async handle({ signal }) {
      onWait(signal)
      await once(signal, 'abort')
      signal.throwIfAborted()
    },
  })
  .route({
    method: 'POST',
    path: '/change',
    scope: 'b',
    summary: 'x',
    async handle(words) {
      await assert.rejects(words.fetch('https://example.com/'), /steps: true/)
      const { fetch: _fetch, ...others } = words
      note('`.route()`, other methods', others)
      const { id } = await words.write(async (tx) => {
        await tx.enqueue(count, { n: 1 })
        return tx.create(books, {})
      })
      await words.write((tx) => tx.act(books, id, 'lend'))
      return { body: null }
    },
  })
  .route({
    method: 'POST',
    path: '/walk',
    scope: 'b',
    summary: 'x',
    steps: true,
    async handle(words) {
      note('`.route({ steps: true })`', words)
      await words.step('a', (effect) => note('the code of a step', effect))
      return { body: null }
    },
  })
  .job(count, (words) => note('`.job()`', words))
  .on(books, 'book.created', (words) => note('`.on()`', words))
  .every('1h', 'tick', async (words) => {
    note('`.every()`', words)
    for await (const customer of words.customers()) note('each of its `customers()`', customer)
  })
  .every('1h', 'tock', (words) => note("`.every()`, `{ each: 'customer' }`", words), {
    each: 'customer',
  })

async function runAll(app: TestApp): Promise<{ look: string; walk: string }> {
  seen.clear()
  const look = await app.get('/api/v1/look')
  await app.post('/api/v1/change')
  const walk = await app.post('/api/v1/walk', {}, { 'idempotency-key': 'a' })
  assert.equal(walk.status, 200)
  const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  await app.app.jobs.runDue()
  await operator.post('/admin/clock', { advance_s: 7_200 })
  await app.app.jobs.runDue()
  return { look: requestIdOf(look), walk: requestIdOf(walk) }
}

const env = { GATEHOOK_TEST_CLOCK: '1' }

eachService(
  'each context has the words of the table',
  async (app) => {
    await runAll(app)
    for (const [context, words] of Object.entries(contextWords)) {
      const given = Object.keys(seen.get(context as Context) ?? {})
      assert.deepEqual(given.sort(), [...words].sort(), context)
      const { signal, principal, fetch } = seen.get(context as Context)!
      assert.equal(signal?.aborted, false)
      if ((words as readonly string[]).includes('principal')) assert.ok(principal?.mode)
      if (fetch) await assert.rejects(fetch('http://127.0.0.1:9/'), context)
    }
  },
  { service: library, env },
)

for (const { name: kind } of databases) {
  test(`a line of own code has its ids, a bound and no secret [${kind}]`, async (t) => {
    const { lines, ids } = await logLines(t, kind)
    const own = lines.filter((line) => line.includes('"data"'))
    assert.equal(own.filter((line) => line.includes(CANARY) || line.includes(TOKEN)).length, 0)
    const contexts = new Map<string, Record<string, unknown>>()
    for (const line of own) {
      assert.ok(Buffer.byteLength(line) < 8_192, `${line.length}`)
      assert.ok(!line.includes('\u001b'), 'a terminal displays the log')
      const members = JSON.parse(line)
      contexts.set(members.data.context, members)
    }
    assert.deepEqual([...contexts.keys()].sort(), Object.keys(contextWords).sort())
    for (const [context, { request_id, job_id, job, customer, mode }] of contexts) {
      assert.ok(request_id ?? job_id, `${context} has the id of its request or job`)
      if (context === '`.every()`')
        assert.deepEqual([job, customer, mode], ['tick', undefined, undefined])
      else assert.deepEqual([typeof customer, typeof mode], ['string', 'string'], context)
    }
    assert.equal(contexts.get('`.route()`, GET')!.request_id, ids.look)
    assert.equal(contexts.get('the code of a step')!.request_id, ids.walk)
    assert.equal(contexts.get('the code of a step')!.job, 'POST /walk')
  })
}

for (const { name: kind } of databases) {
  test(`signal aborts when the client leaves before the response [${kind}]`, async (t) => {
    const { app, key } = await openService(t, kind, { service: library })
    const entered = Promise.withResolvers<AbortSignal>()
    onWait = entered.resolve
    const client = new AbortController()
    const { url } = await app.listen()
    onEnd(t, () => app.close())
    const sent = fetch(`${url}/api/v1/wait`, {
      headers: { authorization: `ApiKey ${await key({ scopes: ['b'] })}` },
      signal: client.signal,
    })
    const signal = await entered.promise
    assert.equal(signal.aborted, false)
    client.abort()
    await assert.rejects(sent)
    await (signal.aborted || once(signal, 'abort'))
    assert.equal(signal.reason.name, 'AbortError')
  })
}

async function logLines(t: TestContext, kind: Kind) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({ level: 'info', destination })
  const app = await openService(t, kind, { service: library, env, log })
  return { ids: await runAll(app), lines }
}
