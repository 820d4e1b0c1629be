/** §18.10: the cause of a failed request is one of the database, or none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConstraintError } from './database.ts'
import { HungConnectionError } from './postgres-errors.ts'
import { primaryFaults } from './primary-fault.ts'
import { describeStorageFailure, describeUnknownError } from './storage-failure.ts'

const thrown = (members: object): Error => Object.assign(new Error('a value'), members)

test('an error that the engine does not know has its state and function, and no value', () => {
  const where = 'PL/pgSQL function quota() line 1 at RAISE'
  const sent = { severity: 'ERROR', code: 'P0001' }
  assert.match(
    describeUnknownError(thrown({ ...sent, where }))!,
    /^The function quota of the database refused a statement with the state P0001\. The log/,
  )
  const violation = (name?: string) => new ConstraintError('unique', name, thrown(sent))
  assert.match(
    describeUnknownError(violation('orders_pkey'))!,
    /^The database refused a row by the unique constraint orders_pkey\. The log/,
  )
  assert.match(describeUnknownError(violation())!, /by the unique constraint\. The log/)
  assert.match(describeUnknownError(thrown(sent))!, /^PostgreSQL refused .* P0001\./)
  const named = { ...sent, code: '23514', constraint: 'cheap', table: 'orders' }
  assert.match(
    describeUnknownError(thrown(named))!,
    /^PostgreSQL .* 23514, by the constraint cheap of the table .* DROP /,
  )
  const empty = { ...sent, code: '23502', column: 'shelf', table: 'orders' }
  assert.match(describeUnknownError(thrown(empty))!, /^The column shelf of the table orders /)
  assert.match(describeUnknownError(thrown({ ...sent, code: '42501' }))!, /row level security/)
  const raised = { ...sent, code: '23502', column: 'a value', table: 'orders' }
  assert.doesNotMatch(describeUnknownError(thrown(raised))!, /value/)
  assert.match(describeUnknownError(thrown({ errcode: 1811 }))!, /^SQLite refused .* 1811\./)
})

test('an error of own code is no error of the database', () => {
  const unreadable = Object.defineProperty({}, 'code', {
    get() {
      throw new Error('unreadable')
    },
  })
  for (const value of [thrown({ code: 'EPERM' }), thrown({}), unreadable, 'P0001', null]) {
    assert.equal(describeUnknownError(value), undefined)
  }
})

test('errors of the file of SQLite have their remedy', () => {
  const cases: [errcode: number, remedy: RegExp][] = [
    [8, /read-only.* mount it for writes/],
    [778, /I\/O error: see dmesg/],
    [14, /ulimit -n.*df -i/],
  ]
  for (const [errcode, remedy] of cases) {
    assert.match(describeStorageFailure(thrown({ errcode }))!, remedy)
  }
})

test('a connection that hung is the cause, whatever the node knows of the primary', () => {
  for (const fault of [undefined, 'lost'] as const) {
    assert.equal(describeStorageFailure(new HungConnectionError(), fault), primaryFaults.hung)
  }
})

test('a session that the server has ended blames no pooler', () => {
  for (const code of ['57P01', '57P05', '25P03', '25P04']) {
    const error = Object.assign(new Error('terminating connection'), { code, severity: 'FATAL' })
    for (const fault of [undefined, 'pooler_stuck'] as const) {
      assert.match(describeStorageFailure(error, fault)!, /ended the session of this request/, code)
    }
  }
  const error = Object.assign(new Error('terminating'), { code: '57P01', severity: 'FATAL' })
  assert.equal(describeStorageFailure(error, 'refused'), primaryFaults.refused)
})
