/** §12.3: commands that need the tables alone run while a node completes rows. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { databases, freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { createEnqueue, enqueueNamed } from '../../src/platform/jobs/queue.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, jsonOf } from './command.ts'

const NOTES = `import { f, resource, service } from 'gatehook'
const notes = resource('notes', {
  fields: {
    id: f.id(),
    title: f.string(),
    length: f.computed(f.int().default(0)).stored(),
  },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  list: { filter: [], sort: [] },
  search: ['title'],
  events: [],
}).compute('length', ({ title }) => title.length)
export default service({
  name: 'Notes',
  versions: { v1: { released: '2026-01-01' } },
  resources: [notes],
})
`
const SECRET = 'a secret that only tests know, long enough'

for (const { name } of databases) {
  test(`commands of an emergency run while rows are completed [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const cwd = emptyFolder(t)
    writeFileSync(join(cwd, 'service.ts'), NOTES)
    const place = { cwd, env: { GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: SECRET } }
    await jsonOf(place, 'migrate')
    const key = await jsonOf(place, 'keys', 'create', '--name', 'leaked', '--scopes', 'r')
    const db = await openForTest(t, url)
    const enqueue = createEnqueue({ clock: wallClock, random: systemRandom(), wake() {} })
    await db.write(async (tx) => {
      await enqueueNamed(tx, enqueue, 'fill', ['notes.length'])
      for (const part of ['columns', 'words']) {
        await tx.run(
          sql`INSERT INTO gh_fills (resource, part, last_key) VALUES ('notes', ${part}, '')`,
        )
      }
    })
    await jsonOf(place, 'keys', 'revoke', key.id)
    assert.deepEqual((await jsonOf(place, 'requests')).data, [])
    const pending = async () => (await db.arrays(sql`SELECT part FROM gh_fills`)).length
    assert.equal(await pending(), 2, 'a node completes the rows')
    const jobs = await db.arrays(sql`SELECT name, state FROM gh_jobs`)
    assert.deepEqual(jobs, [['notes.length', 'waiting']])
    await db.migrate((_tx, ddl) => ddl('DROP TABLE gh_words_notes'))
    const refused = await gatehook(place, 'keys', 'list')
    assert.deepEqual([refused.exit, /lacks table gh_words_notes/.test(refused.stderr)], [1, true])
    await jsonOf(place, 'migrate')
    assert.equal(await pending(), 0)
  })
}
