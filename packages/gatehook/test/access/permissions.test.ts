/**
 * Every endpoint × every kind of caller: only the kinds of its row in `route-table.ts` reach it,
 * with its scope (§3.6, §4.5), and no object of another customer, mode or owner (§1.1, §6.7).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { isInstallationScope } from '../../src/identity/access/administration.ts'
import { type CallerKind, ROLES } from '../../src/kernel/principal.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { noContent, route } from '../../src/protocol/http/call.ts'
import { bindRoutes, CALLERS, engineRoutes, type Permission } from '../../src/route-table.ts'
import { bodyFor, type Fixture, openFixture, pathOf, type Send } from './permission-fixture.ts'

const nameOf = ({ method, path }: Permission): string => `${method} ${path}`

test('a route without a row prevents the start', () => {
  const unlisted = route('/secrets', { GET: { handle: noContent } })
  assert.throws(() => bindRoutes([unlisted]), /no row for GET \/secrets/)
})

test('every row has a handler', async (t) => {
  const fixture = await openFixture(t, 'sqlite')
  const implemented = new Set(fixture.app.permissions.map(nameOf))
  const missing = engineRoutes.filter((row) => !implemented.has(nameOf(row)))
  assert.deepEqual(missing.map(nameOf), [])
})

test('a path under /admin requires a scope, an account path a first-party person', () => {
  for (const row of engineRoutes) {
    if (row.path.startsWith('/admin/')) {
      assert.equal(row.callers, 'administration', nameOf(row))
      assert.ok(['admin', 'keys:write', 'audit:read'].includes(row.scope ?? ''), nameOf(row))
    }
    if (/^\/auth\/(sessions|consents|logout-all|password$)/.test(row.path)) {
      assert.equal(row.callers, 'account', nameOf(row))
    }
    if (row.method !== 'GET')
      assert.notEqual(row.callers, 'anyone', `${nameOf(row)} changes something`)
  }
})

/** Creates callers of the customer `shop` with every scope, by kind. */
async function createCallers(fixture: Fixture): Promise<ReadonlyMap<CallerKind, Send>> {
  const { shop, scopes, createClient, createPerson } = fixture
  const person = await createPerson({ customer: shop, scopes })
  const client = await createClient({ customer: shop, scopes })
  return new Map<CallerKind, Send>([
    ['key', (await fixture.key(shop)).send],
    ['client', await fixture.clientToken(client)],
    ['workload', await fixture.workload(shop)],
    ['application', await fixture.application(client, person)],
    ['person', await fixture.login(person)],
  ])
}

/** Ids without a row: an accepted request reads and changes nothing. */
const NO_IDS = new Proxy<Record<string, string>>({}, { get: () => '999999999' })

/** Returns the rows whose callers the pipeline restricts. */
const restricted = (rows: readonly Permission[]) =>
  rows.filter(({ callers }) => CALLERS[callers].kinds !== undefined)

for (const { name } of databases) {
  test(`a caller of a kind that the row does not name is rejected [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const callers = await createCallers(fixture)
    const rows = restricted(fixture.app.permissions)
    const last = rows.filter((row) => row.path === '/auth/logout-all') // it ends the sessions
    for (const row of [...rows.filter((row) => !last.includes(row)), ...last]) {
      const path = pathOf(row, NO_IDS)
      // An accepted event stream does not end.
      const isEndless = row.path.endsWith('/stream')
      const kinds: readonly CallerKind[] = CALLERS[row.callers].kinds!
      const unauthenticated = await fixture.anonymous.send(row.method, path, bodyFor(row))
      assert.equal(unauthenticated.status, 401, `${nameOf(row)} without a credential`)
      for (const [kind, send] of callers) {
        if (isEndless && kinds.includes(kind)) continue
        const { status, body } = await send(row.method, path, bodyFor(row))
        const text = `${nameOf(row)} as ${kind}: ${status} ${body?.error}`
        if (kinds.includes(kind) && !isInstallationScope(row.scope ?? '')) {
          assert.ok(status !== 401 && status !== 403 && status < 500, text)
        } else {
          assert.equal(status, 403, text)
        }
      }
    }
  })

  test(`an operator of a lesser role is rejected, and changes nothing [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const { own, ids } = await fixture.fill()
    const rows = fixture.app.permissions.filter(({ role }) => role !== undefined)
    assert.ok(rows.some(({ path }) => path === '/admin/as/:customer/:mode/webhooks/:id'))
    const readState = async () => {
      const { db } = fixture.app
      const audit = await db.get(sql`SELECT COUNT(*) AS total FROM gh_audit`)
      return [audit?.total, (await own.send('GET', `/webhooks/${ids['/webhooks']}`)).text]
    }
    for (const role of ROLES) {
      const send = await fixture.operator(role)
      const isAllowed = (row: Permission) => ROLES.indexOf(role) >= ROLES.indexOf(row.role!)
      const before = await readState()
      for (const row of rows.filter((row) => !isAllowed(row))) {
        const operators = { '/admin/operator-sessions': 'ses_1', '/admin/operators': 'op_1' }
        const path = pathOf(row, { ...ids, ...operators })
        const { status, body } = await send(row.method, path, bodyFor(row))
        const text = `${nameOf(row)} as ${role}`
        assert.deepEqual([status, body?.error], [403, 'insufficient_role'], text)
      }
      assert.deepEqual(await readState(), before)
      for (const row of rows.filter(isAllowed)) {
        if (row.path.endsWith('/stream')) continue
        const { status, body } = await send(row.method, pathOf(row, NO_IDS), bodyFor(row))
        const text = `${nameOf(row)} as ${role}: ${status} ${body?.error}`
        assert.ok(status !== 401 && status !== 403 && status < 500, text)
      }
    }
  })

  test(`a caller with every scope but the row's is rejected by its name [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const { shop, scopes, createClient, createPerson } = fixture
    const client = await createClient({ customer: shop, scopes })
    // Other callers are rejected by their kind, before the scope.
    const rows = restricted(fixture.app.permissions).filter(
      ({ scope, callers }) => scope !== undefined && callers !== 'portal',
    )
    for (const scope of new Set(rows.map((row) => row.scope!))) {
      const rest = scopes.filter((name) => name !== scope)
      const callers: Readonly<Record<string, Send>> = {
        key: (await fixture.key(shop, rest)).send,
        client: await fixture.clientToken(client, rest),
        person: await fixture.login(await createPerson({ customer: shop, scopes: rest })),
      }
      for (const row of rows.filter((row) => row.scope === scope)) {
        for (const [kind, send] of Object.entries(callers)) {
          const { status, body } = await send(row.method, pathOf(row, NO_IDS), bodyFor(row))
          const text = `${nameOf(row)} as ${kind}`
          assert.deepEqual([status, body?.error], [403, 'insufficient_scope'], text)
          assert.ok(body.message.includes(scope), `${text}: ${body.message}`)
        }
      }
    }
  })

  test(`objects of others are 404, in no list, and unchanged [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const { shop, other, scopes, createClient, createPerson } = fixture
    const { own, owner, ids } = await fixture.fill()
    const foreign: readonly (readonly [string, Send, RegExp?])[] = [
      ['a key of another customer', (await fixture.key(other)).send],
      ['a key of the other mode', (await fixture.key(shop, scopes, 'test')).send],
      [
        'a client of another customer',
        await fixture.clientToken(await createClient({ customer: other, scopes })),
      ],
      [
        'a person of another customer',
        await fixture.login(await createPerson({ customer: other })),
      ],
      // Another person of the same customer: objects that belong to a person.
      [
        'another person',
        await fixture.login(await createPerson({ customer: shop })),
        /^\/(api\/(users|orders)|auth)\//,
      ],
    ]
    const ownIds = Object.entries(ids).filter(([before]) => !before.startsWith('/admin/'))
    const state = () =>
      Promise.all(
        ownIds.map(async ([before, id]) => {
          if (/consents|passkeys/.test(before)) return (await owner('GET', before)).text
          const send = before.startsWith('/auth/') ? owner : own.send
          const path = `${before.replace(/^\/api\//, '/api/v2/')}/${id}`
          const reply = await send('GET', path)
          assert.equal(reply.status, 200, `${path}: ${reply.text}`)
          return reply.text
        }),
      )
    const before = await state()
    for (const row of fixture.app.permissions) {
      const isIsolated = row.callers === 'credential' || row.callers === 'account'
      if (!isIsolated || row.path === '/api/protected' || row.path === '/events/stream') continue
      const isSingle = row.path.includes(':')
      if (!isSingle && row.method !== 'GET') continue
      for (const [caller, send, pathPattern] of foreign) {
        if (pathPattern && !pathPattern.test(`${row.path}/`)) continue
        const reply = await send(row.method, pathOf(row, ids), bodyFor(row))
        const text = `${nameOf(row)} as ${caller}: ${reply.text}`
        if (isSingle) assert.ok(reply.status === 404 || reply.status === 403, text)
        if (isSingle && reply.status === 403) {
          assert.match(reply.body.error, /insufficient_scope|first_party_required|forbidden/, text)
        }
        const textIds = ownIds.filter(([, id]) => reply.text.includes(`"id":${JSON.stringify(id)}`))
        const numericIds = ownIds.filter(([, id]) => reply.text.includes(`"id":${id},`))
        assert.deepEqual([...textIds, ...numericIds], [], text)
      }
    }
    assert.deepEqual(await state(), before)
  })
}
