/** The watch of a server, tick by tick. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createServerWatch, SILENT_TICKS, TICK_MS, type WatchedConnection } from './server-watch.ts'

/** A connection whose server answers when the test says so. */
class Connection extends EventEmitter {
  readonly stream = {
    destroy: () => {
      this.emit('end')
    },
  }
  connect(): void {}
  query(): void {}
  sync(): void {}
  end(): void {}
  answer(): void {
    this.emit('readyForQuery')
  }
}

function openWatch(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const seen: string[] = []
  const probes: ((answers: boolean) => void)[] = []
  const watch = createServerWatch({
    probe: () => new Promise((resolve) => probes.push(resolve)),
    onSilent: () => seen.push('silent'),
    onReturn: () => seen.push('answers'),
    onAnswer() {},
    onError() {},
  })
  t.after(() => watch.stop())
  const pass = async (ticks: number) => {
    for (let tick = 0; tick < ticks; tick++) {
      t.mock.timers.tick(TICK_MS)
      await nextTurn()
    }
  }
  const open = () => {
    const connection = new Connection()
    watch.follow(connection as unknown as WatchedConnection)
    connection.connect()
    return connection
  }
  return { watch, seen, probes, pass, open }
}

test('a server that answers nothing is silent after 2 s, and its connections break', async (t) => {
  const { watch, seen, probes, pass, open } = openWatch(t)
  const [first, second] = [open(), open()]
  let ended = 0
  for (const connection of [first, second]) connection.on('end', () => ended++)
  first.answer()
  second.answer()
  await pass(1)
  first.sync()
  await pass(SILENT_TICKS - 1)
  assert.deepEqual(seen, [])
  assert.equal(probes.length, 1, 'one probe at a time')
  await pass(1)
  assert.deepEqual(seen, ['silent'])
  assert.equal(watch.isSilent(), true)
  assert.equal(ended, 2, 'the idle connection breaks too')
})

test('a slow statement is no silence while the server answers the probe', async (t) => {
  const { seen, probes, pass, open } = openWatch(t)
  const connection = open()
  connection.answer()
  connection.query()
  for (let n = 0; n < 20; n++) {
    await pass(3)
    probes.pop()?.(true)
    await nextTurn()
  }
  assert.deepEqual(seen, [])
})

test('any answer on any connection is one, also an error', async (t) => {
  const { seen, pass, open } = openWatch(t)
  const [waiting, busy] = [open(), open()]
  waiting.answer()
  busy.answer()
  waiting.sync()
  for (let n = 0; n < 20; n++) {
    await pass(SILENT_TICKS - 1)
    busy.emit('errorMessage', { code: '23505' })
  }
  assert.deepEqual(seen, [])
})

test('a pooler that opens connections, or reports its server, is no answer of it', async (t) => {
  const { seen, pass, open } = openWatch(t)
  const waiting = open()
  waiting.answer()
  waiting.sync()
  for (let tick = 0; tick < SILENT_TICKS; tick++) {
    const opened = open()
    opened.answer()
    opened.emit('errorMessage', { code: '08P01' })
    open().emit('errorMessage', { code: '28P01' })
    await pass(1)
  }
  assert.deepEqual(seen, ['silent'])
})

test('a silent server refuses connections at once, until it answers a probe', async (t) => {
  const { watch, seen, probes, pass, open } = openWatch(t)
  open()
  await pass(SILENT_TICKS)
  assert.deepEqual(seen, ['silent'], 'opening a connection is a request too')
  const refused = open()
  const error = await new Promise<Error>((resolve) => refused.on('error', resolve))
  assert.equal((error as Error & { code: string }).code, 'ETIMEDOUT')
  for (const answer of [false, false, true]) {
    await pass(SILENT_TICKS)
    probes.pop()!(answer)
    await nextTurn()
    await pass(1)
  }
  assert.deepEqual(seen, ['silent', 'answers'])
  assert.equal(watch.isSilent(), false)
})

test('an idle server is never probed', async (t) => {
  const { seen, probes, pass, open } = openWatch(t)
  const connection = open()
  connection.answer()
  connection.sync()
  connection.answer()
  await pass(100)
  assert.deepEqual([seen, probes], [[], []])
})
