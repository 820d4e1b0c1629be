import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { createLog } from '../../src/kernel/log.ts'
import { readTls, type TlsPair, watchTls } from '../../src/protocol/http/tls.ts'
import { answersIn, request, start } from './rig.ts'

const fixture = (name: string) => new URL(`../fixtures/tls/${name}`, import.meta.url).pathname
const pairOf = (name: string) => ({
  certFile: fixture(`${name}.crt`),
  keyFile: fixture(`${name}.key`),
})

/** Copies the first pair to a new folder, where a test may overwrite it. */
function folder(t: TestContext) {
  const dir = emptyFolder(t)
  const files = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') }
  const put = (name: string) => {
    copyFileSync(pairOf(name).keyFile, files.keyFile)
    copyFileSync(pairOf(name).certFile, files.certFile)
  }
  put('first')
  return { files, put }
}

function talkTls(port: number, text: string): Promise<{ socket: TLSSocket; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const ca = readFileSync(fixture('first.crt'))
    const socket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
    const chunks: Buffer[] = []
    socket.on('secureConnect', () => socket.write(text))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve({ socket, bytes: Buffer.concat(chunks) }))
  })
}

test('every HTTPS response has HSTS, also those of the parser', async (t) => {
  const { port, url } = await start(t, { tls: pairOf('first') })
  assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/)
  for (const text of [request('GET /api/orders'), request('GET /nowhere'), 'GARBAGE\r\n\r\n']) {
    const [answer] = answersIn((await talkTls(port, text)).bytes)
    assert.equal(
      answer?.headers['strict-transport-security'],
      'max-age=31536000; includeSubDomains',
      text,
    )
    if (answer?.status === 200) assert.equal(JSON.parse(answer.body).secure, true)
  }
})

test('connections beyond the handshakes of an address are served in their turn', async (t) => {
  const { port } = await start(t, { tls: pairOf('first') })
  const silent = Array.from({ length: 20 }, () => connectTcp(port, '127.0.0.1'))
  for (const socket of silent) {
    socket.on('error', () => undefined)
    // The first byte of a handshake, whose rest does not come.
    socket.write(Buffer.from([0x16]))
  }
  onEnd(t, () => {
    for (const socket of silent) socket.destroy()
  })
  const clients = Array.from({ length: 60 }, () => talkTls(port, request('GET /api/orders')))
  for (const { bytes } of await Promise.all(clients)) {
    assert.equal(answersIn(bytes)[0]?.status, 200)
  }
})

test('a server does not start with a key that does not match its certificate', () => {
  const { certFile } = pairOf('first')
  const { keyFile } = pairOf('second')
  assert.throws(() => readTls({ certFile, keyFile }))
  assert.throws(() => readTls({ certFile: '/nowhere.crt', keyFile }), /ENOENT/)
})

test('a new pair is loaded, an invalid one is not', async (t) => {
  const { files, put } = folder(t)
  const logged = Promise.withResolvers<void>()
  const applied = Promise.withResolvers<TlsPair>()
  const destination = {
    write: (line: string) => {
      if (line.includes('not reloaded')) logged.resolve()
    },
  }
  const log = createLog({ level: 'warn', destination })
  const count = { applied: 0 }
  const apply = (pair: TlsPair) => {
    count.applied++
    applied.resolve(pair)
  }
  onEnd(t, watchTls({ files, apply, log, intervalMs: 10 }))

  writeFileSync(files.certFile, 'broken')
  await logged.promise
  assert.equal(count.applied, 0)
  put('second')
  const pair = await applied.promise
  assert.deepEqual(pair.cert, readFileSync(fixture('second.crt')))
  assert.deepEqual(pair.key, readFileSync(fixture('second.key')))
})

test('an invalid pair is read again, also if its files seem to be the same', async (t) => {
  const { files, put } = folder(t)
  const logged = Promise.withResolvers<void>()
  const applied = Promise.withResolvers<TlsPair>()
  const warnings: string[] = []
  const destination = {
    write: (line: string) => {
      warnings.push(line)
      logged.resolve()
    },
  }
  const log = createLog({ level: 'warn', destination })
  onEnd(t, watchTls({ files, apply: applied.resolve, log, intervalMs: 10 }))
  const at = new Date('2026-11-30T12:00:00Z')
  const broken = readFileSync(fixture('second.key')).fill('x')
  put('second')
  writeFileSync(files.keyFile, broken)
  utimesSync(files.keyFile, at, at)
  await logged.promise
  copyFileSync(fixture('second.key'), files.keyFile)
  utimesSync(files.keyFile, at, at)
  assert.deepEqual((await applied.promise).key, readFileSync(fixture('second.key')))
  assert.ok(warnings.length <= 3, 'one line for each state of the files')
})

test('a running server uses a new certificate for new connections', async (t) => {
  const { files, put } = folder(t)
  const reloaded = Promise.withResolvers<void>()
  const destination = {
    write: (line: string) => {
      if (line.includes('certificate reloaded')) reloaded.resolve()
    },
  }
  const log = createLog({ level: 'info', destination })
  const { port } = await start(t, { tls: files, log })
  const subject = async () => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await new Promise((resolve) => socket.on('secureConnect', resolve))
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  assert.equal(await subject(), 'first.gatehook.test')
  put('second')
  await reloaded.promise
  assert.equal(await subject(), 'second.gatehook.test')
})

/** Connects with one TLS 1.2 suite; returns the negotiated suite, or the code of the error. */
const handshake = (port: number, ciphers: string): Promise<string> =>
  new Promise((resolve) => {
    const client = { maxVersion: 'TLSv1.2', rejectUnauthorized: false, ciphers } as const
    const socket = connect({ ...client, port, host: '127.0.0.1' })
    socket.on('secureConnect', () => {
      resolve(socket.getCipher().name)
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
  })

test('suites without authenticated encryption are rejected, also after a reload', async (t) => {
  const { files, put } = folder(t)
  const reloaded = Promise.withResolvers<void>()
  const destination = {
    write: (line: string) => {
      if (line.includes('certificate reloaded')) reloaded.resolve()
    },
  }
  const { port } = await start(t, { tls: files, log: createLog({ level: 'info', destination }) })
  const good = 'ECDHE-ECDSA-AES128-GCM-SHA256'
  const expectBoth = async (moment: string) => {
    assert.equal(await handshake(port, good), good, moment)
    for (const weak of ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384']) {
      assert.match(await handshake(port, weak), /^(ERR_SSL|ECONNRESET)/, `${weak} ${moment}`)
    }
  }
  await expectBoth('at the start')
  put('second')
  await reloaded.promise
  await expectBoth('after a reload')
})
