import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHosts } from './postgres-hosts.ts'

const TLS = { rejectUnauthorized: true }
const configOf = (address: string) => createHosts(address, {}).config()

test('TLS is verified by default on hosts that are not local', () => {
  for (const host of ['10.0.0.1', 'database', 'db.example.com']) {
    assert.deepEqual(configOf(`postgres://${host}/db`).ssl, TLS, host)
  }
  for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Ftmp']) {
    assert.equal(configOf(`postgres://${host}/db`).ssl, undefined, host)
  }
  assert.equal(configOf('postgres://database/db?sslmode=disable').ssl, undefined)
  const { connectionString } = configOf('postgres://database/db?sslmode=require')
  assert.match(connectionString!, /sslmode=verify-full/)
})

test('a failed connection moves on to the next host once', () => {
  const hosts = createHosts('postgres://a,b/db', {})
  const failed = hosts.current()
  hosts.moveOn(failed)
  hosts.moveOn(failed) // another connection failed on the same host
  assert.equal(hosts.current(), 1)
  assert.match(hosts.config().connectionString!, /^postgres:\/\/b\/db/)
  hosts.moveOn(1)
  assert.equal(hosts.current(), 0)
})

test('behind a pooler, no setting is a start-up parameter; transactions begin with them', () => {
  const hosts = createHosts('postgres://localhost/db', { pooler: 'transaction' })
  assert.equal(hosts.config().connectionString, 'postgres://localhost/db')
  assert.equal(hosts.config().statement_timeout, undefined)
  assert.match(hosts.localSettings, /; SET LOCAL max_parallel_workers_per_gather = '0'; /)
  const address = 'postgres://localhost/db?options=-c%20work_mem%3D1MB'
  assert.throws(() => createHosts(address, { pooler: 'transaction' }), /does not forward/)
  assert.equal(createHosts(address, {}).localSettings, '')
})
