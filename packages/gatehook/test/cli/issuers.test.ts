/** `gatehook issuers`: a pipeline can test an assertion by the exit code of `explain`. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { createIssuerKey, ISSUER, SERVER } from '../oauth/issuer-rig.ts'
import { gatehook, installed, jsonOf } from './command.ts'

test('the exit code of explain says whether an assertion is accepted', async (t) => {
  const installation = { ...(await installed(t)), env: { GATEHOOK_PUBLIC_URL: SERVER } }
  const { jwk, kid, alg, privateKey } = await createIssuerKey('ES256')
  const file = join(emptyFolder(t), 'jwks.json')
  writeFileSync(file, JSON.stringify({ keys: [jwk] }))
  const rule = ['--match', 'repository=acme/shop', '--scopes', 'orders:read']
  const { id } = await jsonOf(installation, 'issuers', 'create', ISSUER, '--jwks', file, ...rule)
  const sign = (repository: string) =>
    new SignJWT({ repository, jti: repository })
      .setProtectedHeader({ alg, kid })
      .setIssuer(ISSUER)
      .setSubject('repo:acme/shop:ref:refs/heads/main')
      .setAudience(SERVER)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
  const explain = async (...more: string[]) => {
    const { exit, stdout } = await gatehook(installation, 'issuers', 'explain', id, ...more)
    return { exit, stdout }
  }
  const accepted = await explain(await sign('acme/shop'))
  assert.equal(accepted.exit, 0, accepted.stdout)
  assert.match(accepted.stdout, /It is accepted\./)
  const refused = await explain(await sign('acme/other'))
  assert.equal(refused.exit, 1, refused.stdout)
  assert.match(refused.stdout, /It is refused\./)
  const json = await explain(await sign('acme/other'), '--json')
  assert.deepEqual([json.exit, JSON.parse(json.stdout).valid], [1, false])
})
