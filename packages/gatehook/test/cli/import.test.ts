/** §12.3: `gatehook import` creates the rows of a file, and reports errors by line. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { gatehook, jsonOf } from './command.ts'

const SERVICE = `import { f, resource, service } from 'gatehook'
const declare = (name, batch) => resource(name, {
  fields: {
    id: f.id(),
    name: f.string().max(20).unique(),
    size: f.int().min(0).default(1),
    gift: f.bool().default(false),
    note: f.string().nullable().default(null),
    tags: f.array(f.string(), { max: 3 }).default([]),
    created_at: f.createdAt(),
  },
  list: { filter: [], sort: [] },
  access: { read: name + ':read', create: name + ':write', update: false, delete: false },
  events: [],
  batch,
})
export const api = service({
  name: 'parts',
  versions: { v1: { released: '2026-01-01' } },
  resources: [declare('parts', true), declare('items', false), resource('texts', {
    fields: { id: f.id(), body: f.string().max(20_000) },
    list: { filter: [], sort: [] },
    access: { read: 'texts:read', create: 'texts:write', update: false, delete: false },
    events: ['text.created'],
    search: ['body'],
    batch: true,
  })],
})
`

async function project(t: TestContext, kind: (typeof databases)[number]['name']) {
  const cwd = emptyFolder(t)
  const url = await freshUrl(t, kind)
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
  writeFileSync(join(cwd, 'service.ts'), SERVICE)
  const secret = 'a secret that only tests know, long enough'
  const place = { cwd, env: { GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: secret } }
  const migrated = await gatehook(place, 'migrate')
  assert.equal(migrated.exit, 0, migrated.stderr)
  const write = (name: string, text: string | Uint8Array) => writeFileSync(join(cwd, name), text)
  return { place, write }
}

const NDJSON = [
  '{"id":9,"name":"a","size":2,"tags":["x"],"created_at":"2026-01-01T00:00:00.000Z"}',
  'odd',
  '',
  '{"name":"a"}',
  '{"size":-1}',
  '{"_cursor":null}',
  '{"name":"b","gift":true}',
].join('\n')

const UNREADABLE = [
  '\uFEFF{"name":"a"}',
  '{"name":"b\\u0000"}',
  '{"name":"c","constructor":{"prototype":1}}',
  '{"name":"d\\ud800"}',
  '{"name":"e"}',
].join('\n')

for (const { name: kind } of databases) {
  test(`a row that makes the body unreadable is an error of its line [${kind}]`, async (t) => {
    const { place, write } = await project(t, kind)
    write('rows.ndjson', UNREADABLE)
    for (const resource of ['parts', 'items']) {
      const { exit, stdout } = await gatehook(place, 'import', resource, 'rows.ndjson', '--json')
      const { errors, created } = JSON.parse(stdout)
      const lines = errors.map(({ line, error }: Record<string, unknown>) => [line, error])
      assert.deepEqual(lines, [
        [2, 'invalid_json'],
        [3, 'invalid_json'],
        [4, 'invalid_json'],
      ])
      assert.deepEqual([exit, created], [1, 2])
    }
  })

  test(`rows of NDJSON are created, and errors have their lines [${kind}]`, async (t) => {
    const { place, write } = await project(t, kind)
    write('rows.ndjson', NDJSON)
    for (const resource of ['parts', 'items']) {
      const tried = await gatehook(place, 'import', resource, 'rows.ndjson', '--dry-run', '--json')
      const rehearsal = JSON.parse(tried.stdout)
      assert.equal(tried.exit, 1, tried.stderr)
      assert.equal(rehearsal.dry_run, true)
      const { exit, stdout } = await gatehook(place, 'import', resource, 'rows.ndjson', '--json')
      const result = JSON.parse(stdout)
      const lines = result.errors.map(({ line, error, pointer }: Record<string, unknown>) => [
        line,
        error,
        pointer,
      ])
      assert.deepEqual(lines, [
        [2, 'invalid_line', undefined],
        [4, 'conflict', '/name'],
        [5, 'validation_failed', '/name'],
      ])
      assert.deepEqual([exit, result.created, result.failed, result.is_complete], [1, 2, 3, true])
    }
  })
}

const COLUMNS: readonly [file: string, messages: readonly string[]][] = [
  ['nam,gift\na,true\nb,true\n', ['names nam, which is not a field; did you mean name?']],
  [
    'name;gift\na;true\nb;true\n',
    ['has ; between names; CSV has commas: export the file with them'],
  ],
  ['name\tgift\na\ttrue\n', ['has a tab between names; CSV has commas: export the file with them']],
  [
    'zzz,nme,name\n1,2,a\n',
    ['names zzz, which is not a field', 'names nme, which is not a field; did you mean name?'],
  ],
]

test('columns that are no fields are reported once, before any row is sent', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  for (const [text, messages] of COLUMNS) {
    write('rows.csv', text)
    const { exit, stdout } = await gatehook(place, 'import', 'parts', 'rows.csv', '--json')
    const { errors, created } = JSON.parse(stdout)
    assert.deepEqual(
      errors.map(({ line, message }: Record<string, unknown>) => [line, message]),
      messages.map((message) => [1, message]),
    )
    assert.deepEqual([exit, created], [1, 0])
  }
})

test('a batch that is too large is sent as the batches that fit', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  const rows = Array.from({ length: 45 }, (_, row) =>
    JSON.stringify({ body: Array.from({ length: 1_000 }, (_, n) => `${row}w${n}`).join(' ') }),
  )
  write('rows.ndjson', rows.join('\n'))
  const result = await gatehook(place, 'import', 'texts', 'rows.ndjson', '--json')
  assert.equal(result.exit, 0, result.stderr)
  assert.equal(JSON.parse(result.stdout).created, 45)
  const file = place.env.GATEHOOK_DATABASE_URL.replace('sqlite:', '')
  const db = new DatabaseSync(file, { readOnly: true })
  onEnd(t, () => db.close())
  const sizes = db.prepare(`SELECT count(*) AS rows FROM gh_events
    WHERE type = 'text.created' GROUP BY request_id ORDER BY min(id)`)
  assert.deepEqual(
    sizes.all().map(({ rows }) => rows),
    [20, 20, 4, 1], // the import sends 44 rows, whose text has 300,000 characters, then one
  )
})

test('CSV has names in its first line; cells have the kinds of their fields', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  const rows = ['name,size,gift,note,tags', 'a,5,true,"","[""x""]"', "'=b,,false,,[]", 'c,x,false']
    .map((row) => `${row}\r\n`)
    .join('')
  write('rows.csv', rows)
  const text = await gatehook(place, 'import', 'parts', 'rows.csv')
  assert.equal(text.exit, 1)
  assert.match(text.stdout, /^line 4: has 3 cells, and the first line 5\nparts: 2 rows created, 1/)
  write('one.csv', 'name,size\nd,x\n')
  const { stdout } = await gatehook(place, 'import', 'parts', 'one.csv', '--json')
  assert.deepEqual(JSON.parse(stdout).errors[0].pointer, '/size')
  const again = await gatehook(place, 'import', 'parts', 'rows.csv', '--json')
  assert.equal(JSON.parse(again.stdout).created, 0, 'the names are taken')
})

test('a first line that names a field twice creates no row', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  write('rows.csv', 'name,size,name\na,1,b\n')
  const { exit, stdout } = await gatehook(place, 'import', 'parts', 'rows.csv')
  assert.deepEqual([exit, stdout.split('\n')[0]], [1, 'line 1: names name twice'], stdout)
  assert.match(stdout, /0 rows created, 1 failed/)
})

test('a line of NDJSON with two members of one name is an error', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  write('rows.ndjson', '{"name":"a","name":"b"}\n{"name":"c"}\n')
  const { exit, stdout } = await gatehook(place, 'import', 'parts', 'rows.ndjson')
  assert.deepEqual([exit, stdout.split('\n')[0]], [1, 'line 1: has two members of one name'])
  assert.match(stdout, /1 row created, 1 failed/)
})

test('an unknown resource or file is a usage error', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  write('rows.ndjson', '{"name":"a"}\n')
  const misspelt = await gatehook(place, 'import', 'part', 'rows.ndjson')
  assert.deepEqual([misspelt.exit, /Did you mean parts\?/.test(misspelt.stderr)], [2, true])
  assert.equal((await gatehook(place, 'import', 'parts', 'none.ndjson')).exit, 2)
  assert.equal((await jsonOf(place, 'import', 'parts', 'rows.ndjson')).created, 1)
})

test('a file that is not UTF-8 creates no row', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  write('rows.csv', Buffer.from('name\na\n\xc4hn\n', 'latin1'))
  const { exit, stderr } = await gatehook(place, 'import', 'parts', 'rows.csv')
  assert.deepEqual([exit, /rows\.csv is not UTF-8/.test(stderr)], [2, true], stderr)
  write('rows.csv', 'name\na\n')
  assert.equal((await jsonOf(place, 'import', 'parts', 'rows.csv')).created, 1)
})

for (const { name: kind } of databases) {
  test(`a repeat of an import creates only the rows that are missing [${kind}]`, async (t) => {
    const { place, write } = await project(t, kind)
    const run = async (resource: string, ...more: string[]) => {
      const { stdout } = await gatehook(place, 'import', resource, 'a.ndjson', '--json', ...more)
      const { created, repeated, failed } = JSON.parse(stdout)
      return { created, repeated, failed }
    }
    const lines = Array.from({ length: 150 }, (_, at) => JSON.stringify({ name: `n${at}` }))
    const texts = lines.map((_, at) => JSON.stringify({ body: `text ${at}` }))
    write('a.ndjson', [...texts, '{"body":7}'].join('\n'))
    assert.deepEqual(await run('texts', '--dry-run'), { created: 150, repeated: 0, failed: 1 })
    assert.deepEqual(await run('texts'), { created: 150, repeated: 0, failed: 1 })
    assert.deepEqual(await run('texts'), { created: 0, repeated: 150, failed: 1 })
    assert.deepEqual(await run('texts', '--again'), { created: 150, repeated: 0, failed: 1 })
    // Each row of a resource without batches has a request of its own.
    write('a.ndjson', lines.slice(0, 5).join('\n'))
    assert.deepEqual(await run('items'), { created: 5, repeated: 0, failed: 0 })
    assert.deepEqual(await run('items'), { created: 0, repeated: 5, failed: 0 })
    assert.deepEqual(await run('items', '--again'), { created: 0, repeated: 0, failed: 5 })
  })
}

test('an import that loses its node names the line, and continues', async (t) => {
  const { place, write } = await project(t, 'sqlite')
  write('a.ndjson', Array.from({ length: 250 }, (_, at) => `{"body":"text ${at}"}`).join('\n'))
  // A node that stores the second batch, and goes away before its response.
  const keys: (string | undefined)[] = []
  const node = createServer((request, response) => {
    keys.push(String(request.headers['idempotency-key']))
    request.resume().on('end', () => {
      if (keys.length === 2) return request.socket.destroy()
      const items = Array.from({ length: 100 }, () => ({ status: 201, body: {} }))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }))
    })
  })
  await new Promise<void>((listening) => node.listen(0, '127.0.0.1', listening))
  onEnd(t, () => node.close())
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const at = { ...place, env: { ...place.env, GATEHOOK_API_KEY: 'k' } }
  const first = await gatehook(at, 'import', 'texts', 'a.ndjson', '--url', url)
  assert.equal(first.exit, 1)
  assert.match(first.stderr, /ended at line 101: .*The same command within 24 hours continues/)
  const second = await gatehook(at, 'import', 'texts', 'a.ndjson', '--url', url)
  assert.equal(second.exit, 0, second.stderr)
  assert.deepEqual(keys.slice(2, 4), keys.slice(0, 2))
  assert.equal(new Set(keys).size, 3)
})

/** Imports two rows into a node with these responses. Returns the keys of the requests. */
async function importWith(
  t: TestContext,
  resource: 'texts' | 'items',
  responses: readonly (readonly [status: number, body: object, isReplayed?: boolean])[],
) {
  const { place, write } = await project(t, 'sqlite')
  const member = resource === 'texts' ? 'body' : 'name'
  write('a.ndjson', ['a', 'b'].map((text) => JSON.stringify({ [member]: text })).join('\n'))
  const keys: string[] = []
  const node = createServer((request, response) => {
    const [status, body, isReplayed] = responses[keys.length]!
    keys.push(String(request.headers['idempotency-key']))
    request.resume().on('end', () => {
      const replayed = isReplayed ? { 'idempotent-replayed': 'true' } : {}
      response.writeHead(status, { 'content-type': 'application/json', ...replayed })
      response.end(JSON.stringify(body))
    })
  })
  await new Promise<void>((listening) => node.listen(0, '127.0.0.1', listening))
  onEnd(t, () => node.close())
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const at = { ...place, env: { ...place.env, GATEHOOK_API_KEY: 'k' } }
  const { exit, stderr } = await gatehook(at, 'import', resource, 'a.ndjson', '--url', url)
  return { exit, stderr, lines: keys.map((key) => key.split('-').at(-1)), keys }
}

test('an import waits for an earlier request, and divides no batch for its key', async (t) => {
  const failure = (error: string) => ({ error, message: error })
  const items = [1, 2].map(() => ({ status: 201, body: {} }))
  const running = [409, failure('idempotency_in_progress')] as const
  const waited = await importWith(t, 'texts', [running, [200, { items }]])
  assert.deepEqual([waited.exit, waited.lines], [0, ['1', '1']], waited.stderr)
  const reused = await importWith(t, 'texts', [[422, failure('idempotency_key_reused')]])
  assert.deepEqual([reused.exit, reused.lines], [1, ['1']], reused.stderr)
})

const V2 = "v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' }"
/** Changes of a declaration between two imports of a file, and what the second one does. */
const REDECLARED: readonly [string, (text: string) => string, 'repeats' | 'refuses'][] = [
  ['a newer version', (text) => text.replace("v1: { released: '2026-01-01' }", V2), 'repeats'],
  ['a member that clients no longer write', withoutSize, 'refuses'],
  ['batches from now on', (text) => text.replace("'items', false", "'items', true"), 'refuses'],
  ['no batches any more', (text) => text.replace("'parts', true", "'parts', false"), 'refuses'],
]

function withoutSize(text: string): string {
  return text.replace('size: f.int().min(0).default(1)', 'size: f.int().default(1).readonly()')
}

for (const { name: kind } of databases) {
  test(`a repeat after another declaration creates no row twice [${kind}]`, async (t) => {
    for (const [change, redeclare, expected] of REDECLARED) {
      const { place, write } = await project(t, kind)
      // Names are unique: without that, rows would be created twice.
      const service = SERVICE.replace('f.string().max(20).unique()', 'f.string().max(20)')
      const run = (resource: string) => gatehook(place, 'import', resource, 'a.csv', '--json')
      const rows = Array.from({ length: 130 }, (_, at) => `n${at},${at}`)
      write('service.ts', service)
      write('a.csv', ['name,size', ...rows].join('\n'))
      for (const resource of ['parts', 'items']) {
        assert.equal(JSON.parse((await run(resource)).stdout).created, 130)
      }
      write('service.ts', redeclare(service))
      assert.equal((await gatehook(place, 'migrate')).exit, 0)
      const repeats = [await run('parts'), await run('items')]
      const refused = repeats.filter(({ exit }) => exit !== 0)
      for (const { stderr } of refused) assert.match(stderr, /in another form: .*--again/, change)
      for (const { exit, stdout } of repeats) {
        if (exit === 0) assert.equal(JSON.parse(stdout).created, 0, change)
      }
      assert.equal(refused.length > 0 ? 'refuses' : 'repeats', expected, change)
    }
  })
}

test('an import retries a row that failed in an earlier one', async (t) => {
  const failed = { error: 'validation_failed', message: 'is taken already' }
  const { exit, keys, stderr } = await importWith(t, 'items', [
    [422, failed, true],
    [201, {}],
    [201, {}, true],
  ])
  assert.equal(exit, 0, stderr)
  assert.deepEqual([keys[1], new Set(keys).size], [`${keys[0]}-2`, 3])
})
