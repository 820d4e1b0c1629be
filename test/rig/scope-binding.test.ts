/** Statements that are bound to one scope, and others, as PostgreSQL parses them. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadModule } from 'libpg-query'
import { readScopeBinding } from './scope-binding.ts'

const scoped = new Set(['orders', 'users'])
before(() => loadModule())

const BOUND = [
  'SELECT id FROM orders WHERE scope = $1 AND id > $2',
  'SELECT id FROM orders AS o WHERE o.id = $2 AND o.scope = CAST($1 AS bigint)',
  `SELECT 1 FROM orders o JOIN users u ON u.scope = o.scope AND u.id = o.user_id
     WHERE o.scope = $1`,
  'SELECT 1 FROM orders JOIN users USING (scope, id) WHERE orders.scope = $1',
  `SELECT 1 FROM orders o WHERE scope = $1
     AND EXISTS (SELECT 1 FROM users u WHERE u.scope = o.scope)`,
  'INSERT INTO orders (scope, id) VALUES ($1, $2)',
  'UPDATE orders SET amount = $2 WHERE scope = $1 AND id = $3 RETURNING *',
  'DELETE FROM orders WHERE $1 = scope',
  'WITH r AS (SELECT id, scope FROM orders WHERE scope = $1) SELECT * FROM r',
  `WITH r AS (INSERT INTO orders (scope) VALUES ($1) RETURNING scope)
     SELECT 1 FROM users u, r WHERE u.scope = r.scope`,
]
const UNBOUND = [
  'SELECT id FROM orders WHERE id = $1',
  'SELECT id FROM orders WHERE scope = $1 OR id = $2',
  'SELECT id FROM orders WHERE scope IN ($1, $2)',
  'SELECT id FROM orders WHERE NOT scope = $1',
  'SELECT 1 FROM users u, orders o WHERE u.scope = $1 AND o.user_id = u.id',
  'SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM users u WHERE u.scope = o.scope)',
  'WITH r AS (SELECT id FROM orders WHERE id = $1) SELECT * FROM r',
  'INSERT INTO orders (id) VALUES ($1)',
  'DELETE FROM orders WHERE scope > $1',
]

test('a condition on each table binds a statement', () => {
  for (const text of BOUND) assert.deepEqual(readScopeBinding(text, scoped).unbound, [], text)
})

test('a missing, negated or alternative condition does not', () => {
  for (const text of UNBOUND) assert.notDeepEqual(readScopeBinding(text, scoped).unbound, [], text)
})

test('a table in which a statement finds its scope binds the tables that equal it', () => {
  const unboundOf = (text: string) => readScopeBinding(text, scoped, ['orders']).unbound
  const text = 'SELECT 1 FROM orders o JOIN users u ON u.id = o.user_id'
  assert.deepEqual(unboundOf(text), ['users'])
  assert.deepEqual(unboundOf(`${text} AND u.scope = o.scope WHERE o.id = $1`), [])
})

test('tables of all levels are reported', () => {
  const text = 'WITH r AS (SELECT 1 FROM users) INSERT INTO orders (id) SELECT 1 FROM gh_events'
  assert.deepEqual(readScopeBinding(text, scoped).tables, ['gh_events', 'orders', 'users'])
})
