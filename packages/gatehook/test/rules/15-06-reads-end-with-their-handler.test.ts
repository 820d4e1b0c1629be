/** §11.5, §15.6: reads that wait for a turn end with the attempt whose code began them. */
import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'

const notes = resource('notes', {
  fields: { id: f.id(), text: f.string().max(20) },
  list: { filter: [], sort: [] },
  access: { read: 'r', create: 'w', update: false, delete: false },
  events: ['note.created'],
})
const count = job('count', { fails: f.bool() })

const READS = 300
/** The results of reads, by the place of their code. */
const results = new Map<string, boolean[]>()

/** Begins reads, and ends the code around them once the first has a result. */
async function beginReads(
  place: string,
  read: { get(of: typeof notes, id: number): Promise<unknown> },
  fails = true,
) {
  const seen: boolean[] = []
  results.set(place, seen)
  const reads = Array.from({ length: READS }, () => read.get(notes, 1))
  for (const result of reads) {
    result.then(
      () => seen.push(true),
      () => seen.push(false),
    )
  }
  await reads[0]
  if (fails) throw new Error('fails')
}

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [notes],
})
  .route({
    method: 'POST',
    path: '/counts',
    scope: 'w',
    summary: 'Count later',
    input: { fails: f.bool() },
    output: { job_id: f.string() },
    handle: async ({ input, write }) => ({
      body: { job_id: await write((tx) => tx.enqueue(count, input)) },
    }),
  })
  .route({
    method: 'POST',
    path: '/steps',
    scope: 'w',
    summary: 'Count in steps',
    steps: true,
    output: { done: f.bool() },
    async handle({ read }) {
      await read('all', (rows) => beginReads('route', rows, false))
      return { body: { done: true } }
    },
  })
  .job(count, ({ input: { fails }, read }) => beginReads(`job, ${fails}`, read, fails))
  .on(notes, 'note.created', ({ read }) => beginReads('event', read))

eachService(
  'reads that wait when their handler ends are rejected',
  async ({ app, post }) => {
    assert.equal((await post('/api/v1/notes', { text: 'a' })).status, 201)
    for (const fails of [true, false]) {
      assert.equal((await post('/api/v1/counts', { fails })).status, 200)
    }
    assert.equal((await post('/api/v1/steps', undefined, { 'idempotency-key': 'a' })).status, 200)
    await app.work()
    const places = ['job, true', 'job, false', 'event', 'route']
    for (const place of places) {
      const seen = await eventually(
        async () => results.get(place) ?? [],
        ({ length }) => length === READS,
      )
      const rejected = seen.filter((isRead) => !isRead).length
      assert.ok(rejected > 0 && rejected < READS, `${place}: ${rejected} rejected`)
    }
  },
  { service: shop },
)
