import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  createDnsResolver,
  createGuardedLookup,
  type HostAddress,
  readHostsFile,
} from './resolve-host.ts'

const A = 1
const AAAA = 28

/**
 * Starts a name server for a zone; other names do not exist (RFC 1035 §4.1). Returns a resolver.
 */
async function nameServer(t: TestContext, zone: Readonly<Record<string, readonly string[]>>) {
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    let end = 12
    const labels: string[] = []
    while (question[end] !== 0) {
      labels.push(question.toString('latin1', end + 1, end + 1 + question[end]!))
      end += question[end]! + 1
    }
    const section = question.subarray(12, end + 5)
    const type = question.readUInt16BE(end + 1)
    const zoneAddresses = zone[labels.join('.')]
    const answers = (zoneAddresses ?? []).filter(
      (address) => address.includes(':') === (type === AAAA),
    )
    const head = Buffer.alloc(12)
    question.copy(head, 0, 0, 2)
    head.writeUInt16BE(zoneAddresses ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(answers.length, 6)
    const records = answers.map((address) => {
      const data = bytesOf(address)
      const record = Buffer.alloc(12)
      record.writeUInt16BE(0xc00c, 0) // the name of the question
      record.writeUInt16BE(data.length === 4 ? A : AAAA, 2)
      record.writeUInt16BE(1, 4)
      record.writeUInt16BE(data.length, 10)
      return Buffer.concat([record, data])
    })
    socket.send(Buffer.concat([head, section, ...records]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  return createDnsResolver([`127.0.0.1:${socket.address().port}`])
}

/** IPv6 addresses must have all eight groups. */
const bytesOf = (address: string): Buffer =>
  address.includes(':')
    ? Buffer.from(
        address
          .split(':')
          .map((part) => part.padStart(4, '0'))
          .join(''),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number))

const six = '2606:4700:0:0:0:0:0:1111'

test('name servers are queried for both families; IPv4 addresses come first', async (t) => {
  const resolve = await nameServer(t, {
    'both.test': [six, '192.0.2.1', '192.0.2.2'],
    'six.test': [six],
    'none.test': [],
  })
  const addresses = async (host: string) => (await resolve(host)).map(({ address }) => address)
  assert.deepEqual(await addresses('both.test'), ['192.0.2.1', '192.0.2.2', '2606:4700::1111'])
  assert.deepEqual(await addresses('six.test'), ['2606:4700::1111'])
  await assert.rejects(resolve('none.test'))
  await assert.rejects(resolve('unknown.test'))
})

test('names of the hosts file resolve without a query', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-hosts-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'hosts')
  const resolve = createDnsResolver(['127.0.0.1:1'], readHostsFile(path))
  await assert.rejects(resolve('near.test'))
  writeFileSync(
    path,
    '# comment\n2606:4700::1111 near.test\n1.1.1.1\tx Near.test # here\nnonsense x.test\n' +
      '10.0.0.8 inner.test\n',
  )
  const addresses = async (host: string) => (await resolve(host)).map(({ address }) => address)
  assert.deepEqual(await addresses('near.TEST.'), ['1.1.1.1', '2606:4700::1111'])
  await assert.rejects(resolve('x.test'))
  await assert.rejects(resolve('inner.test'), 'private: queried as an unknown name')
  writeFileSync(path, '1.0.0.1 near.test')
  utimesSync(path, 1, 1)
  assert.deepEqual(await addresses('near.test'), ['1.0.0.1'])
})

const code = (lookup: ReturnType<typeof createGuardedLookup>, all: boolean) =>
  new Promise((resolve) =>
    lookup('host.test', { all }, (error, addresses) =>
      resolve(error ? (error as NodeJS.ErrnoException).code : addresses),
    ),
  )

test('a lookup yields allowed addresses only, or the code of a reason', async () => {
  const lookupOf = (...addresses: string[]) =>
    createGuardedLookup(
      async () => addresses.map((address): HostAddress => ({ address, family: 4 })),
      (address) => address.startsWith('1.'),
    )
  const good = lookupOf('2.2.2.2', '1.1.1.1', '1.0.0.1')
  assert.equal(await code(good, false), '1.1.1.1')
  assert.deepEqual(await code(good, true), [
    { address: '1.1.1.1', family: 4 },
    { address: '1.0.0.1', family: 4 },
  ])
  assert.equal(await code(lookupOf('2.2.2.2'), true), 'GATEHOOK_ADDRESS')
  assert.equal(await code(lookupOf(), true), 'GATEHOOK_ADDRESS')
  const broken = createGuardedLookup(
    () => Promise.reject(new Error('SERVFAIL')),
    () => true,
  )
  assert.equal(await code(broken, true), 'GATEHOOK_ADDRESS')
  const many = lookupOf(...Array.from({ length: 100 }, (_, n) => `1.1.1.${n}`))
  assert.equal(((await code(many, true)) as unknown[]).length, 8)
})
