/**
 * §15.1: own code alone uses a resource with `access: false`, for every caller. No path, scope,
 * event or document has it; storage, exports and erasures treat it as any other.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { planFor, triggerable } from '../../src/cli/sample-event.ts'
import { createCatalog } from '../../src/declare/resources/catalog.ts'
import { clientCode } from '../../src/declare/resources/client-code.ts'
import { event, f, fields, resource, service, sql, table } from '../../src/gatehook.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { collectMistakes } from '../../src/protocol/fields/declaration-mistakes.ts'
import { toolsOf } from '../mcp/rig.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const access = {
  read: 'people:read',
  create: 'people:write',
  update: 'people:write',
  delete: 'people:write',
} as const
const people = resource('people', {
  fields: { id: f.id(), name: f.string(), email: f.email().unique() },
  list: { filter: [], sort: ['id'] },
  access,
  events: ['person.created'],
}).signsIn({ username: 'email' })

/** The only resource whose documents, paths and scopes could have the word `tall`. */
const tallies = resource('tallies', {
  fields: {
    id: f.id('tally'),
    name: f.string().max(40).unique(),
    last: f.int().default(0),
    status: f.oneOf(['open', 'closed']).default('open').readonly(),
    person_id: f.ref('people').onDelete('cascade').owner(),
    remark: f.string().nullable().default(null).personal(),
    pin: f.string().default('TALLPIN').secret().writeOnly(),
  },
  list: { filter: ['name', 'person.email'], sort: ['last'] },
  access: false,
})
  .action('close', { scope: false, from: ['open'], to: 'closed' })
  .sample((n) => ({ name: `sample ${n}` }))
/** The least declaration. */
const plain = resource('tallboys', { fields: { id: f.id() }, access: false })

const api = service({
  name: 'Rows of own code',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [plain, people, tallies],
})
  .route({
    method: 'POST',
    path: '/counts',
    scope: 'counts:write',
    summary: 'Counts by every word of own code',
    input: { name: f.string(), person_id: f.int() },
    output: { last: f.int(), listed: f.int(), rows: f.int(), status: f.string() },
    handle: async ({ input, write, read }) => {
      const { name, person_id } = input
      const counter = await write(async (tx) => {
        const row =
          (await tx.find(tallies, { name })) ??
          (await tx.create(tallies, { name, person_id, remark: `of ${name}` }))
        const { last } = await tx.lock(tallies, row.id)
        await tx.update(tallies, row.id, { last: last + 1 })
        const gone = await tx.create(plain, {})
        await tx.remove(plain, gone.id)
        await tx.create(plain, {})
        return tx.get(tallies, row.id)
      })
      const listed = await read.list(tallies, {
        filter: { name },
        sort: '-last',
      })
      const sum = await read.sql.get<{ n: number }>(
        sql`SELECT count(*) AS n FROM ${table(tallies)} WHERE name = ${name}`,
      )
      const { status } = counter
      return {
        body: { last: counter.last, listed: listed.length, rows: Number(sum!.n), status },
      }
    },
  })
  .route({
    method: 'POST',
    path: '/counts/close',
    scope: 'counts:write',
    summary: 'Closes a count',
    input: { name: f.string() },
    output: { status: f.string() },
    handle: ({ input, write }) =>
      write(async (tx) => {
        const row = await tx.find(tallies, input)
        const { status } = await tx.act(tallies, row!.id, 'close')
        return { body: { status } }
      }),
  })

const options = { service: api }
const count = async (caller: Caller, name: string, person_id: number) => {
  const { status, body, text } = await caller.post('/api/v1/counts', { name, person_id })
  assert.equal(status, 200, text)
  return body
}

/** Opens a service with rows of two persons and two customers. */
async function open(app: TestApp) {
  const rig = await openPeople(app)
  const ada = await rig.createPerson('ada', { scopes: ['counts:write'] })
  const bob = await rig.createPerson('bob', { scopes: ['counts:write'] })
  const key = app.as(await app.key({ scopes: ['counts:write'] }))
  return { ...rig, ada, bob, key }
}

eachService(
  'own code reaches the rows of the customer, for every caller',
  async (app) => {
    const { ada, bob, key, token, anonymous } = await open(app)
    const asBob = {
      ...anonymous,
      post: async (path: string, body: unknown) =>
        anonymous.post(path, body, bearerOf(await token(emailOf('bob')))),
    } as Caller
    const open1 = { last: 1, listed: 1, rows: 1, status: 'open' }
    assert.deepEqual(await count(key, 'a', ada.id), open1)
    // A person, whose row it is not.
    assert.deepEqual(await count(asBob, 'a', bob.id), { ...open1, last: 2 })
    const live = app.as(await app.key({ mode: 'live' }))
    const { body: other } = await live.post('/api/v1/people', {
      name: 'Ada',
      email: emailOf('ada'),
    })
    assert.deepEqual(await count(live, 'a', other.id), open1)
    const { id: customer } = await createCustomer(
      app.app.administration,
      { name: 'Other' },
      { kind: 'cli', id: 'root' },
    )
    const foreign = app.as(await app.key({ customer }))
    const { body: third } = await foreign.post('/api/v1/people', {
      name: 'Ada',
      email: 'ada@example.com',
    })
    assert.equal((await foreign.post('/api/v1/counts/close', { name: 'a' })).status, 500)
    assert.deepEqual(await count(foreign, 'a', third.id), open1)
    const closed = await asBob.post('/api/v1/counts/close', { name: 'a' })
    assert.deepEqual(closed.body, { status: 'closed' })
    assert.equal((await asBob.post('/api/v1/counts/close', { name: 'a' })).status, 409)
  },
  options,
)

eachService(
  'no path, scope, event, document, tool or page has the resource',
  async (app) => {
    const { ada, key, operator } = await open(app)
    await count(key, 'a', ada.id)
    const texts = new Map<string, string>()
    const read = async (path: string) => texts.set(path, (await operator.get(path)).text)
    for (const { method, path } of app.app.permissions) {
      assert.doesNotMatch(path, /tall/)
      if (method === 'GET' && !/:|stream|live/.test(path)) await read(path)
    }
    for (const path of ['/llms.txt', '/', '/admin/resources?version=v1', '/admin/search?q=tall']) {
      await read(path)
    }
    for (const name of ['v1', 'v2', 'admin', 'oauth', 'platform']) {
      await read(`/openapi/${name}.json`)
    }
    const links = [...texts.get('/llms.txt')!.matchAll(/\((?:https?:\/\/[^/]+)?(\/docs\/[^)]+)\)/g)]
    assert.ok(links.length > 10)
    for (const [, path] of links) await read(path!)
    for (const [path, text] of texts) {
      assert.doesNotMatch(text.replaceAll('q=tall', ''), /tall(?!e[rd]|y:)(ies|y|boys)/i, path)
    }
    assert.doesNotMatch([...app.app.administration.scopes].join(), /tall/)
    const tool = toolsOf((body) => app.post('/mcp', body))
    for (const query of ['', 'tallies']) {
      const { http } = await tool('search_operations', { query })
      assert.equal(http.status, 200)
      assert.doesNotMatch(http.text, /tall(ies|boys)/)
    }
    for (const name of ['tallies', 'tallboys']) {
      for (const path of [`/api/v1/${name}`, `/api/v2/${name}/1`, `/api/v1/${name}/batch`]) {
        for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
          const { status } = await app.send(method, path, method === 'GET' ? undefined : {})
          assert.equal(status, 404, `${method} ${path}`)
        }
      }
    }
    const event = await app.get('/events?type=tally.created')
    assert.equal(event.status === 200 ? event.body.data.length : 0, 0)
  },
  options,
)

test('no client and no command has the resource', () => {
  const { definition } = api
  const clock = { now: () => 0, elapsedMs: () => 0 }
  const record = () => Promise.resolve('')
  const catalog = createCatalog(definition, { clock, random: systemRandom(), record } as never)
  for (const version of catalog.versions) assert.doesNotMatch(clientCode(catalog, version), /tall/i)
  assert.deepEqual(triggerable(definition), ['person.created'])
  assert.equal(planFor(definition, 'tally.created'), undefined)
})

eachService(
  'exports and erasures have its rows, without secrets',
  async (app) => {
    const { ada, bob, key, operator } = await open(app)
    await count(key, 'kanary', ada.id)
    await count(key, 'other', bob.id)
    const ofCustomer = await operator.get('/admin/customers/cus_default/export')
    const ofPerson = await operator.get(`/admin/users/${ada.id}/export`)
    for (const { text } of [ofCustomer, ofPerson]) {
      assert.match(text, /tallies.*of kanary/)
      assert.doesNotMatch(text, /TALLPIN/)
    }
    assert.match(ofCustomer.text, /of other/)
    assert.doesNotMatch(ofPerson.text, /of other/)
    assert.equal((await operator.delete(`/admin/users/${ada.id}`)).status, 202)
    await app.app.erasure.runDue()
    const { text } = await operator.get('/admin/customers/cus_default/export')
    assert.doesNotMatch(text, /of kanary/)
    assert.match(text, /of other/)
  },
  options,
)

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const list = { filter: [], sort: [] } as const
/** The values of a caller without types. */
const js = (value: unknown) => value as never
const collect = async (declare: () => unknown) => {
  const { errors } = await collectMistakes(async () => declare())
  return errors.flatMap((error) => (error as Error).message.split('\n'))
}
const alone = 'access is false, so that own code alone uses the rows'

test('its mistakes are reported together, each with its correction', async () => {
  const sentences = await collect(() => {
    const options = {
      ...{ events: ['ledger.created'], mcp: false, batch: true, export: true, softDelete: true },
      ...{ search: ['note'], maxBodyBytes: 100, access: false },
    }
    const ledgers = resource(
      'ledgers',
      js({
        fields: {
          id: f.id(),
          note: f.string().default('').visible('ledgers:notes').writable('ledgers:notes'),
          email: f.email().unique(),
          status: f.oneOf(['a', 'b']).default('a').readonly(),
        },
        ...options,
      }),
    )
      .action('close', js({ scope: 'w:w', emits: 'ledger.closed', mcp: false }))
      .editable(js(['note']), js({ from: ['a'] }))
      .links(js(() => ({ self: '/' })))
      .signsIn(js({ username: 'email' }))
      .before(
        'v2',
        js({ why: 'x', had: {}, hadNot: ['note'], up: () => ({ note: '' }), down: () => ({}) }),
      )
    const bills = resource('bills', {
      fields: {
        id: f.id(),
        ledger_id: f.ref('ledgers'),
        parts: f.array(f.object({ at: f.ref('ledgers') }), { max: 2 }),
      },
      list: { filter: ['ledger.email'], sort: [] },
      access: { read: 'b:read', create: false, update: false, delete: false },
      events: [],
    })
    const emitted = [
      event('ledger.full', js(ledgers)),
      event('bill.counted', fields({ ledger: f.ref('ledgers') })),
    ]
    return service({ name: 'x', versions, resources: [ledgers, bills], events: emitted }).route({
      ...{ method: 'POST', path: '/x', scope: 'b:read', summary: 'x' },
      query: { ledger: f.ref('ledgers') },
      input: js(ledgers),
      output: js({ rows: [ledgers], ledger: f.ref('ledgers') }),
      handle: js(() => ({ body: {} })),
    })
  })
  const ledger = 'own code alone uses ledgers (access: false)'
  const refer = `${ledger}, and callers have its ids; refer from it instead`
  const words = ['events', 'batch', 'export', 'softDelete', 'search', 'maxBodyBytes', 'mcp']
  const calls = ['.editable()', '.links()', '.signsIn()', ".before('v2')"]
  for (const sentence of [
    ...[...words, ...calls].map((word) => `resource ledgers: ${word}: ${alone}: omit ${word}`),
    `resource ledgers: note: .visible(): ${alone}: omit it`,
    `resource ledgers: note: .writable(): ${alone}: omit it`,
    `resource ledgers: .action(close): ${alone}: declare scope: false`,
    `resource ledgers: .action(close): emits: ${alone}: omit it`,
    `resource ledgers: .action(close): mcp: ${alone}: omit it`,
    `resource bills: ledger_id: ${refer}`,
    `resource bills: parts.at: ${refer}`,
    `event ledger.full: ${ledger}; declare fields({…}) instead`,
    `event bill.counted: ledger: ${refer}`,
    `route POST /x: ledger: ${refer}`,
    `route POST /x: input: ${ledger}; declare fields instead`,
    `route POST /x: output: ${ledger}; declare fields instead`,
  ]) {
    assert.ok(sentences.includes(sentence), `${sentence}\n\n${sentences.join('\n')}`)
  }
})

test('access names each operation', async () => {
  const access = { read: 'a:read', create: 'a:write', update: 'a:write', delete: false }
  const declare = (given: unknown) =>
    collect(() => {
      const definition = resource(
        'ones',
        js({ fields: { id: f.id() }, list, events: [], access: given }),
      )
      return service({ name: 'x', versions, resources: [definition] })
    })
  assert.deepEqual(await declare(access), [])
  for (const operation of Object.keys(access)) {
    const form = operation === 'read' ? "a scope, or 'public'" : 'a scope, or false'
    for (const rest of [{ [operation]: undefined }, { [operation]: null }]) {
      const [first, ...others] = await declare({ ...access, ...rest })
      assert.equal(first, `resource ones: access.${operation} is required: ${form}`)
      assert.deepEqual(others, [])
    }
  }
  assert.equal((await declare({})).length, 4)
  for (const other of [undefined, null, true, 'a:read']) {
    assert.match((await declare(other)).join(), /^resource ones: access is required: .* false/)
  }
})
