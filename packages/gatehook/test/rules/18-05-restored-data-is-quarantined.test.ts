/** §18.5: the first start on restored data skips ids once, and holds deliveries, jobs and mail. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { copyOf, databases, type Kind, migratedUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { users } from '../../service/resources/users.ts'
import { api } from '../../service/service.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { readRestoreState } from '../../src/operate/restore/state.ts'
import { openHook, register } from '../webhooks/hook.ts'

const ID_SKIP = 1_000_000

interface Start {
  readonly url: string
  readonly publicUrl?: string
  readonly isRestored?: boolean
  readonly nowMs?: number
}

/** Effects outside of the database: jobs that ran, mails that arrived. */
const effects: string[] = []

const service = api
  .mail({ send: async ({ to }) => void effects.push(`mail ${to}`) }, { from: 'a@example.com' })
  .on(users, 'user.created', async ({ event }) => {
    effects.push(`job ${event.data.object.email}`)
  })

/** Opens the app as `gatehook start` does. */
const start = (t: TestContext, kind: Kind, { url, publicUrl, isRestored = false, nowMs }: Start) =>
  openService(t, kind, {
    url,
    service,
    env: {
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
      ...(publicUrl !== undefined && { GATEHOOK_PUBLIC_URL: publicUrl }),
    },
    recognition: { isRestored },
    ...(nowMs !== undefined && { clock: clockAt(nowMs) }),
  })

const clockAt = (nowMs: number) => ({ now: () => nowMs, elapsedMs: wallClock.elapsedMs })

let emails = 0
async function createUser({ post }: Pick<TestApp, 'post'>, email = `user${emails++}@example.com`) {
  const { status, body, text } = await post('/api/v2/users', { name: 'Ada', email })
  assert.equal(status, 201, text)
  return body.id as number
}

/** Returns why the installation is held; undefined if it is not. */
async function heldBecause({ app }: TestApp): Promise<string | undefined> {
  const state = await readRestoreState(app.db)
  return state?.released_at === null ? state.reason : undefined
}

async function adminOf(service: TestApp) {
  return service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
}

for (const { name: kind } of databases) {
  test(`a copy is recognized at its first start, and skips ids once [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const first = await start(t, kind, { url })
    assert.equal(await heldBecause(first), undefined, 'a new installation')
    const lastId = await createUser(first)
    await first.app.close()
    const copy = await copyOf(url)
    const again = await start(t, kind, { url })
    assert.equal(await heldBecause(again), undefined, 'a restart')
    assert.equal(await createUser(again), lastId + 1)
    await again.app.close()
    const restored = await start(t, kind, { url: copy })
    assert.equal(await heldBecause(restored), 'copy')
    const skipped = await createUser(restored)
    assert.ok(skipped > lastId + ID_SKIP, `${skipped}`)
    await restored.app.close()
    const restarted = await start(t, kind, { url: copy })
    assert.equal(await heldBecause(restarted), 'copy', 'until an operator releases it')
    assert.equal(await createUser(restarted), skipped + 1)
    const { body } = await (await adminOf(restarted)).get('/admin/audit?action=restore.recognize')
    assert.equal(body.data.length, 1)
  })

  test(`ids of tables that were empty are skipped too [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    await (await start(t, kind, { url })).app.close()
    const restored = await start(t, kind, { url: await copyOf(url) })
    assert.ok((await createUser(restored)) > ID_SKIP)
  })

  test(`two restores of one backup assign no id twice [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const nowMs = Date.now()
    const original = await start(t, kind, { url, nowMs })
    await createUser(original)
    await original.app.close()
    const copies = [await copyOf(url), await copyOf(url)]
    const ids: number[] = []
    for (const [at, copy] of copies.entries()) {
      const later = nowMs + (at + 1) * 1000
      // A command before the first start, as `restore --revocations` is.
      const command = await openService(t, kind, { url: copy, service, clock: clockAt(later) })
      const entry = {
        actor: { kind: 'cli', id: 'test' },
        action: 'key.revoke',
        target: 'k',
      } as const
      await command.app.db.write((tx) => recordAudit(tx, entry, command.app.administration))
      await command.app.close()
      const restored = await start(t, kind, { url: copy, nowMs: later })
      for (let count = 0; count < 5; count++) ids.push(await createUser(restored))
      await restored.app.close()
    }
    assert.equal(new Set(ids).size, ids.length, `${ids}`)
    assert.ok(Math.min(...ids.slice(5)) - Math.max(...ids.slice(0, 5)) > 900, `${ids}`)
  })

  test(`entries of a clock that was ahead tell no time of the data [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const [nowMs, days] = [Date.now(), 86_400_000]
    const request = async (ms: number) => {
      const node = await start(t, kind, { url, nowMs: ms })
      const { status } = await (await adminOf(node)).post('/admin/customers', { name: 'Acme' })
      assert.equal(status, 201)
      await node.app.close()
    }
    await request(nowMs)
    await request(nowMs + 40 * days)
    const ids: number[] = []
    for (const later of [nowMs + 2 * days, nowMs + 3 * days]) {
      const restored = await start(t, kind, { url: await copyOf(url), nowMs: later })
      assert.equal((await readRestoreState(restored.app.db))!.data_through, nowMs)
      ids.push(await createUser(restored))
      await restored.app.close()
    }
    assert.ok(ids[0]! > ID_SKIP + 2 * days, `${ids}`)
    assert.ok(ids[1]! >= ids[0]! + days, `${ids}`)
  })

  test(`another public host is recognized, and a release stores it [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const reasonAt = async (more: Omit<Start, 'url'>, isReleased = false) => {
      const node = await start(t, kind, { url, ...more })
      const reason = await heldBecause(node)
      if (isReleased) {
        const { status, body } = await (await adminOf(node)).post('/admin/restore/release')
        assert.deepEqual([status, body.held], [200, false])
      }
      await node.app.close()
      return reason
    }
    const [production, staging] = ['https://api.example.com', 'https://staging.example.com:8443']
    assert.equal(await reasonAt({}), undefined)
    assert.equal(await reasonAt({ publicUrl: production }), undefined, 'the first host')
    assert.equal(await reasonAt({ publicUrl: 'http://localhost:8787' }), undefined, 'loopback')
    assert.equal(await reasonAt({ publicUrl: production }), undefined)
    assert.equal(await reasonAt({ publicUrl: staging }), 'host')
    assert.equal(await reasonAt({ publicUrl: staging }, true), 'host')
    assert.equal(await reasonAt({ publicUrl: staging }), undefined)
    assert.equal(await reasonAt({ isRestored: true, publicUrl: staging }), 'option')
  })

  test(`deliveries, jobs and mail wait for the release [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const hook = await openHook(t)
    const first = await start(t, kind, { url })
    const registration = await register(first, hook, { events: ['user.created'] })
    assert.equal(registration.status, 201, registration.text)
    // Nothing sends it: the app does not work.
    await createUser(first, 'pending@example.com')
    await first.as(undefined).post('/auth/signup', { name: 'B', email: 'mail@example.com' })
    await first.app.close()
    const restored = await start(t, kind, { url: await copyOf(url) })
    effects.length = 0
    hook.calls.length = 0 // the ping of the registration
    const { url: base } = await restored.app.listen()
    await createUser(restored, 'new@example.com')
    const readiness = await (await fetch(`${base}/readyz`)).json()
    assert.deepEqual((readiness as { status: string }).status, 'ready')
    assert.deepEqual(
      (readiness as { warnings: { check: string }[] }).warnings.map(({ check }) => check),
      ['restore'],
    )
    const admin = await adminOf(restored)
    const system = (await admin.get('/admin/system')).body
    assert.deepEqual([system.restore.held, system.restore.reason], [true, 'copy'])
    assert.equal(system.health.status, 'ready')
    assert.deepEqual(effects, [])
    const path = `/webhooks/${registration.body.id}`
    const posts = [
      () => restored.post(`${path}/test`, { event_type: 'user.created' }),
      () => restored.post('/webhooks', { url: hook.url, events: ['user.created'] }),
      () => restored.patch(path, { url: `${hook.url}?changed` }),
    ]
    for (const post of posts) {
      const { status, body } = await post()
      assert.deepEqual([status, body.error], [409, 'invalid_state'])
    }
    assert.equal((await restored.patch(path, { description: 'changed' })).status, 200)
    assert.equal(hook.calls.length, 0)
    const kinds = async () => {
      const { data } = (await admin.get('/admin/attention')).body
      const all = data.map(({ kind }: { kind: string }) => kind)
      // On a busy machine it has other items, too.
      return all.filter((kind: string) => /^(restore|revocations)_/.test(kind))
    }
    assert.deepEqual(await kinds(), ['restore_held', 'revocations_unknown'])
    const released = await admin.post('/admin/restore/release')
    assert.equal(released.status, 200, released.text)
    assert.equal(released.body.held, false)
    assert.deepEqual(await kinds(), ['revocations_unknown'], 'at once')
    await hook.until(2)
    await eventually(
      async () => effects.length,
      (count) => count >= 3,
    )
    const names = ['pending@example.com', 'new@example.com']
    assert.deepEqual(effects.toSorted(), [
      'job new@example.com',
      'job pending@example.com',
      'mail mail@example.com',
    ])
    assert.deepEqual(
      hook.calls.map(({ event }) => event.data.object.email).toSorted(),
      names.toSorted(),
    )
    assert.equal((await admin.post('/admin/restore/release')).status, 200, 'again')
    const after = await (await fetch(`${base}/readyz`)).json()
    assert.equal((after as { warnings?: unknown }).warnings, undefined)
    const confirmed = await admin.post('/admin/restore/confirm')
    assert.deepEqual([confirmed.status, confirmed.body.revocations], [200, 'confirmed'])
    const trail = (await admin.get('/admin/audit?target=installation&sort=id')).body.data
    assert.deepEqual(
      trail.map(({ action }: { action: string }) => action),
      ['restore.recognize', 'restore.release', 'restore.confirm'],
    )
  })
}
