/** §18.5, §16.7, §16.8: an assertion counts once also if a restore has lost its use. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { copyOf, databases, type Kind, migratedUrl } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { ISSUER, RULE, SERVER } from '../oauth/issuer-rig.ts'
import { form } from '../oauth/rig.ts'

const clock = {
  aheadMs: 0,
  now: () => Date.now() + clock.aheadMs,
  elapsedMs: () => performance.now(),
}
const env = { GATEHOOK_PUBLIC_URL: SERVER }
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const start = (t: TestContext, kind: Kind, url: string) =>
  openService(t, kind, { url, env, clock, recognition: { isRestored: false } })

/** Creates the callers, and returns their claims and requests by name. */
async function createCallers(service: TestApp) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const keys = { jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'one' }] } }
  const createIssuer = async (issuer: string, reuse?: object) => {
    const rules = [{ ...RULE, scopes: ['orders:read'] }]
    const { status, text } = await admin.post('/admin/issuers', {
      issuer,
      rules,
      ...keys,
      ...reuse,
    })
    assert.equal(status, 201, text)
    return { iss: issuer, sub: 'repo:acme/shop:main', repository: 'acme/shop' }
  }
  const created = await admin.post('/admin/clients', {
    ...{ name: 'c', scopes: ['orders:read'], grant_types: ['client_credentials'] },
    ...keys,
  })
  assert.equal(created.status, 201, created.text)
  const { client_id: id } = created.body
  const exchange = (assertion: string) => ({ grant_type: GRANT, assertion })
  const authenticate = (client_assertion: string) => ({
    ...{ grant_type: 'client_credentials', client_assertion_type: TYPE },
    client_assertion,
  })
  let count = 0
  const sign = (claims: object, times: object) =>
    new SignJWT({ aud: SERVER, jti: `jti ${++count}`, ...claims, ...times })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey)
  const callers = {
    client: { claims: { iss: id, sub: id }, fields: authenticate },
    issuer: { claims: await createIssuer(ISSUER), fields: exchange },
    reused: {
      claims: await createIssuer('https://again.example', { reuse: 'until_expiry' }),
      fields: exchange,
    },
  }
  return { callers, sign }
}

for (const { name: kind } of databases) {
  test(`an assertion used since the backup is refused after a restore [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const first = await start(t, kind, url)
    const { callers, sign } = await createCallers(first)
    await first.app.close()
    const copy = await copyOf(url)
    const later = await start(t, kind, url)
    const timesAt = (lifeS: number, hasIat: boolean) => {
      const now = Math.floor(clock.now() / 1000)
      return { exp: now + lifeS, ...(hasIat && { iat: now }) }
    }
    const used: [string, string, (jwt: string) => Record<string, string>][] = []
    for (const [name, { claims, fields }] of Object.entries(callers)) {
      for (const hasIat of [true, false]) {
        const jwt = await sign(claims, timesAt(3_500, hasIat))
        const { status, text } = await form(later.as(undefined), '/oauth/token', fields(jwt))
        assert.equal(status, 200, `${name}: ${text}`)
        used.push([name, jwt, fields])
      }
    }
    await later.app.close()
    const restored = await start(t, kind, copy)
    const send = (fields: Record<string, string>) =>
      form(restored.as(undefined), '/oauth/token', fields)
    for (const [name, jwt, fields] of used) {
      const { status, body } = await send(fields(jwt))
      if (name === 'reused') assert.equal(status, 200)
      else assert.match(body.error_description, /older than the restored data/, name)
    }
    clock.aheadMs += 60_000
    for (const [name, { claims, fields }] of Object.entries(callers)) {
      const { status, text } = await send(fields(await sign(claims, timesAt(3_500, true))))
      assert.equal(status, 200, `${name}: ${text}`)
    }
    clock.aheadMs += 3_600_000
    const { status, text } = await send(
      callers.client.fields(await sign(callers.client.claims, timesAt(60, false))),
    )
    assert.equal(status, 200, text)
  })
}
