/** `gatehook doctor` on a database without tables names no damage, and says that it is empty. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { gatehook } from './command.ts'

/** Makes the file one of SQLite. */
function writeHeader(file: string): void {
  const database = new DatabaseSync(file)
  database.exec('CREATE TABLE other (id INTEGER); DROP TABLE other')
  database.close()
}

for (const kind of ['sqlite', 'postgres'] as const satisfies readonly Kind[]) {
  test(`a database without tables has no fault [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    if (kind === 'sqlite') writeHeader(url.slice('sqlite:'.length))
    const cwd = kind === 'sqlite' ? dirname(url.slice('sqlite:'.length)) : emptyFolder(t)
    const env = {
      GATEHOOK_DATABASE_URL: url,
      GATEHOOK_PORT: '0',
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    }
    const { stdout } = await gatehook({ cwd, env }, 'doctor', '--deep', '--json')
    const { checks } = JSON.parse(stdout) as { checks: Record<string, string>[] }
    const missing = checks.filter(({ detail }) => /lacks a table/.test(detail!))
    assert.deepEqual(missing, [])
    const { state, detail } = checks.find(({ check }) => check === 'database')!
    assert.equal(state, 'ok')
    assert.match(detail!, /it has no tables of Gatehook; the first start creates them/)
    assert.ok(!checks.some(({ check }) => check === 'backup'))
  })
}
