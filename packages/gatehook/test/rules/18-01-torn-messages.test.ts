/**
 * §18.1: bytes of the database that are no messages of its protocol end their connection alone, of
 * each kind: of transactions, reads, notifications and separate work.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Log } from '../../src/kernel/log.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const CUT_TEXT = 'torn,'.repeat(16)
/** The report of a pooler whose server has ended, also in the middle of a row. */
const REPORT = message('E', 'SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0')

function message(type: string, body: string): Buffer {
  const head = Buffer.from(`${type}....`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

const DAMAGES: Readonly<Record<string, (bytes: Buffer, at: number) => Buffer>> = {
  'a row that ends in a field': (bytes, at) =>
    Buffer.concat([bytes.subarray(0, at + 20), ...Array<Buffer>(12).fill(REPORT)]),
  'a message of an unknown kind': (bytes, at) =>
    Buffer.concat([bytes.subarray(0, bytes.lastIndexOf('D', at)), message('!', 'what')]),
  'a report without its fields': (bytes, at) =>
    Buffer.concat([bytes.subarray(0, bytes.lastIndexOf('D', at)), message('E', '\0')]),
  'bytes of another protocol': (bytes, at) =>
    Buffer.concat([
      bytes.subarray(0, bytes.lastIndexOf('D', at)),
      Buffer.alloc(64, 'D\0\0\0\x06\x7f'),
    ]),
}

/** Opens a link to a server, which damages the next bytes that contain `CUT_TEXT`. */
async function openTearingLink(t: TestContext, url: string) {
  const { port, hostname } = new URL(url)
  let damage: ((bytes: Buffer, at: number) => Buffer) | undefined
  let count = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    near.pipe(far)
    far.on('data', (bytes: Buffer) => {
      const at = bytes.indexOf(CUT_TEXT)
      if (!damage || at < 0) return void near.write(bytes)
      near.end(damage(bytes, at)) // a pooler closes behind its report
      damage = undefined
      count++
    })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onEnd(t, () => server.close())
  const through = new URL(url)
  through.port = String((server.address() as { port: number }).port)
  return {
    url: through.href,
    count: () => count,
    tearNext(next: (bytes: Buffer, at: number) => Buffer) {
      damage = next
    },
  }
}

for (const [name, damage] of Object.entries(DAMAGES)) {
  test(`${name} ends one connection of each kind, and nothing else`, async (t) => {
    const link = await openTearingLink(t, await freshUrl(t, 'postgres'))
    const lines: unknown[] = []
    const log = { ...quietLog, warn: (...line: unknown[]) => lines.push(line) } as unknown as Log
    const db = await openDatabase(link.url, { log })
    onEnd(t, () => db.close())
    const statement = sql`SELECT CAST(${CUT_TEXT} AS TEXT) AS text, 1 AS first, 2 AS second`
    const expected = { text: CUT_TEXT, first: 1, second: 2 }
    const isUnavailable = (error: unknown) =>
      error instanceof Failure && error.code === 'storage_unavailable'

    link.tearNext(damage)
    await assert.rejects(
      db.write((tx) => tx.get(statement)),
      isUnavailable,
    )
    assert.deepEqual(await db.write((tx) => tx.get(statement)), expected)

    link.tearNext(damage)
    assert.deepEqual(await db.get(statement), expected, 'a read is repeated')

    link.tearNext(damage)
    await assert.rejects(
      db.snapshot((reader) => reader.get(statement)),
      isUnavailable,
    )
    assert.deepEqual(await db.snapshot((reader) => reader.get(statement)), expected)
    assert.equal(link.count(), 3)
    assert.match(JSON.stringify(lines), /EBADMSG/)
  })
}

test('a torn notification ends its connection, and the next one is received', async (t) => {
  const link = await openTearingLink(t, await freshUrl(t, 'postgres'))
  const db = await openDatabase(link.url, { log: quietLog })
  onEnd(t, () => db.close())
  const received: string[] = []
  const stop = await db.listen('torn', (text) => received.push(text))
  onEnd(t, stop)
  const notify = () => db.notify('torn', CUT_TEXT)
  link.tearNext((bytes, at) =>
    Buffer.concat([bytes.subarray(0, bytes.lastIndexOf('A', at)), message('!', 'what')]),
  )
  await notify()
  await eventually(
    async () => {
      await notify()
      return received
    },
    ({ length }) => length > 0,
  )
  assert.deepEqual([link.count(), received[0]], [1, CUT_TEXT])
})

test('a service answers 503 for a row torn in a transaction, and goes on', async (t) => {
  const link = await openTearingLink(t, await migratedUrl(t, 'postgres'))
  const node = await openService(t, 'postgres', { url: link.url })
  const user = { email: 'a@example.com', name: CUT_TEXT }
  const { id } = (await node.post('/api/v2/users', user)).body
  link.tearNext(DAMAGES['a message of an unknown kind']!)
  assert.equal((await node.patch(`/api/v2/users/${id}`, { name: 'B' })).status, 503)
  assert.equal(link.count(), 1)
  assert.equal((await node.patch(`/api/v2/users/${id}`, { name: 'B' })).status, 200)
  assert.equal((await node.get('/readyz')).status, 200)
})
