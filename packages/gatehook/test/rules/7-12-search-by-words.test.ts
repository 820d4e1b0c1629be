/** §7.12: `q` finds rows by the beginning of words, in its transaction, paged like every list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import type { MigrationOptions } from '../../src/declare/resources/service.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { DeclarationError, f, resource, type Service, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { follow, idsOf, ok, refused, run, styles } from '../lists/rows.ts'

const access = {
  read: 'guests:read',
  create: 'guests:write',
  update: 'guests:write',
  delete: 'guests:write',
}
const fields = {
  id: f.id(),
  name: f.string().max(80),
  email: f.email().nullable().default(null),
  note: f.string().max(2000).default(''),
  rank: f.int().default(0),
}
const guests = (search: string[], migrations: object[] = []) =>
  service({
    name: 'Inn',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    migrations: migrations as never,
    resources: [
      resource('guests', {
        fields,
        list: { filter: ['rank'], sort: ['id', 'rank', 'name'] },
        access,
        events: ['guest.created', 'guest.updated', 'guest.deleted'],
        batch: true,
        export: true,
        search: search as 'name'[],
      }).before('v2', {
        why: 'Names are short.',
        had: { title: f.string().max(80) },
        hadNot: ['name'],
        up: ({ title }) => ({ name: title }),
        down: ({ name }) => ({ title: name }),
        renamed: { title: 'name' },
      }),
    ],
  })
const options = { service: guests(['name', 'email']) }
const PATH = '/api/v2/guests'
const pathOf = (q: string, more = '') => `${PATH}?q=${encodeURIComponent(q)}${more}`

const names = ['Ann Lee', 'Anna O’Hara', 'Åse Lee-Ann', 'Bob “Ann” Smith', 'Zoë 😀', '100% _Lee\\']

const cases = [
  ['ann', 1, 2, 3, 4],
  ['ANN', 1, 2, 3, 4],
  ['an lee', 1, 3],
  ['lee ann smith'],
  ['anna', 2],
  ['nn'],
  ['ase', 3],
  ['zoe', 5],
  ['Zoe\u0308', 5],
  ['😀', 5],
  ['100', 6],
  ['%'],
  ['_lee"', 1, 3, 6],
  ['x2@', 2],
  ['example', 2, 4],
  ['"ann" OR (bob*) NOT :'],
  ['ann:* & smith', 4],
  ["'; DROP TABLE guests --"],
  ['!!!'],
] as const

eachService(
  'q finds words by their beginning, without case and accents, in every style',
  async ({ get, post }) => {
    for (const [at, name] of names.entries()) {
      const email = at % 2 === 1 && at < 5 ? `X${at + 1}@example.com` : null
      assert.equal((await post(PATH, { name, email, rank: -at })).status, 201)
    }
    for (const [q, ...expected] of cases) {
      for (const style of styles) {
        const page = await ok(get(pathOf(q, `&pagination=${style}`)))
        assert.deepEqual(idsOf(page), expected, `${q} ${style}`)
        const total = page.body.total ?? page.body.meta?.total ?? expected.length
        assert.equal(total, expected.length, q)
      }
    }
    const { text } = await ok(get(pathOf('le ann'), { accept: 'text/csv' }))
    assert.deepEqual(text.match(/^\d+/gm), ['1', '3'])
    const byRank = await follow({ get }, pathOf('an', '&sort=rank&limit=1'))
    assert.deepEqual(byRank.flatMap(idsOf), [4, 3, 2, 1])
    assert.deepEqual(idsOf(await ok(get(pathOf('an', '&rank=-1')))), [2])
    assert.deepEqual(idsOf(await ok(get('/api/v1/guests?q=anna&fields=title,id'))), [2])
    const { next_cursor } = (await ok(get(pathOf('an', '&limit=1')))).body
    await refused(get(pathOf('le', `&limit=1&cursor=${next_cursor}`)), 'cursor_mismatch', 'cursor')
  },
  options,
)

eachService(
  'a change, a deletion and another customer: only the current words of the caller’s rows',
  async ({ get, post, patch, delete: remove, as, key }) => {
    await post(PATH, { name: 'Ann' })
    await post(PATH, { name: 'Anton' })
    const live = as(await key({ mode: 'live' }))
    await live.post(PATH, { name: 'Ann of another mode' })
    assert.deepEqual(idsOf(await ok(get(pathOf('an')))), [1, 2])
    await patch(`${PATH}/1`, { name: 'Berta', note: 'Ann' })
    await remove(`${PATH}/2`)
    assert.deepEqual(idsOf(await ok(get(pathOf('an')))), [])
    assert.deepEqual(idsOf(await ok(get(pathOf('be')))), [1])
    assert.deepEqual(idsOf(await ok(live.get(pathOf('an')))), [3])
    // A rejected change leaves the words.
    assert.equal((await patch(`${PATH}/1`, { name: 'x'.repeat(81) })).status, 422)
    assert.deepEqual(idsOf(await ok(get(pathOf('be')))), [1])
  },
  options,
)

eachService(
  'q has bounds',
  async ({ get, post }) => {
    await post(PATH, { name: 'Ann' })
    for (const q of ['', 'a'.repeat(201), 'a b c d e f g h i j k']) {
      await refused(get(pathOf(q)), 'invalid_parameter', 'q')
    }
    assert.deepEqual(idsOf(await ok(get(pathOf('a'.repeat(200))))), [])
    await refused(get(`${PATH}?q=a&q=b`), 'pagination_conflict', 'q')
  },
  options,
)

const ROWS = 900

/** Rows that have in common words: more than one read examines. */
const crowd = (n: number) => `common${n % 2} word${n % 100} n${n}`

eachService(
  'pages of frequent words are exact in both directions, with filters and several terms',
  async ({ get, post }) => {
    for (let from = 1; from <= ROWS; from += 100) {
      const items = Array.from({ length: 100 }, (_, n) => ({
        name: crowd(from + n),
        rank: (from + n) % 7,
      }))
      assert.equal((await post(`${PATH}/batch`, { items })).status, 200)
    }
    const rows = (await follow({ get }, `${PATH}?limit=100&fields=id,name,rank`)).flatMap(
      (page) => page.body.data as { id: number; name: string; rank: number }[],
    )
    const expected = (matches: (row: { name: string; rank: number }) => boolean) =>
      rows.filter(matches).map(({ id }) => id)
    const has = (row: { name: string }, ...terms: string[]) =>
      terms.every((term) => row.name.split(' ').some((word) => word.startsWith(term)))
    for (const [q, terms] of [
      ['common', ['common']],
      ['common1 word', ['common1', 'word']],
      ['n word7 common', ['n', 'word7', 'common']],
    ] as const) {
      const ids = expected((row) => has(row, ...terms))
      const pages = await follow({ get }, pathOf(q, '&limit=90'))
      assert.deepEqual(pages.flatMap(idsOf), ids, q)
      const last = pages.at(-1)!
      const back = await follow(
        { get },
        pathOf(q, `&limit=90&cursor=${last.body.cursors.prev ?? ''}`),
        'prev',
      )
      assert.deepEqual(back.reverse().flatMap(idsOf), ids.slice(0, -idsOf(last).length), q)
      const down = await follow({ get }, pathOf(q, '&limit=100&sort=-id'))
      assert.deepEqual(down.flatMap(idsOf), [...ids].reverse(), q)
      const numbered = await follow({ get }, pathOf(q, '&per_page=100'))
      assert.deepEqual(numbered.flatMap(idsOf), ids, q)
      const filtered = expected((row) => has(row, ...terms) && row.rank === 3)
      const byRank = await follow({ get }, pathOf(q, '&limit=50&rank=3'))
      assert.deepEqual(byRank.flatMap(idsOf), filtered, q)
    }
  },
  options,
)

const start = async (db: Parameters<typeof migrateService>[0], api: Service) => {
  const lines: string[] = []
  await migrateService(db, api.definition, (line) => lines.push(line))
  return lines
}
const wordsIn = async (db: Parameters<typeof migrateService>[0]) =>
  (await db.arrays({ sql: WORDS, text: WORDS, values: [] })).map(([word]) => word)
const WORDS = 'SELECT word FROM gh_words_guests ORDER BY scope, id, word'

eachDatabase('a start indexes existing rows, and again after a change', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  await start(db, guests([]))
  const insert = "INSERT INTO guests (scope, name, note) VALUES (2, 'Ann Lee', 'old')"
  for (let n = 0; n < 3; n++) await run(db, insert)
  await run(
    db,
    `WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 600)
     INSERT INTO guests (scope, name, note) SELECT 4, 'm' || n, '' FROM g`,
  )
  assert.deepEqual(await start(db, guests(['name'])), [
    'table guests: search index of name created',
  ])
  const words = await wordsIn(db)
  assert.equal(words.length, 606)
  assert.deepEqual(words.slice(0, 6), ['ann', 'lee', 'ann', 'lee', 'ann', 'lee'])
  assert.deepEqual(await start(db, guests(['name'])), [])
  await start(db, guests(['name', 'note']))
  assert.deepEqual((await wordsIn(db)).slice(0, 3), ['ann', 'lee', 'old'])
  // The previous declaration writes no words; the next start with a search indexes its rows.
  await start(db, guests([]))
  await run(db, "UPDATE guests SET name = 'Zoe' WHERE scope = 2")
  await start(db, guests(['name']))
  assert.deepEqual((await wordsIn(db)).slice(0, 3), ['zoe', 'zoe', 'zoe'])
  const migration = {
    number: 1,
    name: 'names',
    table: 'guests',
    sql: "UPDATE guests SET name = 'x'",
  }
  await start(db, guests(['name'], [migration]))
  assert.deepEqual(new Set(await wordsIn(db)), new Set(['x']))
})

eachDatabase('a migration indexes the rows of the tables that its SQL names', async (db) => {
  const inn = (...texts: MigrationOptions['sql'][]) => {
    const noted = (name: string) =>
      resource(name, {
        fields: { id: f.id(), note: f.string(), rank: f.int().default(0) },
        list: { filter: [], sort: ['id'] },
        access,
        events: [],
        search: ['note'],
      })
    const migrations = texts.map((text, n) => ({ number: n + 1, name: `m${n}`, sql: text }))
    const versions = { v1: { released: '2025-01-01' } }
    return service({ name: 'Inn', versions, migrations, resources: ['beds', 'rooms'].map(noted) })
  }
  await migrateEngine(db, { clock: wallClock })
  await start(db, inn())
  await run(db, "INSERT INTO beds (scope, note) VALUES (2, 'a')")
  await run(db, "INSERT INTO rooms (scope, note) VALUES (2, 'b')")
  const indexed = async (...texts: MigrationOptions['sql'][]) =>
    (await start(db, inn(...texts))).flatMap((line) => /^table (\w+): search/.exec(line)?.[1] ?? [])
  const update = "UPDATE Rooms SET note = 'c'"
  const texts: MigrationOptions['sql'][] = [
    'ALTER TABLE beds RENAME COLUMN rank TO own; ALTER TABLE beds RENAME COLUMN own TO rank',
    update,
    {
      sqlite: `CREATE TRIGGER own AFTER UPDATE ON beds BEGIN ${update}; END`,
      postgres: `CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN ${update}; RETURN NEW; END $$;
        CREATE TRIGGER own AFTER UPDATE ON beds FOR EACH ROW EXECUTE FUNCTION own()`,
    },
    'UPDATE beds SET rank = 2',
  ]
  const both = ['beds', 'rooms']
  const expected = [['beds'], ['rooms'], both, both]
  for (const [n, names] of expected.entries()) {
    assert.deepEqual(await indexed(...texts.slice(0, n + 1)), names, String(n))
  }
})

eachDatabase('an interrupted index of existing rows resumes after its last batch', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  await start(db, guests([]))
  await run(
    db,
    `WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 2500)
     INSERT INTO guests (scope, name, note) SELECT 2 + n / 1500, 'm' || n || ' all', '' FROM g`,
  )
  const indexNames = async () => {
    const catalog = db.name === 'sqlite' ? 'sqlite_schema' : 'pg_indexes'
    const name = db.name === 'sqlite' ? 'name' : 'indexname'
    const rows = await db.all(prepareStatement(`SELECT ${name} AS name FROM ${catalog}`)([]))
    return rows.map((row) => row.name)
  }
  let written = 0
  const failing: typeof db = Object.create(db, {
    write: {
      value: (change: Parameters<typeof db.write>[0]) => {
        written += 1
        if (written > 2) throw new Error('killed')
        return db.write(change)
      },
    },
  })
  await assert.rejects(start(failing, guests(['name'])), /killed/)
  assert.equal((await wordsIn(db)).length, 4000, 'two batches')
  assert.deepEqual(await start(db, guests(['name'])), [
    'table guests: search index of name created',
  ])
  const words = await wordsIn(db)
  assert.deepEqual([words.length, new Set(words).size], [5000, 2501])
  assert.ok((await indexNames()).includes('gh_words_guests_by_word'))
})

test('a declaration of a search names texts', () => {
  const mistakes = [
    [['nickname'], /search: there is no field nickname/],
    [['rank'], /search: rank is not a text/],
    [['name', 'name'], /search: name occurs twice/],
    ['name', /search is an array of field names/],
  ] as const
  for (const [search, message] of mistakes) {
    assert.throws(
      () => guests(search as never),
      (error) => error instanceof DeclarationError && message.test(error.message),
    )
  }
})
