/** The watch of a server, tick by tick. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type ServerAnswer,
  type SessionReport,
  TICK_MS,
  type WatchedConnection,
} from './followed-connection.ts'
import { STATEMENT_MS } from './postgres-hosts.ts'
import { createServerWatch, SILENT_TICKS } from './server-watch.ts'

/** A connection whose server answers when the test says so. */
class Connection extends EventEmitter {
  readonly stream = {
    bytesRead: 0,
    bytesWritten: 0,
    destroy: (error?: Error) => {
      this.error = error
      this.emit('end')
    },
  }
  readonly parsedStatements: Record<string, string> = {}
  error: Error | undefined
  connect(): void {}
  query(_text = ''): void {}
  parse(_statement: object): void {}
  bind(_config: object): void {}
  sync(): void {}
  end(): void {}
  answer(status?: string): void {
    this.emit('readyForQuery', { status })
  }
}

interface WatchSettings {
  readonly isPooled?: boolean
  readonly isLimited?: boolean
}

function openWatch(t: TestContext, { isPooled = false, isLimited = true }: WatchSettings = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const seen: string[] = []
  const probes: ((answer: ServerAnswer | undefined) => void)[] = []
  const watch = createServerWatch({
    isPooled,
    probe: () => new Promise((resolve) => probes.push(resolve)),
    endSessions: (lost) => seen.push(...lost.map(({ processId }) => `${processId} ended`)),
    onHung: (count) => seen.push(`${count} hung`),
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
    const followed = watch.follow(connection as unknown as WatchedConnection, isLimited)
    connection.connect()
    return Object.assign(connection, { followed })
  }
  /** Opens a connection whose session has a process. */
  const openSession = (processId: number) => {
    const connection = open()
    connection.answer()
    connection.followed.identify(processId)
    return connection
  }
  /** Passes time while the server answers each probe in the same way. */
  const passWith = async (answer: ServerAnswer, ticks: number) => {
    for (let tick = 0; tick < ticks; tick++) {
      await pass(1)
      for (const answerProbe of probes.splice(0)) answerProbe(answer)
      await nextTurn()
    }
  }
  return { watch, seen, probes, pass, open, openSession, passWith }
}

const PROCESS = 7
const reportOf = (state: SessionReport['state'], busyMs = 0): ServerAnswer => ({
  sessions: new Map([[PROCESS, { state, since: '2026-12-01', busyMs }]]),
  limitMs: STATEMENT_MS,
})
/** Ticks in which the server reports twice, a second apart, after 1 s. */
const REPORTED_TICKS = 3 * SILENT_TICKS

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
    probes.pop()?.({})
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

test('a part of a long answer is no silence, unless a pooler sends it', async (t) => {
  const part = async (isPooled: boolean) => {
    const { seen, pass, open } = openWatch(t, { isPooled })
    const connection = open()
    connection.answer()
    connection.sync()
    for (let second = 0; second < 4; second++) {
      connection.stream.bytesRead += 100
      await pass(SILENT_TICKS / 2)
    }
    t.mock.timers.reset()
    return seen
  }
  assert.deepEqual(await part(false), [])
  assert.deepEqual(await part(true), ['silent'])
})

test('bytes on a connection that opens show that the server runs', async (t) => {
  const { watch, seen, pass, open } = openWatch(t)
  const connection = open()
  await pass(SILENT_TICKS - 1)
  assert.equal(watch.isHeard(), true)
  connection.stream.bytesRead += 100
  await pass(1)
  assert.deepEqual([seen, watch.isHeard()], [['silent'], true])
  await pass(SILENT_TICKS)
  assert.equal(watch.isHeard(), false)
})

test('a silent server refuses connections at once, until it answers a probe', async (t) => {
  const { watch, seen, probes, pass, open } = openWatch(t)
  open()
  await pass(SILENT_TICKS)
  assert.deepEqual(seen, ['silent'], 'opening a connection is a request too')
  const refused = open()
  const error = await new Promise<Error>((resolve) => refused.on('error', resolve))
  assert.equal((error as Error & { code: string }).code, 'ETIMEDOUT')
  for (const answer of [undefined, undefined, {}]) {
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

for (const state of ['waiting', 'absent'] as const) {
  test(`a request hangs whose session is ${state} while the server answers others`, async (t) => {
    const { seen, openSession, passWith, watch } = openWatch(t)
    const [connection, idle] = [openSession(PROCESS), openSession(PROCESS + 1)]
    connection.sync()
    await passWith(reportOf(state), SILENT_TICKS - 1)
    assert.deepEqual([seen, watch.isHanging()], [[], true], 'the first report')
    await passWith(reportOf(state), REPORTED_TICKS)
    const ended = state === 'waiting' ? [`${PROCESS} ended`] : []
    assert.deepEqual([seen, watch.isHanging()], [['1 hung', ...ended], false])
    assert.equal(connection.error?.name, 'HungConnectionError')
    assert.equal(idle.error, undefined)
  })
}

test('a session that executes a statement does not hang until its limit is over', async (t) => {
  const { seen, openSession, passWith } = openWatch(t)
  openSession(PROCESS).sync()
  await passWith(reportOf('busy', STATEMENT_MS), REPORTED_TICKS)
  assert.deepEqual(seen, [])
  await passWith(reportOf('busy', STATEMENT_MS + 2_001), REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung'])
})

test('a session with another report in between has executed something', async (t) => {
  const { seen, openSession, passWith } = openWatch(t)
  openSession(PROCESS).sync()
  for (let tick = 0; tick < 10 * SILENT_TICKS; tick++) {
    const report = { state: 'waiting', since: String(tick), busyMs: 0 } as const
    await passWith({ sessions: new Map([[PROCESS, report]]), limitMs: 0 }, 1)
  }
  assert.deepEqual(seen, [])
})

test('a statement without a limit never hangs while its session executes it', async (t) => {
  const overdue = reportOf('busy', 10 * STATEMENT_MS)
  const { seen, openSession, passWith } = openWatch(t)
  const connection = openSession(PROCESS)
  connection.parse({ text: 'SET LOCAL statement_timeout = 0' })
  connection.sync()
  connection.answer('T')
  connection.sync()
  await passWith(overdue, REPORTED_TICKS)
  assert.deepEqual(seen, [])
  connection.answer('I')
  connection.sync()
  await passWith(overdue, REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung'], 'the setting ends with its transaction')
})

for (const [name, settings, limitMs] of [
  ['a connection of its own', { isLimited: false }, STATEMENT_MS],
  ['a server without a limit', {}, 0],
] as const) {
  test(`${name} has statements of any length`, async (t) => {
    const { seen, openSession, passWith } = openWatch(t, settings)
    openSession(PROCESS).sync()
    await passWith({ ...reportOf('busy', 10 * STATEMENT_MS), limitMs }, REPORTED_TICKS)
    assert.deepEqual(seen, [])
  })
}

test('a connection does not hang while bytes arrive, or while a long message leaves', async (t) => {
  const { seen, openSession, passWith } = openWatch(t)
  const connection = openSession(PROCESS)
  connection.sync()
  for (let n = 0; n < 20; n++) {
    connection.stream.bytesRead++
    await passWith(reportOf('waiting'), SILENT_TICKS - 1)
  }
  assert.deepEqual(seen, [])
  connection.answer()
  connection.stream.bytesWritten += 2 ** 20
  connection.sync()
  await passWith(reportOf('waiting'), 2 * SILENT_TICKS)
  assert.deepEqual(seen, [])
  await passWith(reportOf('waiting'), 2 * SILENT_TICKS)
  assert.deepEqual(seen, ['1 hung', `${PROCESS} ended`])
})

test('a connection that does not end is cut', async (t) => {
  const { seen, openSession, passWith } = openWatch(t)
  openSession(PROCESS).end()
  await passWith(reportOf('busy'), REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung'])
})

test('behind a pooler, a begin hangs that later requests overtake', async (t) => {
  const answer = { sessions: new Map(), limitMs: STATEMENT_MS }
  const { seen, openSession, passWith } = openWatch(t, { isPooled: true })
  const [begin, statement] = [openSession(1), openSession(2)]
  statement.query('BEGIN READ ONLY')
  statement.answer()
  statement.query('SELECT 1')
  begin.query('BEGIN READ ONLY')
  await passWith(answer, REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung'])
  assert.equal(begin.error?.name, 'HungConnectionError')
  await passWith(answer, STATEMENT_MS / TICK_MS + REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung', '1 hung'], 'the limit of the statement is over')
})

test('behind a pooler, a transaction has a process until it ends', async (t) => {
  const { seen, openSession, passWith } = openWatch(t, { isPooled: true })
  const connection = openSession(1)
  const begin = () => {
    connection.query('BEGIN')
    connection.answer('T')
    connection.followed.noteTransaction(PROCESS)
  }
  begin()
  connection.query('COMMIT')
  connection.answer('I')
  connection.query('SELECT 1')
  await passWith(reportOf('waiting'), REPORTED_TICKS)
  assert.deepEqual(seen, [], 'the process belongs to another transaction')
  connection.answer('I')
  begin()
  connection.query('SELECT 1')
  await passWith(reportOf('waiting'), REPORTED_TICKS)
  assert.deepEqual(seen, ['1 hung', `${PROCESS} ended`])
})

test('a server that refuses the probe says nothing of a session', async (t) => {
  const { seen, openSession, passWith } = openWatch(t, { isPooled: true })
  openSession(PROCESS).query('BEGIN')
  await passWith({}, REPORTED_TICKS)
  assert.deepEqual(seen, [])
})
