/** §6.16: a contradictory prefix is rejected, and ids of existing rows never change their kind. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { DeclarationError, f, job, resource, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { PLATFORM_PREFIXES } from '../../src/kernel/row-id.ts'

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } }
const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const list = { filter: [], sort: [] } as const

const named = (name: string, fields: object) =>
  resource(name, {
    fields: fields as { id: ReturnType<typeof f.id> },
    list,
    access,
    events: [],
  })
const declare = (...resources: unknown[]) =>
  service({ name: 's', versions, resources: resources as never })

const rejects = (sentence: RegExp, declare: () => unknown) =>
  assert.throws(declare, (error) => {
    assert.ok(error instanceof DeclarationError, String(error))
    assert.match(error.message, sentence)
    return true
  })

test('a prefix is a word of 1 to 8 characters that the platform does not have', () => {
  for (const prefix of ['', 'BK', 'bk_', '1b', 'b-k', 'bookings1', 'bü', 7, null]) {
    rejects(/is no prefix of ids: 1 to 8/, () => named('things', { id: f.id(prefix as string) }))
  }
  for (const prefix of ['evt', 'key', 'req', 'wh']) {
    rejects(/is a prefix of ids of the platform, as are aud, .*, whsec/, () =>
      named('things', { id: f.id(prefix) }),
    )
  }
  for (const prefix of ['b', 'bk', 'b2k', 'bookings'])
    declare(named('things', { id: f.id(prefix) }))
  rejects(/f\.ref\('things', 'th'\) takes no min or max/, () =>
    named('notes', { id: f.id(), thing_id: f.ref('things', 'th').max(7) }),
  )
})

test('the list of reserved prefixes has each prefix of the sources', () => {
  const folder = join(import.meta.dirname, '../../src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const used = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /create(?:TimeOrderedId|IdSequence|ShortId)\(\s*'([a-z]+)_'/g,
      ),
    ])
    .map(([, prefix]) => prefix!)
  assert.ok(used.length > 10)
  assert.deepEqual(
    used.filter((prefix) => !PLATFORM_PREFIXES.has(prefix)),
    [],
  )
})

test('two resources have different prefixes', () => {
  rejects(/rooms and halls have f\.id\('rm'\); each needs its own prefix/, () =>
    declare(named('rooms', { id: f.id('rm') }), named('halls', { id: f.id('rm') })),
  )
})

test('a reference has the prefix of its target, also in older versions and inputs', () => {
  const rooms = named('rooms', { id: f.id('rm') })
  const halls = named('halls', { id: f.id() })
  const seats = (fields: object) => named('seats', { id: f.id(), ...fields })
  const write = /room_id: the ids of rooms begin with rm_; write f\.ref\('rooms', 'rm'\)/
  rejects(write, () => declare(rooms, seats({ room_id: f.ref('rooms') })))
  rejects(write, () => declare(rooms, seats({ room_id: f.ref('rooms', 'xx') })))
  rejects(/hall_id: the ids of halls are integers; write f\.ref\('halls'\)/, () =>
    declare(halls, seats({ hall_id: f.ref('halls', 'hl') })),
  )
  rejects(write, () =>
    declare(rooms, seats({}).action('move', { scope: 'w', input: { room_id: f.ref('rooms') } })),
  )
  rejects(write, () =>
    declare(
      rooms,
      named('seats', { id: f.id(), place_id: f.ref('rooms', 'rm') }).before('v2', {
        why: 'words',
        had: { room_id: f.ref('rooms') },
        hadNot: ['place_id' as never],
        up: () => ({}) as never,
        down: () => ({ room_id: 1 }),
      }),
    ),
  )
  const at = { path: '/moves', scope: 'w', summary: 'Move.', handle: () => ({}) } as const
  rejects(/route POST \/moves: room_id: the ids of rooms begin with rm_/, () =>
    declare(rooms).route({ ...at, method: 'POST', input: { room_id: f.ref('rooms') } }),
  )
  rejects(/route GET \/moves: room_id: the ids of rooms begin with rm_/, () =>
    declare(rooms).route({ ...at, method: 'GET', query: { room_id: f.ref('rooms', 'x') } }),
  )
  rejects(/\.job clean: room_id: the ids of rooms begin with rm_/, () =>
    declare(rooms).job(job('clean', { room_id: f.ref('rooms') }), () => {}),
  )
  declare(rooms, seats({ room_id: f.ref('rooms', 'rm') }))
})

test('rows that sign in have integer ids', () => {
  const people = resource('people', {
    fields: { id: f.id('per'), email: f.email().unique() },
    list,
    access,
    events: [],
  }).signsIn({ username: 'email' })
  rejects(/rows that sign in have the id f\.id\(\)/, () => declare(people))
})

eachDatabase('ids of existing rows never change their kind', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  const start = (...resources: unknown[]) =>
    migrateService(db, declare(...resources).definition, () => {})
  const rooms = named('rooms', { id: f.id('rm') })
  const halls = named('halls', { id: f.id() })
  await start(rooms, halls)
  await start(rooms, halls)
  await assert.rejects(
    start(named('rooms', { id: f.id() }), halls),
    /rooms\.id is stored as text, declared as int\. .* in a new resource/,
  )
  await assert.rejects(
    start(rooms, named('halls', { id: f.id('hl') })),
    /halls\.id is stored as int, declared as text/,
  )
  await start(rooms, named('halls', { id: f.id(), room_id: f.ref('rooms', 'rm').nullable() }))
})
