/** §11.5: small chunks of bodies are merged, and an address has a share of them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createChunkMerger, smallChunksOf } from './small-chunks.ts'

class TestSocket extends PassThrough {
  parser = { 2: { name: 'parserOnHeadersComplete' }, 3: { name: 'parserOnBody' } }
}

function stage() {
  const after: (() => void)[] = []
  let nowMs = 0
  const merge = createChunkMerger(
    ({ headers }) => String(headers.from),
    (next) => after.push(next),
    () => nowMs,
  )
  const open = (address = '192.0.2.1', coding: string | undefined = 'chunked') => {
    const socket = new TestSocket()
    const request = new IncomingMessage(socket as unknown as Socket)
    const response = new ServerResponse(request)
    request.headers = { from: address, ...(coding && { 'transfer-encoding': coding }) }
    merge(request, response)
    const send = (count: number, text = 'x') => {
      for (let n = 0; n < count; n++) request.push(Buffer.from(text))
    }
    return { request, response, socket, send }
  }
  const endTurn = () => {
    for (const next of after.splice(0)) next()
  }
  const pass = (ms: number) => void (nowMs += ms)
  return { open, endTurn, pass }
}

async function bodyOf(request: IncomingMessage): Promise<{ text: string; pieces: number }> {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  await once(request, 'end')
  return { text: Buffer.concat(pieces).toString(), pieces: pieces.length }
}

test('small chunks become few pieces, in the order of all chunks', async () => {
  const { request, send } = stage().open()
  send(5_000, 'a')
  send(1, 'B'.repeat(5_000))
  send(3, 'c')
  request.push(null)
  const { text, pieces } = await bodyOf(request)
  assert.equal(text, `${'a'.repeat(5_000)}${'B'.repeat(5_000)}ccc`)
  assert.ok(pieces < 10, `${pieces}`)
  assert.equal(smallChunksOf(request)!.count, 5_003)
})

test('chunks that arrive slowly wait for no others', async () => {
  const { request, send } = stage().open()
  send(1, 'a')
  const [first] = await once(request, 'data')
  assert.equal(String(first), 'a')
})

test('chunks without a reader hold few buffers, and a late reader has them all', async () => {
  const { request, send } = stage().open()
  request.read(0) // as a server does before the handler
  for (let n = 0; n < 9_000; n++) {
    send(1, 'a')
    await new Promise(setImmediate)
  }
  const buffered = (request as unknown as { _readableState: { buffer: unknown[] } })._readableState
  assert.ok(buffered.buffer.length <= 3, `${buffered.buffer.length} buffers`)
  let text = ''
  request.on('data', (piece: Buffer) => (text += piece))
  for (let n = 0; n < 4; n++) await new Promise(setImmediate)
  assert.equal(text.length, 9_000, 'before the end of the body')
  send(1, 'b')
  request.push(null)
  await once(request, 'end')
  assert.equal(text, `${'a'.repeat(9_000)}b`)
})

test('small chunks between larger ones share their buffers', async () => {
  const { request, send } = stage().open()
  request.read(0)
  for (let n = 0; n < 200; n++) {
    send(1, 'a')
    send(1, 'b'.repeat(256))
    await new Promise(setImmediate)
  }
  const { buffer } = (request as unknown as { _readableState: { buffer: Buffer[] } })._readableState
  const held = buffer.reduce((sum, piece) => sum + Math.max(piece.length, 4_096), 0)
  assert.ok(held < 3 * 200 * 257, `${held} bytes`)
  request.push(null)
  assert.equal((await bodyOf(request)).text, `a${'b'.repeat(256)}`.repeat(200))
})

test('many addresses at once have smaller shares', () => {
  const { open } = stage()
  const senders = Array.from({ length: 100 }, (_, n) => open(`192.0.2.${n}`))
  for (const { send } of senders) send(10_000)
  const counts = senders.map(({ request }) => smallChunksOf(request)!.count)
  assert.ok(counts.reduce((sum, count) => sum + count) < 200_000)
  assert.ok(counts.every((count) => count >= 1_024))
})

test('the chunks of an address beyond its share are not parsed', () => {
  const { open, endTurn } = stage()
  const [first, second, other] = [open(), open(), open('192.0.2.2')]
  first.send(16_000)
  second.send(1_000)
  assert.equal(smallChunksOf(first.request)!.isRefused, false)
  assert.equal(smallChunksOf(second.request)!.isRefused, true)
  assert.ok(smallChunksOf(second.request)!.count < 600)
  assert.equal(second.socket.isPaused(), true)
  assert.equal(second.response.shouldKeepAlive, false)
  assert.deepEqual(Object.values(second.socket.parser), [{ name: 'parserOnHeadersComplete' }, null])
  second.socket.emit('close')
  assert.equal(second.socket.parser[3].name, 'parserOnBody', 'of the next connection')
  other.send(1_000)
  assert.equal(smallChunksOf(other.request)!.isRefused, false)
  endTurn()
  const later = open()
  later.send(1_000)
  assert.equal(smallChunksOf(later.request)!.isRefused, false)
})

test('few chunks of many connections are parsed, and a body of known length stays', () => {
  const { open } = stage()
  const requests = Array.from({ length: 1_000 }, () => open())
  for (const { send } of requests) send(64)
  assert.ok(requests.every(({ request }) => !smallChunksOf(request)!.isRefused))
  assert.equal(smallChunksOf(open('192.0.2.1', '').request), undefined)
})

test('an address has a share of small chunks in each second', () => {
  const { open, endTurn, pass } = stage()
  const isRefused = () => {
    const { request, send } = open()
    send(10_000)
    endTurn()
    return smallChunksOf(request)!.isRefused
  }
  const first = Array.from({ length: 8 }, isRefused)
  assert.deepEqual(first, [false, false, false, false, false, false, true, true])
  pass(1_000)
  assert.equal(isRefused(), false)
})
