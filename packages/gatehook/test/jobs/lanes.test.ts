/** The rules of jobs of every kind: lanes, takeover, work in parts (decision 0074). */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { Continuation, JOB_KINDS, LANES, policyOf } from '../../src/platform/jobs/job.ts'
import { gate, rigOf } from './runner-rig.ts'

eachMigrated('the jobs of one lane never wait for those of another', async (db) => {
  const kinds = JOB_KINDS.filter((kind) => kind !== 'schedule')
  for (const kind of kinds) {
    const rig = rigOf(db)
    const blocked = gate()
    const { lane } = policyOf(kind)
    const busy = rig.nodeOf([rig.handlerOf('long', () => blocked.promise, { kind })], { lane })
    for (let n = 0; n <= LANES[lane]; n++) await rig.add('long', { kind })
    await busy.pass()
    for (const other of kinds.filter((name) => policyOf(name).lane !== lane)) {
      let runs = 0
      const run = async () => void runs++
      const handlers = [rig.handlerOf('short', run, { kind: other })]
      await rig.add('short', { kind: other })
      await rig.nodeOf(handlers, { lane: policyOf(other).lane }).settle()
      assert.equal(runs, 1, `${other} beside ${kind}`)
    }
    blocked.open()
    await busy.settle()
  }
})

eachMigrated('a job of any kind is taken over, at once by a sole process', async (db) => {
  for (const kind of JOB_KINDS.filter((name) => name !== 'schedule')) {
    const rig = rigOf(db)
    const { lane } = policyOf(kind)
    const stuck = gate()
    const killed = rig.nodeOf([rig.handlerOf('long', () => stuck.promise, { kind })], {
      lane,
    })
    await rig.add('long', { kind })
    await killed.pass()
    let runs = 0
    const handlers = [rig.handlerOf('long', async () => void runs++, { kind })]
    await rig.nodeOf(handlers, { lane }).settle()
    assert.equal(runs, 0, `${kind} runs on a node`)
    // The service that holds a file is its only node.
    await rig.nodeOf(handlers, { lane, db: { ...db, generation: 1 } }).settle()
    assert.equal(runs, 1, kind)
    stuck.open()
  }
})

eachMigrated('a job that returns the rest of its work continues with all attempts', async (db) => {
  const rig = rigOf(db)
  let runs = 0
  const run = async () => (++runs < 5 ? new Continuation(rig.clock.now() + 999.5) : undefined)
  const node = rig.nodeOf([rig.handlerOf('parts', run, { attempts: 1 })])
  await rig.add('parts')
  for (let n = 1; n <= 5; n++) {
    await node.settle()
    assert.equal(runs, n)
    rig.advance(1_000)
  }
  const [job] = await rig.rows()
  assert.deepEqual([job!.state, job!.attempt], ['done', 1])
})
