/** §15.4: which statements of own code read only `table(…)` and names of their own WITH. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkSql } from './sql-check.ts'
import { SqlMistake } from './sql-tokens.ts'

/** Checks a text in which `@` is a table and `?` a value. */
function mistakeIn(text: string, isWhole = true): string | undefined {
  const slots = [...text.matchAll(/[@?]/g)].map(([mark]) => (mark === '@' ? 'table' : 'value'))
  try {
    checkSql(text.split(/[@?]/), slots as ('table' | 'value')[], isWhole)
    return undefined
  } catch (error) {
    assert.ok(error instanceof SqlMistake)
    return error.message
  }
}

const allowed = [
  'SELECT 1',
  'VALUES (1), (2)',
  'select a, b from @ where a = ? order by b limit 5',
  'SELECT i.a FROM @ JOIN @ ON c.id = i.c LEFT JOIN @ USING (id), @ WHERE i.x IN (?, ?)',
  'SELECT * FROM (@ CROSS JOIN @), (SELECT 1 AS n) AS one, LATERAL (SELECT * FROM @) AS x',
  'SELECT * FROM ((SELECT 1) UNION (SELECT a FROM @)) AS u(a)',
  'WITH x AS (SELECT * FROM @), y (a, b) AS MATERIALIZED (SELECT * FROM x) SELECT * FROM y',
  'WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT * FROM N',
  '(SELECT a FROM @) UNION ALL (WITH x AS (SELECT 1) SELECT * FROM x)',
  'SELECT EXTRACT(day FROM t), trim(both ? from b), substring(a FROM 1 FOR 2) FROM @',
  'SELECT position(a IN b) FROM @',
  'SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM (SELECT max(x) FROM @) FROM @',
  'SELECT count(*) FILTER (WHERE a > ?) OVER (PARTITION BY b) AS from_users FROM @ GROUP BY a, b',
  'SELECT CAST(a AS numeric(9, 2)), a::numeric(9, 2), i.from, i."join" AS users FROM @',
  "SELECT 'FROM users', E'it''s FROM users', \"FROM users\" FROM @",
  'SELECT a FROM @ -- FROM users\n, @ /* JOIN users */',
  'SELECT sum(a) OVER w FROM @ WINDOW w AS (ORDER BY a), v AS (ORDER BY b)',
  'SELECT a FROM @ FOR UPDATE OF i, c',
  'SELECT a FROM @ WHERE EXISTS (SELECT 1 FROM @ WHERE true) AND NOT (a = ANY (SELECT b FROM @));',
  'SELECT CASE WHEN a THEN (b) ELSE (c) END, left(a, 2) FROM @ ORDER BY a, b OFFSET 3',
  'SELECT a AS "as", i.with, CAST(a AS timestamp with time zone), a::character varying(9) FROM @',
  'WITH x AS NOT MATERIALIZED (SELECT 1), rows AS (SELECT 2) (SELECT * FROM x, rows)',
  'SELECT (WITH x AS (SELECT 1) SELECT * FROM x), a IN (WITH x AS (SELECT 1) SELECT * FROM x)',
  "SELECT a[1], a[1:2], ARRAY[1, b], a::int[], a ->> b, a #>> b, a LIKE 'x' ESCAPE '\\' FROM @",
  'SELECT DISTINCT ON (a) b FROM @ JOIN @ ON (a = b) WHERE (c) GROUP BY ROLLUP (a)',
  'SELECT count(*) FILTER (WHERE a) FROM @ -- a comment\r\n/* another */ WHERE a',
]

const refused = [
  'SELECT * FROM users',
  'SELECT * FROM "users"',
  'SELECT * FROM `users`',
  'SELECT * FROM [users]',
  "SELECT * FROM 'users'",
  'SELECT * FROM main.users',
  'SELECT 1FROM users',
  'SELECT 1.FROM users',
  'SELECT * FROM/**/users',
  'SELECT * FROM ?',
  'SELECT * FROM @, users',
  'SELECT * FROM @ JOIN users ON true',
  'SELECT * FROM @ JOIN @ ON offset = 1, users',
  'SELECT * FROM @ JOIN @ ON window = 1, users',
  'SELECT * FROM @ JOIN @ ON values = 1, users',
  'SELECT * FROM (users)',
  'SELECT * FROM (@ JOIN users ON true)',
  'SELECT * FROM ((SELECT 1) UNION SELECT a FROM users) AS x',
  'SELECT (SELECT a FROM users)',
  'SELECT ((SELECT 1) UNION SELECT a FROM users)',
  'SELECT a FROM @ WHERE b IN (SELECT c FROM users)',
  'SELECT a FROM @ WHERE b IN users',
  'SELECT trim(a) FROM users',
  'SELECT EXTRACT(day FROM (SELECT a FROM users))',
  'SELECT a FROM @ UNION SELECT a FROM users',
  'SELECT a FROM @ UNION TABLE users',
  'TABLE users',
  'WITH users AS (SELECT * FROM users) SELECT * FROM users',
  'WITH "Users" AS (SELECT 1) SELECT * FROM users',
  'WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a',
  'SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) AS y, x',
  'WITH x AS (SELECT 1) SELECT * FROM main.x',
  'WITH x AS (SELECT 1) SELECT * FROM x(1)',
  'WITH x AS (DELETE FROM @ RETURNING a) SELECT * FROM x',
  'WITH x AS (SELECT 1) UPDATE users SET a = 1',
  'UPDATE users SET a = 1',
  'DELETE FROM users',
  'INSERT INTO users VALUES (1)',
  'DROP TABLE users',
  'PRAGMA table_info(users)',
  'SELECT a INTO b FROM @',
  'SELECT 1; SELECT a FROM users',
  'SELECT * FROM generate_series(1, 9)',
  'SELECT * FROM LATERAL json_each(?)',
  'SELECT * FROM ROWS FROM (json_each(?))',
  'SELECT generate_series(1, 9)',
  "SELECT query_to_xml('SELECT * FROM users', true, true, '')",
  "SELECT pg_catalog.query_to_xml('SELECT 1', true, true, '')",
  'SELECT pg_catalog.count(1)',
  'SELECT "query_to_xml"(?)',
  'SELECT total_of_all_customers()',
  "SELECT ts_stat('SELECT a FROM users')",
  'SELECT DISTINCT ON (a) own_function(b) FROM @',
  'SELECT * FROM @ AS x',
  'SELECT * FROM @ x',
  'SELECT @',
  'SELECT * FROM @ WHERE a IN @',
  "SELECT '?'",
  'SELECT /* a /* b */ FROM users',
  'SELECT $1',
  'SELECT $$a$$ FROM @',
  "SELECT 'a FROM @",
  'SELECT 1) FROM @',
  // A word after AS, a dot or `::` is a name.
  'SELECT email AS as FROM users',
  'SELECT email AS "as" FROM users',
  'WITH i AS (SELECT 1) SELECT i.as FROM i, users',
  'WITH i AS (SELECT 1) SELECT i . as FROM i, users',
  'SELECT a AS as INTO t FROM @',
  'SELECT i.as INTO t FROM @',
  'WITH i AS (SELECT 1) SELECT i.is distinct FROM users',
  'SELECT 1 AS is distinct FROM users',
  'SELECT 1::is distinct FROM users',
  'SELECT CAST(a AS is) distinct FROM users',
  'SELECT * FROM @ JOIN @ ON i.where, users',
  'SELECT * FROM @ JOIN @ ON i.union = 1, users',
  'SELECT * FROM @ JOIN @ ON window.as = 1, users',
  'SELECT * FROM @ JOIN @ ON a::where, users',
  'SELECT a.trim (b FROM users)',
  'SELECT a::trim (b FROM users)',
  // The words before a table, and tables without a name of a table.
  'WITH "only" AS (SELECT 1) SELECT * FROM ONLY users',
  'WITH "only" AS (SELECT 1) SELECT * FROM ONLY (users)',
  'WITH u AS (SELECT 1) SELECT * FROM U&"users"',
  'WITH u AS (SELECT 1) SELECT * FROM u&"users"',
  "SELECT U&'a' FROM @",
  'WITH x AS (SELECT 1) SELECT * FROM lateral x',
  'WITH "lateral" AS (SELECT 1) SELECT * FROM lateral, users',
  'WITH "where" AS (SELECT 1) SELECT * FROM where, users',
  'SELECT * FROM (values CROSS JOIN @)',
  'SELECT * FROM values',
  // A colon, brackets, and the variables of SQLite.
  "SELECT (ARRAY[1])[1:setval('s', 9)] FROM @",
  'SELECT a : own(1) FROM @',
  'SELECT a:::own(1) FROM @',
  'SELECT a[own(1)] FROM @',
  'SELECT a[(SELECT b FROM users)] FROM @',
  'SELECT 1 AS [--], email FROM users',
  'SELECT 1 AS [--], email FROM users --\n]',
  'SELECT 1 AS [/*], email FROM users, "*/]"',
  "SELECT 1 AS ['], email FROM users --']",
  'SELECT 1 AS ["], email FROM users --"]',
  'SELECT [own](1)',
  'SELECT * FROM @ JOIN @ ON [where] = 1, users',
  'SELECT [?], a FROM @',
  'SELECT a] FROM @',
  'SELECT a[1 FROM @',
  "SELECT :a('), email FROM users --')",
  "SELECT #a('), email FROM users --')",
  "SELECT $a('), email FROM users --')",
  'SELECT :a FROM @',
  'SELECT :1 FROM @',
  'SELECT a::b::::c FROM @',
  'SELECT #a FROM @',
  'SELECT #1 FROM @',
  'SELECT `a` FROM @',
  // Comments, texts and numbers, which end at different places.
  "SELECT 1 /* /*/ ' */ */ , email FROM users --'",
  'SELECT 1 /*/*/ FROM @ */',
  'SELECT 1 /* /* */ */ FROM @',
  "SELECT 1 --\r', email FROM users --'",
  'SELECT 1 --\rFROM @',
  'SELECT 1 -- a\r\r\nFROM @',
  "SELECT 1 -- ? '\n, email FROM users --'",
  "SELECT w.E'\\', email FROM w, users --'",
  "WITH w AS (SELECT 1) SELECT w.E'\\', email FROM w --'",
  "SELECT E'it\\'s' FROM @",
  "SELECT E'a'\n'\\' || ', email FROM users --'",
  "SELECT 'a' 'b' FROM @",
  "SELECT 'a' /* b */ 'c' FROM @",
  'SELECT 1_000 FROM @',
  'SELECT 0x1FROM @',
  'SELECT ?2, a FROM @',
  'SELECT ?a FROM @',
  'SELECT a? FROM @',
  // Characters that one database takes for white space or for the end.
  'SELECT\ufeff* FROM @',
  'WITH a\ufeffb AS (SELECT 1) SELECT * FROM a\ufeffb',
  'SELECT a\u00a0FROM @',
  'SELECT a\u2028FROM @',
  'SELECT a\u200bFROM @',
  'SELECT a\vFROM @',
  'SELECT a \0 FROM @',
  'SELECT "\0" FROM @',
  "SELECT '\0' FROM @",
  'SELECT a /* \0 */ FROM @',
  'SELECT a FROM @ -- \0',
  // WITH as a column, and WITH in another form.
  'SELECT abs(with IS NULL), email FROM users',
  'SELECT abs(with), email FROM users',
  'SELECT "abs"(with x AS (SELECT 1) SELECT 1), email FROM users',
  'SELECT (with IS NULL), email FROM users',
  'WITH x AS own (SELECT 1) SELECT * FROM x',
  'WITH x IS (SELECT 1) SELECT * FROM x',
  'WITH x AS (SELECT 1) WITH y AS (SELECT 1) SELECT * FROM y',
  'WITH x AS (SELECT 1)',
  'SELECT abs(1',
  'SELECT * FROM (SELECT 1',
  'SELECT 1 FROM',
  // Keywords that are functions in another place.
  'SELECT is(1)',
  'SELECT similar(1)',
  'SELECT filter(1), over(1)',
  'SELECT DISTINCT ON (a) filter(1) FROM @',
  'SELECT a FROM @ ORDER BY cube(1)',
  'SELECT escape(1), varying(1), sets(1), by(1)',
  'SELECT a FROM @ JOIN @ ON (1) OPERATOR(own.=) (2)',
]

test('sql reads its tables and the names of its own WITH', () => {
  for (const text of allowed) assert.equal(mistakeIn(text), undefined, text)
})

test('sql refuses every other table, function and statement', () => {
  for (const text of refused) assert.notEqual(mistakeIn(text), undefined, text)
})

test('sql refuses a function in the notation of a column', () => {
  for (const text of [
    "SELECT ('SELECT a FROM users'::text).ts_stat",
    "SELECT (s.x).word FROM (SELECT ('SELECT a FROM users'::text).ts_stat AS x) s",
    'SELECT (1::int).own AS x',
    'SELECT (3::float8) . /* a */ pg_sleep::text',
    'SELECT (17::bigint)."pg_advisory_lock"',
    "SELECT 'a'.own, 1",
    'SELECT ?.own',
    'SELECT a[1].own FROM @',
    'SELECT i.a[1].own FROM @',
    'SELECT a::text.own FROM @',
    'SELECT ROW(1, 2).own',
    'SELECT (SELECT 1).own',
    'SELECT 1 FROM @ ORDER BY (a).own',
    'SELECT CASE WHEN (a).own THEN 1 END FROM @',
  ])
    for (const isWhole of [true, false]) assert.notEqual(mistakeIn(text, isWhole), undefined, text)
})

test('a member is a column of a table, or a name of the statement', () => {
  const check = (text: string) => {
    const parts = text.split('@')
    checkSql(
      parts,
      parts.slice(1).map(() => 'table' as const),
      true,
      new Set(['id', 'due']),
    )
  }
  for (const text of [
    'SELECT i.id, i.DUE, I."due" FROM @',
    'SELECT s.total, s.n, s.count FROM (SELECT sum(due) AS total, 1 n, count(*) FROM @) AS s',
    'WITH x (a, b) AS (SELECT id, due FROM @) SELECT x.a, x.b FROM x',
    'SELECT v.word FROM (VALUES (1)) v(word)',
    'SELECT i.* FROM @ WHERE i.id = .5',
  ])
    assert.doesNotThrow(() => check(text), text)
  for (const text of [
    'SELECT i.own FROM @',
    'SELECT i."own" FROM @',
    'SELECT s.ts_stat FROM (SELECT id FROM @) AS s',
    'WITH x AS (SELECT 1 AS a) SELECT x.own FROM x ORDER BY x.a',
    'SELECT public.i.own FROM @',
  ])
    assert.throws(() => check(text), SqlMistake, text)
})

test('sql refuses marks of a value in its text', () => {
  for (const text of ['SELECT ?, a', 'SELECT ?1', 'SELECT @a', "SELECT @a('), b FROM users --')"])
    assert.throws(() => checkSql([text], [], true), SqlMistake, text)
  assert.equal(checkSql(["SELECT '?', @ a, '@a' FROM ", ''], ['table'], true), undefined)
})

test('a part of a statement can begin anywhere, and names no other table', () => {
  for (const text of ['AND a = ?', ', @', 'JOIN @ ON a = b', 'ORDER BY a, b', 'a IN (?)'])
    assert.equal(mistakeIn(text, false), undefined, text)
  for (const text of ['JOIN users ON true', 'FROM users', 'UPDATE users SET a = 1', 'own(1)'])
    assert.notEqual(mistakeIn(text, false), undefined, text)
})

test('any text has a mistake or none, and a long one takes linear time', () => {
  const part = fc.constantFrom(
    ...['SELECT', 'FROM', '@', 'users', ',', '(', ')', 'WITH', 'x', 'AS', 'JOIN', "'", '"', '--'],
    ...['/*', '*/', '\n', '.', '?', 'VALUES', 'IN', ';', 'UNION'],
  )
  fc.assert(fc.property(fc.array(part), (parts) => void mistakeIn(parts.join(' '))))
  mistakeIn(`SELECT ${"'a''".repeat(200_000)}`)
  assert.notEqual(mistakeIn(`SELECT ${'('.repeat(400_000)} FROM users`), undefined)
})
