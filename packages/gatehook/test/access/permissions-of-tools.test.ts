/**
 * Every endpoint × callers of every kind, by HTTP and by the tools of agents: a tool never has
 * another status or another body than the same request by HTTP (§16.11).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import type { Permission } from '../../src/route-table.ts'
import { toolsOf } from '../mcp/rig.ts'
import { bodyFor, openFixture, pathOf, type Send } from './permission-fixture.ts'

const VERSION = 'v2'
const TOOL_PATHS = /^\/(api|events|webhooks)(\/|$)/
/** They choose a receiver of data, have a secret, or do not end. */
const CLOSED = new Set([
  'POST /webhooks',
  'PATCH /webhooks/:id',
  'POST /webhooks/:id/rotate-secret',
  'GET /events/stream',
])

const nameOf = ({ method, path }: Permission): string => `${method} ${path}`

/** Returns the operation of each row, by the document of the version. */
function operationsOf(document: unknown): ReadonlyMap<string, string> {
  const { paths } = document as {
    paths: Record<string, Record<string, { operationId?: string }>>
  }
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId = '' }]) => {
        const route = path.replace(`/api/${VERSION}/`, '/api/').replace(/\{(\w+)\}/g, ':$1')
        return [`${method.toUpperCase()} ${route}`, operationId] as const
      }),
    ),
  )
}

/** Returns the body without the id of its request. */
const comparable = (body: Record<string, unknown> | undefined) =>
  body === undefined ? undefined : { ...body, request_id: undefined }

for (const { name } of databases) {
  test(`a tool answers as HTTP does, for every caller [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const { shop, other, scopes, createClient, createPerson } = fixture
    const { own, owner, ids } = await fixture.fill()
    const client = await createClient({ customer: shop, scopes })
    const person = await createPerson({ customer: shop })
    const callers: Readonly<Record<string, Send>> = {
      'a key': own.send,
      'the person': owner,
      'another person': await fixture.login(person),
      'a client': await fixture.clientToken(client),
      'an application': await fixture.application(client, person),
      'a key of another customer': (await fixture.key(other)).send,
      'a key of the other mode': (await fixture.key(shop, scopes, 'test')).send,
      'a key with one scope': (await fixture.key(shop, ['users:read'])).send,
      'a key without scopes': (await fixture.key(shop, [])).send,
    }
    const operations = operationsOf(fixture.app.openapi(VERSION))
    const rows = fixture.app.permissions.filter(({ callers }) => callers === 'credential')
    const compared = new Set<string>()
    for (const row of rows) {
      const operation = operations.get(nameOf(row)) ?? nameOf(row)
      const path = pathOf(row, ids)
      const id = decodeURIComponent(path.split('/')[row.path.split('/').indexOf(':id')] ?? '')
      const isShifted = row.path.startsWith('/api/') // by the version
      const parameter = isShifted ? path.split('/')[row.path.split('/').indexOf(':id') + 1] : id
      const parameters = row.path.includes(':id') ? { id: parameter } : {}
      for (const [caller, send] of Object.entries(callers)) {
        const tool = toolsOf((message) => send('POST', '/mcp', message))
        const at = `${nameOf(row)} as ${caller}`
        if (!TOOL_PATHS.test(row.path) || CLOSED.has(nameOf(row))) {
          const { isError, value } = await tool('call_operation', { operation, parameters })
          assert.deepEqual([isError, value.error], [true, 'not_found'], at)
          continue
        }
        // A dry run, where there is one; other changes are those of callers without the object.
        const isOwner = ['a key', 'the person', 'a client', 'an application'].includes(caller)
        if (row.method !== 'GET' && isOwner) continue
        const body = bodyFor(row)
        const direct = await send(row.method, path, body)
        const used = await tool('call_operation', {
          operation,
          parameters,
          ...(body !== undefined && { body }),
        })
        compared.add(nameOf(row))
        if (direct.body?.error === 'insufficient_scope') {
          assert.deepEqual(
            [used.http.status, used.http.body.error, used.http.body.message],
            [403, 'insufficient_scope', direct.body.message],
            at,
          )
          continue
        }
        assert.equal(used.value?.status, direct.status, `${at}: ${used.http.text}`)
        assert.equal(used.isError, direct.status >= 400, at)
        if (row.method === 'GET' || direct.status >= 400) {
          assert.deepEqual(comparable(used.value.untrusted), comparable(direct.body), at)
        }
      }
    }
    assert.ok(compared.size >= 20, String(compared.size))
  })
}
