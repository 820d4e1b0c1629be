/** §12.1, §18.10: a node knows its readiness without probes, and queries little for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { type UnreadyReason, withoutRepetition } from '../../src/operate/system/health.ts'
import { createReadiness } from '../../src/operate/system/readiness.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

test('heartbeats without probes say within a minute that a check fails, or passes', async () => {
  let nowMs = 0
  let fault: string | undefined
  let queries = 0
  const write = {
    writes: async () => {
      queries++
      return fault
    },
    draining: () => undefined,
  }
  const clock = { elapsedMs: () => nowMs }
  const free = new Set(['draining'])
  const readiness = createReadiness({
    read: {},
    write,
    heartbeat: write,
    free,
    clock,
    log: quietLog,
  })
  let changes = 0
  readiness.onChange(() => changes++)
  const heartbeats = async (seconds: number) => {
    let reasons: readonly { check: string }[] = []
    for (const endMs = nowMs + seconds * 1000; nowMs < endMs; nowMs += 5000) {
      reasons = await readiness.recall()
    }
    return reasons.map(({ check }) => check)
  }
  assert.deepEqual(await heartbeats(5), [])
  fault = 'the disk is full'
  assert.deepEqual(await heartbeats(70), ['writes'])
  fault = undefined
  assert.deepEqual(await heartbeats(70), [])
  assert.deepEqual([queries, changes], [3, 2])
  await readiness.assess('write')
  await heartbeats(60)
  assert.equal(queries, 4, 'a probe saves the node its own run')
})

test('a report has the last results, and the present fault, while a check hangs', async () => {
  const state = { fault: undefined as string | undefined, isStuck: false }
  let queries = 0
  const write = {
    writes: async () => {
      queries++
      return state.isStuck ? new Promise<string>(() => undefined) : 'the disk is full'
    },
    primary: () => state.fault,
  }
  const readiness = createReadiness({
    ...{ read: {}, write, heartbeat: write, free: new Set(['primary']) },
    ...{ clock: { elapsedMs: () => 0 }, log: quietLog },
  })
  const report = async () => (await readiness.report()).map(({ message }) => message)
  assert.deepEqual(await report(), ['the disk is full'])
  Object.assign(state, { fault: 'it is frozen', isStuck: true })
  assert.deepEqual(await Promise.all([report(), report()]), [
    ['it is frozen', 'the disk is full'],
    ['it is frozen', 'the disk is full'],
  ])
  assert.equal(queries, 2, 'reports at one moment share a run')
})

test('checks have the present fault of the primary, and lists have it once', async () => {
  const { silent, password } = primaryFaults
  const state = { fault: undefined as string | undefined }
  const write = {
    database: () => silent,
    schema: () => 'No answer within 2000 ms.',
    disk: () => 'the disk is full',
    primary: () => state.fault,
  }
  const readiness = createReadiness({
    ...{ read: {}, write, heartbeat: write, free: new Set(['primary']) },
    explainPrimary: () => state.fault,
    ...{ clock: { elapsedMs: () => 0 }, log: quietLog },
  })
  const textsOf = (reasons: readonly UnreadyReason[]) => reasons.map(({ message }) => message)
  const messages = [silent, 'No answer within 2000 ms.', 'the disk is full']
  assert.deepEqual(textsOf(await readiness.assess('write')), messages)
  // The fault has its name after the checks have ended.
  state.fault = password
  assert.deepEqual(textsOf(await readiness.recall()), [
    ...[password, password, password],
    'the disk is full',
  ])
  const listed = withoutRepetition(await readiness.assess('write'))
  assert.deepEqual(
    listed.map(({ check }) => check),
    ['disk', 'primary'],
  )
  assert.deepEqual(textsOf(withoutRepetition([{ check: 'database', message: silent }])), [silent])
})

const LATE = 'No answer within 2000 ms.'
const HELD = `${LATE} Writes wait for the lock of another process.`
const named: readonly UnreadyReason[] = [
  { check: 'primary', message: primaryFaults.silent },
  { check: 'durability', message: 'No synchronous standby confirms commits.' },
  { check: 'writes', message: 'The disk of the database is full. Free space, or enlarge it.' },
  { check: 'writes', message: HELD },
  { check: 'database', message: 'The database is damaged.' },
]

for (const fault of named) {
  test(`no late check stands beside the fault that delays it: ${fault.message}`, () => {
    const checks = ['database', 'migrations', 'schema', 'writes', 'moved', 'master_secret']
    const late = checks
      .filter((check) => check !== fault.check)
      .map((check) => ({ check, message: LATE }))
    for (const reasons of [
      [fault, ...late],
      [...late, fault],
    ])
      assert.deepEqual(withoutRepetition(reasons), [fault])
    const clock = { check: 'clock', message: 'The clock of this node is wrong.' }
    assert.deepEqual(withoutRepetition([clock, ...late, fault]), [clock, fault])
    assert.deepEqual(withoutRepetition([clock, ...late]), [clock, ...late], 'a fault of its own')
  })
}
