/** §8.11: `gatehook check` reads each lock that `gatehook check --update` writes. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { check, promisesOf } from '../../src/cli/check.ts'
import { catalogOf } from '../../src/cli/openapi.ts'
import { findService, loadService } from '../../src/cli/service-file.ts'
import { type Node, resolveRef } from '../../src/declare/gate/document.ts'
import { lockOf, parseLock, serializeLock } from '../../src/declare/gate/lock.ts'
import { OWN_STATUSES } from '../../src/declare/resources/listed-failures.ts'
import type { ServiceDefinition } from '../../src/declare/resources/service.ts'
import { openApiDocuments } from '../../src/documents.ts'
import { f, failure, resource, service } from '../../src/gatehook.ts'
import { type FailureCode, failures } from '../../src/kernel/failure.ts'

const base = service({
  name: 'Base',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [],
})
const scope = 'x:write'
const path = { method: 'POST', path: '/x', scope, summary: 'X' } as const
const route = { ...path, handle: () => undefined } as const
const forward = { ...path, to: 'a', upstreamPath: '/x' } as const

/** Services that differ from `base` by one word. */
const services: Readonly<Record<string, { readonly definition: ServiceDefinition }>> = {
  base,
  steps: base.route({ ...route, steps: true, handle: () => undefined }),
  media: base.route({
    ...path,
    input: { media: ['text/csv', 'image/png'] },
    output: { media: ['application/pdf', 'text/csv'] },
    handle: () => ({ media: 'text/csv', body: '' }),
  }),
  wrapped: base
    .upstream('a', { url: 'http://a' })
    .forward({ ...forward, errors: 'wrap', output: { a: f.int() } }),
  passed: base.upstream('a', { url: 'http://a' }).forward({ ...forward, method: 'GET' }),
  rules: service({
    name: 'Base',
    versions: { v1: { released: '2026-01-01' } },
    resources: [
      resource('things', {
        fields: { id: f.id(), a: f.int() },
        list: { filter: [], sort: [] },
        access: { read: scope, create: scope, update: scope, delete: scope },
        events: [],
      }).rule('create', () => {}, {
        failures: [failure('too_soon', { status: 424, message: 'No.' })],
      }),
    ],
  }),
  ...Object.fromEntries(
    OWN_STATUSES.map((status) => [
      `failure ${status}`,
      base.route({ ...route, failures: [failure('own', { status, message: 'No.' })] }),
    ]),
  ),
  ...Object.fromEntries(
    (Object.keys(failures) as FailureCode[]).map((code) => [
      code,
      base.route({ ...route, failures: [code] }),
    ]),
  ),
}

const assertLockIsRead = (definition: ServiceDefinition, name: string): void => {
  const lock = lockOf(promisesOf(definition))
  const read = parseLock(serializeLock(lock), name)
  assert.deepEqual(read, JSON.parse(JSON.stringify(lock)), name)
  const findings = check(definition, read).verdicts.flatMap(({ breaks, additions }) => [
    ...breaks,
    ...additions,
  ])
  assert.deepEqual(findings, [], name)
}

test('the lock of a declaration with steps, forwards, media and each failure is read', () => {
  for (const [name, { definition }] of Object.entries(services)) assertLockIsRead(definition, name)
})

test('the lock of each service of the package is read', async () => {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const examples = readdirSync(`${folder}examples`).map((name) => `examples/${name}`)
  assert.ok(examples.length >= 3)
  for (const name of ['service', ...examples]) {
    const { definition } = await loadService(findService(`${folder}${name}`))
    assertLockIsRead(definition, name)
  }
})

/** Throws at a reference without its component. */
function followReferences(document: Node, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  resolveRef(document, value)
  for (const member of Object.values(value)) followReferences(document, member)
}

test('each reference of a published document has its component', () => {
  for (const [name, { definition }] of Object.entries(services)) {
    if (name in failures) continue // the same references, in many documents
    const document = openApiDocuments(catalogOf(definition), true).get('v1')!
    assert.doesNotThrow(() => followReferences(document, document), name)
  }
})
