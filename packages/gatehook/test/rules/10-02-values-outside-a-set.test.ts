/**
 * §10.2: a filter by a value outside the set of a member is 400 and lists the values, in every list
 * of the engine. An empty page would look like the truth.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, openTargets } from '../documentation/targets.ts'

/** Stored events can have types that the service no longer declares. */
const EVENT_TYPES = ['type', 'event_type']

/** Returns the schema that a reference names. */
const resolve = (document: Json, schema: Json): Json =>
  schema?.$ref
    ? schema.$ref
        .slice(2)
        .split('/')
        .reduce((node: Json, name: string) => node[name], document)
    : schema

/** Returns the parameters and item members of an operation that have a set of values. */
function setsOf(document: Json, { parameters = [], responses }: Json): Map<string, string> {
  const sets = new Map<string, string>()
  const body = resolve(document, responses['200'])?.content?.['application/json']?.schema
  const page = resolve(document, body)
  const [form = page] = page?.oneOf ?? page?.anyOf ?? []
  const item = resolve(document, resolve(document, form)?.properties?.data?.items)
  for (const [name, schema] of Object.entries<Json>(item?.properties ?? {})) {
    const values = resolve(document, schema).enum
    if (values)
      sets.set(
        name,
        values.find((value: unknown) => value !== null),
      )
  }
  for (const parameter of parameters) {
    const { in: place, name, schema } = resolve(document, parameter)
    if (place !== 'query') continue
    if (schema.enum) sets.set(name, schema.enum[0])
    else if (name === 'mode') sets.set(name, 'live')
  }
  return sets
}

test('a value outside the set of a member is 400 in every list, with the values', async (t) => {
  const { app, admin, hookUrl } = await openTargets(t)
  const hook = await app.post('/webhooks', { url: hookUrl, events: ['*'] })
  assert.equal(hook.status, 201, hook.text)
  const filtered: string[] = []
  for (const name of ['admin', 'platform', 'v2']) {
    const document: Json = app.app.openapi(name)
    for (const [template, { get }] of Object.entries<Json>(document.paths)) {
      if (!get) continue
      const path = template
        .replace('{version}', 'v1')
        .replace('/webhooks/{id}/', `/webhooks/${hook.body.id}/`)
      if (path.includes('{') || /^\/api\/|stream$/.test(path)) continue
      const caller = path.startsWith('/admin/') ? admin : app
      // Without parameters of its own, an operation ignores all of them.
      if ((await caller.get(`${path}?no_such_parameter=1`)).status === 200) continue
      for (const [member, value] of setsOf(document, get)) {
        if (EVENT_TYPES.includes(member)) continue
        const valid = await caller.get(`${path}?${member}=${value}`)
        if (valid.status !== 200) continue // not a filter here
        filtered.push(`${path} ${member}`)
        const invalid = await caller.get(`${path}?${member}=no_such_value`)
        assert.equal(invalid.status, 400, `${path}?${member}=no_such_value: ${invalid.text}`)
        const [mistake] = invalid.body.errors
        assert.deepEqual([mistake.parameter, mistake.code], [member, 'invalid_parameter'], path)
        assert.ok(mistake.message.includes(value), `${path} ${member}: ${mistake.message}`)
      }
    }
  }
  const expected = ['/admin/jobs state', '/admin/jobs kind', '/admin/jobs mode', '/admin/keys mode']
  for (const place of [...expected, '/admin/audit action', '/admin/requests mode']) {
    assert.ok(filtered.includes(place), `${place} is none of ${filtered}`)
  }
})
