/**
 * §8.11: the lock has what callers see of each word of a declaration. A word that the lock lacks
 * has a reason here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf, parseLock, serializeLock } from '../../src/declare/gate/lock.ts'
import { declaredMembers } from '../../src/declare/resources/declared-members.ts'
import { event, f, failure, fields, resource, service } from '../../src/gatehook.ts'

const access = { read: 's:read', create: 's:write', update: 's:write', delete: 's:write' } as const

const list = { filter: ['title'], prefix: ['title'], contains: ['title'], sort: ['title'] } as const

/** The words that a change replaces. */
interface Words {
  readonly rows?: object
  readonly fields?: object
  readonly signsIn?: object
  readonly action?: object
  readonly route?: object
  readonly event?: object
  readonly service?: object
  readonly links?: readonly string[]
  readonly editable?: readonly string[]
}

const full = failure('shop_full', { status: 409, message: 'The shop is full.' })
const busy = failure('shop_full', { status: 422, message: 'The shop is full.' })

function definitionOf(words: Words) {
  const people = resource('people', {
    fields: {
      ...{ id: f.id(), email: f.email().unique(), name: f.string().max(100).unique() },
      born: f.int().default(2000),
    },
    ...{ list: { filter: [], sort: [] }, access, events: [] },
  }).signsIn({
    ...{ username: 'email', scopes: ['s:read', 's:write'], passwordReset: true },
    signUp: { fields: ['name', 'born'] },
    ...words.signsIn,
  } as never)
  const shows = resource('shows', {
    fields: {
      ...{ id: f.id(), title: f.string().max(100), seats: f.int().default(20) },
      status: f.oneOf(['open', 'closed']).default('open').readonly(),
      ...(words.fields as Record<never, never>),
    },
    list,
    ...{ access, events: ['show.created'] as const },
    ...{ batch: true, export: true, search: ['title'] as const },
    softDelete: { scope: 's:write', purgeAfterDays: 30 },
    ...(words.rows as Record<never, never>),
  })
    .action('close', {
      scope: 's:write',
      from: ['open'],
      to: 'closed',
      emits: 'show.closed',
      input: { why: f.string() },
      failures: [full],
      ...(words.action as Record<never, never>),
    } as never)
    .editable(['title'], { from: (words.editable ?? ['open', 'closed']) as never })
    .links((row) => ({
      self: `/shows/${row.id}`,
      ...Object.fromEntries((words.links ?? ['all']).map((rel) => [rel, '/shows'])),
    }))
  const ready = event('report.ready', fields({ url: f.url() }), {
    scope: 's:read',
    ...words.event,
  })
  return service({
    name: 's',
    versions: { v1: { released: '2025-01-01' } },
    resources: [people, shows],
    events: [ready],
    externalEvents: [{ type: 'payment.posted', scope: 's:read' }],
    ...(words.service as Record<never, never>),
  }).route({
    method: 'POST',
    path: '/reports',
    scope: 's:write',
    summary: 'Report',
    query: { year: f.int() },
    input: { title: f.string() },
    output: { url: f.url() },
    status: 201,
    headers: { 'x-report': 'The number' },
    failures: [full],
    handle: () => ({ body: { url: 'https://example.com/' } }),
    ...(words.route as Record<never, never>),
  } as never).definition
}

function breaksOf(words: Words): string[] {
  const lock = parseLock(serializeLock(lockOf(promisesOf(definitionOf({})))), 'api.lock.json')
  return check(definitionOf(words), lock).verdicts.flatMap(({ breaks }) =>
    breaks.map(({ sentence }) => sentence),
  )
}

const sample = (more: object): Words => ({ rows: more })
const route = (more: object): Words => ({ route: more })
const OWN = 'own code alone sees it'
const AS_ROUTE = 'as of a route'
const DATABASE = 'the database alone sees it'

/** By word and member: a change that is a break, or the reason why the lock does not have it. */
const WORDS: Readonly<Record<string, Readonly<Record<string, Words | string>>>> = {
  resource: {
    singular: 'names of schemas are annotations; events have their own names',
    fields: { fields: { title: f.string().max(50) } },
    'list.filter': sample({ list: { ...list, filter: [] } }),
    'list.prefix': sample({ list: { ...list, prefix: [] } }),
    'list.contains': sample({ list: { ...list, contains: [] } }),
    'list.sort': sample({ list: { ...list, sort: [] } }),
    'access.read': sample({ access: { ...access, read: 's:other' } }),
    'access.create': sample({ access: { ...access, create: 's:other' } }),
    'access.update': sample({ access: { ...access, update: 's:other' } }),
    'access.delete': sample({ access: { ...access, delete: 's:other' } }),
    'access.persons': '8-11-reach-is-promised.test.ts',
    events: sample({ events: [] }),
    unique: sample({ unique: [['title', 'seats']] }),
    retired: DATABASE,
    batch: sample({ batch: false }),
    export: sample({ export: false }),
    softDelete: sample({ softDelete: { scope: 's:write', purgeAfterDays: 10 } }),
    search: sample({ search: [] }),
    maxBodyBytes: sample({ maxBodyBytes: 2_000 }),
    mcp: sample({ mcp: false }),
  },
  action: {
    scope: { action: { scope: 's:other' } },
    from: { action: { from: ['closed'] } },
    to: { action: { to: 'open' } },
    emits: { action: { emits: undefined } },
    input: { action: { input: { why: f.string(), who: f.string() } } },
    run: OWN,
    failures: 'a failure that is no longer returned harms no caller',
    mcp: { action: { mcp: false } },
  },
  rule: { failures: 'as of an action; `gatehook check` lists rules that it does not compare' },
  event: { scope: { event: { scope: 's:other' } } },
  failure: {
    status: { action: { failures: [busy] }, route: { failures: [busy] } },
    message: 'texts for people may change',
    details: 'the details of a failure are in the document: `failureFindings`',
  },
  editable: { from: { editable: ['open'] } },
  signsIn: {
    username: { signsIn: { username: 'name', signUp: undefined, passwordReset: false } },
    names: { signsIn: { names: 'customer' } },
    scopes: { signsIn: { scopes: ['s:read'] } },
    'signUp.fields': { signsIn: { signUp: { fields: ['name'] } } },
    'signUp.scopes': { signsIn: { signUp: { fields: ['name', 'born'], scopes: ['s:read'] } } },
    passwordReset: { signsIn: { passwordReset: false } },
  },
  before: {
    why: 'a text of the changelog',
    had: 'the fields of a version are in its document',
    hadNot: 'as had',
    up: 'the start and `narrowings` test conversions',
    down: 'as up',
    renamed: 'filters and sorts of a version are in its document',
  },
  route: {
    method: route({ method: 'PUT' }),
    path: route({ path: '/report' }),
    scope: route({ scope: 's:other' }),
    summary: 'an annotation',
    query: route({ query: {} }),
    input: route({ input: {} }),
    output: route({ output: { other: f.url() } }),
    status: route({ status: 200 }),
    headers: route({ headers: {} }),
    failures: 'as of an action',
    mcp: route({ mcp: false }),
    steps: 'a repeat with its key continues the request, as any repeat does',
    timeoutMs: 'a bound of the operator',
    maxBodyBytes: route({ maxBodyBytes: 2_000 }),
    handle: OWN,
  },
  upstream: { url: OWN, timeoutMs: 'a bound of the operator', set: OWN },
  forward: {
    ...{ method: AS_ROUTE, path: AS_ROUTE, to: OWN, upstreamPath: OWN, integers: OWN },
    ...{ scope: AS_ROUTE, summary: AS_ROUTE, pass: OWN, query: AS_ROUTE, input: AS_ROUTE },
    ...{ output: AS_ROUTE, errors: OWN, stream: AS_ROUTE, repeatable: OWN },
    ...{ responseHeaders: AS_ROUTE, status: AS_ROUTE, maxBodyBytes: AS_ROUTE, mcp: AS_ROUTE },
  },
  service: {
    ...{ name: 'an annotation', license: 'an annotation', contact: 'an annotation' },
    vendor: { service: { vendor: 'other' } },
    versions: 'a version is in the lock as a whole',
    resources: 'as fields of a resource',
    events: { service: { events: [] } },
    externalEvents: { service: { externalEvents: [] } },
    migrations: DATABASE,
    claims: 'a function: its claims are known once a person signs in',
    scopes: 'the scopes of operations are in the document',
    oauth: 'the scopes of clients that register themselves follow from those of the operations',
  },
  job: { attempts: OWN, timeoutMs: OWN },
  every: { attempts: OWN, timeoutMs: OWN, timeZone: OWN, each: OWN },
  on: { attempts: OWN, timeoutMs: OWN, name: OWN },
  mail: {
    from: 'a text for people',
    links: 'links of mail go to the pages of the team',
    texts: OWN,
  },
}

test('the table has every word of a declaration', () => {
  for (const [word, members] of Object.entries(declaredMembers)) {
    const names = Object.keys(WORDS[word] ?? {}).map((name) => name.split('.')[0]!)
    assert.deepEqual([...new Set(names)].sort(), Object.keys(members).sort(), word)
  }
})

for (const [word, members] of Object.entries(WORDS)) {
  for (const [member, change] of Object.entries(members)) {
    if (typeof change === 'string') continue
    test(`less of ${word}.${member} is a break`, () => {
      assert.notDeepEqual(breaksOf(change), [], `${word}.${member}`)
    })
  }
}

test('no change, and more of a word, is no break', () => {
  assert.deepEqual(breaksOf({}), [])
  assert.deepEqual(breaksOf({ links: ['all', 'more'] }), [])
  assert.deepEqual(breaksOf({ rows: { maxBodyBytes: 2_000_000 } }), [])
  const more = { fields: ['name', 'born'], scopes: ['s:read', 's:write', 's:more'] }
  assert.deepEqual(breaksOf({ signsIn: { signUp: more } }), [])
})

test('a removed link, and a smaller body of a sign-up, are breaks', () => {
  assert.deepEqual(breaksOf({ links: [] }), [
    'shows: rows have the link all: this no longer holds, and callers rely on it.',
  ])
  const [first] = breaksOf({ signsIn: { signUp: { fields: ['name'] } } })
  assert.match(first!, /"born".*POST \/auth\/signup/)
})
