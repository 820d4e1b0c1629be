/**
 * §15.4: no context of own code reaches a row of another customer or mode by any word, and a route
 * no row that its person does not reach.
 */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'
import { closed, diary, reached, rows } from '../fixtures/diary.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const ROUTES = ['route GET', 'route POST read', 'route POST tx']
const RULES = ['create', 'update', 'shut', 'delete', 'restore'].map((name) => `rule ${name}`)
const WORK = ['job read', 'job tx', 'on read', 'on tx']

/** Creates the rows of a place or person. Returns their titles. */
async function fill(caller: Caller, name: string, person_id: number): Promise<string[]> {
  const create = async (resource: string, body: object) => {
    const title = `${name} ${resource}`
    const reply = await caller.post(`/api/v1/${resource}`, { title, ...body })
    assert.equal(reply.status, 201, reply.text)
    rows.set(title, { resource, id: reply.body.id as never })
    return reply.body.id
  }
  const title = `${name} notes`
  const note = { person_id, parts: [{ name: title }], words: [title] }
  const note_id = await create('notes', note)
  await create('comments', { note_id })
  await create('ledgers', {})
  return ['notes', 'comments', 'ledgers'].map((resource) => `${name} ${resource}`)
}

/** Runs every context for a caller. Returns the titles of other rows that each has reached. */
async function runContexts({ app }: TestApp, caller: Caller, person_id: number) {
  // The handlers of earlier events have run.
  await app.jobs.runDue()
  reached.clear()
  await caller.get('/api/v1/probe')
  await caller.post('/api/v1/probe')
  const note = { title: 'probe', person_id, parts: [], words: [] }
  const { body } = await caller.post('/api/v1/notes', note)
  const path = `/api/v1/notes/${body.id}`
  await caller.patch(path, { title: 'probe 2' })
  await caller.post(`${path}/shut`)
  await caller.delete(path)
  await app.jobs.runDue()
  const restored = await caller.post(`${path}/restore`)
  assert.equal(restored.status, 200, restored.text)
  return new Map(
    [...reached].map(([context, titles]) => [
      context,
      [...titles].filter((title) => !title.startsWith('probe')).sort(),
    ]),
  )
}

eachService(
  'no context of own code reaches a foreign row',
  async (app) => {
    rows.clear()
    closed.clear()
    const { operator, createPerson, token, anonymous } = await openPeople(app)
    const { administration } = app.app
    const { id: customer } = await createCustomer(
      administration,
      { name: 'Other' },
      { kind: 'cli', id: 'root' },
    )
    const places: [string, Caller][] = [
      ['cus_default test', app],
      ['cus_default live', app.as(await app.key({ mode: 'live' }))],
      [`${customer} test`, app.as(await app.key({ customer }))],
    ]
    const persons = new Map<string, number>()
    for (const [place, key] of places) {
      const person = { name: place, email: emailOf(place.replace(' ', '_')) }
      const { status, body, text } = await key.post('/api/v1/people', person)
      assert.equal(status, 201, text)
      persons.set(place, body.id)
    }
    const scopes = ['notes:read', 'notes:write', 'comments:read', 'comments:write']
    const ada = await createPerson('ada', { scopes: [...scopes, 'ledgers:read'] })
    const own = new Map<string, string[]>()
    for (const [place, key] of places) own.set(place, await fill(key, place, persons.get(place)!))
    const adasTitles = await fill(app, 'ada', ada.id)
    own.get('cus_default test')!.push(...adasTitles)

    const expectAll = (results: Map<string, string[]>, contexts: string[], titles: string[]) => {
      for (const context of contexts) {
        assert.deepEqual(results.get(context), [...titles].sort(), context)
      }
    }
    for (const [place, key] of places) {
      const results = await runContexts(app, key, persons.get(place)!)
      expectAll(results, [...ROUTES, ...RULES, ...WORK], own.get(place)!)
    }
    const sent = bearerOf(await token(emailOf('ada')))
    const send: Caller['send'] = (method, path, body) => anonymous.send(method, path, body, sent)
    const asAda: Caller = {
      ...anonymous,
      get: (path) => send('GET', path),
      post: (path, body) => send('POST', path, body),
      patch: (path, body) => send('PATCH', path, body),
      delete: (path) => send('DELETE', path),
    }
    assert.equal(closed.size, 0)
    const results = await runContexts(app, asAda, ada.id)
    expectAll(results, ROUTES, ['ada notes', 'ada comments'])
    expectAll(results, [...RULES, ...WORK], own.get('cus_default test')!)
    assert.deepEqual(
      [...closed],
      ROUTES.map((route) => `${route}: ledgers`),
    )

    reached.clear()
    await operator.post('/admin/clock', { advance_s: 3_600 })
    await app.app.jobs.runDue()
    for (const [place] of places) {
      for (const context of [`every read ${place}`, `every tx ${place}`]) {
        const titles = [...reached.get(context)!].filter((title) => !title.startsWith('probe'))
        assert.deepEqual(titles.sort(), [...own.get(place)!].sort(), context)
      }
    }
  },
  { service: diary, env: { GATEHOOK_TEST_CLOCK: '1' } },
)
