/**
 * §17.4: the opening of a mounted engine: settings that it refuses, requests that do not wait for
 * it, and what remains of one that fails.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { api } from '../../service/service.ts'
import { mount } from '../../src/mounted.ts'
import { BASE, mounted, SENDER, sendTo, serverOf } from '../fixtures/mounted.ts'
import { OWN, openTeamDatabase } from '../storage/team-database.ts'

const open = (env: Record<string, string>) =>
  mount({ service: api, env: { GATEHOOK_LOG_LEVEL: 'silent', ...env } })

test('options for this machine alone need a public URL of this machine', async (t) => {
  for (const name of ['GATEHOOK_TEST_CLOCK', 'GATEHOOK_WEBHOOK_ALLOW_PRIVATE']) {
    const gatehook = open({ [name]: '1', GATEHOOK_PUBLIC_URL: BASE })
    await assert.rejects(gatehook.ready(), (error: Error) => {
      assert.equal(error.name, 'ConfigError')
      assert.match(error.message, new RegExp(`${name} is 1, but .* is mount\\.example`))
      return true
    })
    await gatehook.close()
    const local = { [name]: '1', GATEHOOK_PUBLIC_URL: 'http://127.0.0.1:3000/gatehook' }
    await (await mounted(t, 'sqlite', local)).close()
  }
})

test('the console with passkeys is below the path', async (t) => {
  const send = sendTo(await mounted(t, 'sqlite', {}, { pages: true }))
  const reply = await send('/gatehook/console/sign-in')
  assert.equal(((await reply.json()) as { passkeys: string }).passkeys, `${BASE}/console`)
})

test('a path of the API itself is refused', async (t) => {
  const paths = ['api', 'api/v2', 'api/v9', 'api/users', 'docs', 'admin/x', 'portal', 'oauth']
  for (const path of paths) {
    const place = { GATEHOOK_PUBLIC_URL: `https://mount.example/${path}` }
    await assert.rejects(mounted(t, 'sqlite', place), { name: 'ConfigError' }, path)
    await mount({ service: api }).close()
  }
  for (const path of ['gatehook/api', 'api/gatehook', 'apis']) {
    const place = { GATEHOOK_PUBLIC_URL: `https://mount.example/${path}` }
    const gatehook = await mounted(t, 'sqlite', place)
    const send = sendTo(gatehook)
    for (const prefix of ['', `/${path}`]) {
      assert.equal((await send(`${prefix}/api/v2/users`)).status, 401, prefix + path)
    }
    await gatehook.close()
  }
})

test('a request waits 2 s for the opening, `ready` until it ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { promise: declared, resolve } = Promise.withResolvers<typeof api>()
  const gatehook = await mounted(t, 'sqlite', {}, { service: () => declared })
  const handled = Promise.withResolvers<void>()
  const url = await serverOf(t, (incoming, outgoing) => {
    void gatehook.node(incoming, outgoing, { secure: true })
    handled.resolve()
  })
  const ready = gatehook.ready()
  const aborter = new AbortController()
  const { signal } = aborter
  const left = gatehook.fetch(new Request(`${BASE}/docs`, { signal }), SENDER)
  aborter.abort()
  await assert.rejects(left, { name: 'AbortError' })
  const waiting = [
    gatehook.fetch(new Request(`${BASE}/healthz`), SENDER),
    gatehook.fetch(new Request(`${BASE}/docs`), SENDER),
    fetch(`${url}/gatehook/readyz`),
  ]
  await handled.promise
  t.mock.timers.tick(2_000)
  for (const reply of await Promise.all(waiting)) {
    assert.equal(reply.status, 503)
    assert.equal(reply.headers.get('retry-after'), '2')
    assert.equal(((await reply.json()) as { error: string }).error, 'storage_unavailable')
  }
  t.mock.timers.reset()
  resolve(api)
  await ready
  assert.equal((await sendTo(gatehook)('/gatehook/healthz')).status, 200)
})

test('an opening that fails leaves no connection', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const role = new URL(url).username
  const count = async () => {
    const [row] = await query(
      `SELECT count(*) AS count FROM pg_stat_activity WHERE usename = '${role}'`,
    )
    return Number(row!.count)
  }
  let failed = 0
  for (let limit = 1; ; limit++) {
    await query(`ALTER ROLE ${role} CONNECTION LIMIT ${limit}`)
    const gatehook = mount({
      service: OWN,
      env: {
        GATEHOOK_DATABASE_URL: url,
        GATEHOOK_DATABASE_SCHEMA: 'one',
        GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
        GATEHOOK_PUBLIC_URL: BASE,
        GATEHOOK_LOG_LEVEL: 'silent',
      },
    })
    const isOpen = await gatehook.ready().then(
      () => true,
      () => false,
    )
    if (!isOpen) await eventually(count, (left) => left === 0)
    await gatehook.close()
    await eventually(count, (left) => left === 0)
    if (isOpen) break
    failed++
  }
  assert.ok(failed > 1, `${failed} openings`)
})
