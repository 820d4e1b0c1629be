/**
 * §15, §11.5: own code may begin any number of writes and reads at once. A read that waits for a
 * change keeps no turn of a read for which the change waits.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const MANY = 150

const guests = resource('guests', {
  fields: { id: f.id(), name: f.string().default('x') },
  list: { filter: [], sort: [] },
  access: { read: 's:read', create: 's:write', update: 's:write', delete: 's:write' },
  events: [],
})
const input = { ids: f.array(f.int(), { max: MANY }) }
const inn = service({
  name: 'inn',
  versions: { v1: { released: '2026-01-01' } },
  resources: [guests],
})
  .route({
    ...{ method: 'POST', path: '/renames', scope: 's:write', summary: 'Rename guests', input },
    handle: async ({ input: { ids }, read, write }) => {
      const rename = async (id: number) => {
        await write(async (tx) => {
          const { name } = await tx.get(guests, id)
          await tx.update(guests, id, { name: `${name}!` })
        })
        return read.get(guests, id)
      }
      const rows = await Promise.all(ids.map(rename))
      return { body: { names: rows.map(({ name }) => name) } }
    },
  })
  .route({
    ...{ method: 'POST', path: '/attempts', scope: 's:write', summary: 'Rename guests', input },
    handle: async ({ input: { ids }, write }) => {
      const names = await write((tx) =>
        Promise.all(
          ids.map(async (id) => {
            await tx.sql.attempt(async () => {
              const reads = ids.map((other) => tx.get(guests, other))
              await tx.update(guests, id, { name: `${(await Promise.all(reads)).length}` })
            })
            return (await tx.get(guests, id)).name
          }),
        ),
      )
      return { body: { names } }
    },
  })

eachService(
  'many writes and reads at once end',
  async ({ post }) => {
    const created = await Promise.all(
      Array.from({ length: MANY }, () => post('/api/v1/guests', {})),
    )
    const ids = created.map(({ body }) => body.id)
    const renamed = await post('/api/v1/renames', { ids })
    assert.deepEqual([renamed.status, new Set(renamed.body.names)], [200, new Set(['x!'])])
    const few = ids.slice(0, 70)
    const attempted = await post('/api/v1/attempts', { ids: few })
    assert.deepEqual([attempted.status, new Set(attempted.body.names)], [200, new Set(['70'])])
  },
  { service: inn },
)
