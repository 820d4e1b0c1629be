/** The fault of a database, as its connections know it. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Log } from '../../kernel/log.ts'
import { createConnectionSource } from './connection-source.ts'
import { TICK_MS } from './followed-connection.ts'
import { StandbyError } from './postgres-errors.ts'
import { createHosts } from './postgres-hosts.ts'
import type { TimelineGuard } from './postgres-timeline.ts'
import { SILENT_TICKS } from './server-watch.ts'

/** A connection to a server that answers nothing. */
class SilentConnection extends EventEmitter {
  readonly opening = Promise.withResolvers<never>()
  readonly stream = {
    bytesRead: 0,
    bytesWritten: 0,
    unref() {},
    once() {},
    destroy: () => {
      this.emit('end')
      this.opening.reject(new Error('Connection terminated unexpectedly'))
    },
  }
  connect(): void {}
  query(): void {}
  sync(): void {}
  end(): void {}
}

test('a silent server stays silent when the watch cuts a connection that opens', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const newClient = () => {
    const connection = new SilentConnection()
    const connect = () => {
      connection.connect()
      return connection.opening.promise
    }
    const client = { connection, connect, on() {}, async end() {} }
    return client as unknown as Client
  }
  const hosts = createHosts('postgres://host/database', {})
  const guard = { verify: async () => {} } as unknown as TimelineGuard
  const log = { info() {}, warn() {} } as unknown as Log
  const source = createConnectionSource({ hosts, guard, log, newClient })
  t.after(() => source.stop())
  const opened = source.open().then(
    () => 'opened',
    () => 'failed',
  )
  for (let tick = 0; tick <= SILENT_TICKS; tick++) {
    t.mock.timers.tick(TICK_MS)
    await nextTurn()
  }
  assert.equal(await opened, 'failed')
  assert.equal(source.fault(), 'silent')
})

const broken = (code: string) => Object.assign(new Error(code), { code })

for (const [name, [first, second], fault] of [
  ['a primary that is away', [broken('ECONNREFUSED'), new StandbyError()], 'refused'],
  ['a network that resets connections', [new StandbyError(), broken('ECONNRESET')], 'lost'],
  ['standbys alone', [new StandbyError(), new StandbyError()], 'standby'],
] as const) {
  test(`a standby beside the primary is no fault: ${name}`, async (t) => {
    const errors: Error[] = [first, second]
    const newClient = () => {
      const connection = new SilentConnection()
      const connect = () => Promise.reject(errors.shift())
      return { connection, connect, on() {}, async end() {} } as unknown as Client
    }
    const hosts = createHosts('postgres://a,b/database?target_session_attrs=read-write', {})
    const guard = { verify: async () => {} } as unknown as TimelineGuard
    const log = { info() {}, warn() {} } as unknown as Log
    const source = createConnectionSource({ hosts, guard, log, newClient })
    t.after(() => source.stop())
    await assert.rejects(source.open())
    assert.deepEqual([errors, source.fault()], [[], fault])
  })
}
