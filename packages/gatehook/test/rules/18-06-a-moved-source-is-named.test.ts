/** §18.6: the source of a move says that it was moved, wherever an operator looks. */
import assert from 'node:assert/strict'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { writeChecks } from '../../src/operate/system/health.ts'
import { writeState } from '../../src/platform/storage/move/mark.ts'
import { writeSetting } from '../../src/platform/storage/settings.ts'
import { describeStorageFailure } from '../../src/platform/storage/storage-failure.ts'

eachService(
  'a moved source is named by readiness, attention, metrics and the 503',
  async (source, t) => {
    const { app } = source
    const admin = source.as(await source.key({ scopes: ['admin'], mode: 'live' }))
    const create = () => source.post('/api/v2/users', { email: 'ann@example.com', name: 'Ann' })
    assert.equal((await create()).status, 201)
    await moveDatabase(source.url, await freshUrl(t, app.db.name), api)

    const { status, body } = await create()
    assert.equal(status, 503)
    assert.match(
      JSON.stringify(body),
      /or was moved there, and this side is read-only\. Retry later/,
    )
    const trial = app.db.write((tx) => writeSetting(tx, 'last_trial', 0))
    const error = await trial.catch((thrown: unknown) => thrown)
    assert.match(describeStorageFailure(error) ?? '', /start the nodes with the address/)

    const ready = await source.as(undefined).get('/readyz')
    assert.deepEqual([ready.status, ready.body.reasons.length], [503, 1])
    const [{ check, message }] = ready.body.reasons
    assert.equal(check, 'moved')
    assert.match(message, /^This installation was moved to another database, and this side is/)
    assert.doesNotMatch(message, /the target/, 'a stranger reads the address')
    const attention = JSON.stringify((await admin.get('/admin/attention')).body)
    assert.match(attention, /was moved to another database.* The other database: the target/)
    const { text } = await admin.get('/metrics')
    assert.match(text, /^gatehook_check_failed\{check="moved"\} 1/m)
    assert.match(text, /^gatehook_check_failed\{check="writes"\} 0/m)

    await app.db.migrate(async (tx) => void (await writeState(tx, 'stopped')))
    const last = (await writeChecks(app.db, { now: () => 0, elapsedMs: () => 0 }).moved()) as {
      readonly message: string
    }
    assert.match(last.message, /is being moved .* repeat gatehook move/)
  },
  { log: quietLog },
)
