/** §16.8: where the keys of a trusted issuer come from, and which hosts may serve them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AssertionKeys,
  type ClientKeys,
  createKeySets,
} from '../../src/identity/oauth/key-set.ts'
import { documentEnv, openDocumentHost } from '../oauth/document-host.ts'
import { createIssuerKey, issuerEnv, openIssuerRig } from '../oauth/issuer-rig.ts'
import { openOauthFixture } from '../oauth/rig.ts'

const ISSUER = 'https://idp.internal/tenant/'
const METADATA = 'https://idp.internal/tenant/.well-known/openid-configuration'

test('metadata leads to keys; only the host of the issuer is exempt from the guard', async () => {
  const { jwk } = await createIssuerKey()
  let documents: Record<string, unknown> = {}
  let fetched: string[] = []
  const fetcher = (kind: string) => async (url: string) => {
    fetched.push(`${kind} ${url}`)
    if (!(url in documents)) throw new Error('not served')
    return { value: documents[url], lifetimeMs: 0 }
  }
  const read = async (source: AssertionKeys, served: Record<string, unknown>) => {
    documents = served
    fetched = []
    const { find } = createKeySets({
      fetchDocument: fetcher('guarded'),
      fetchTrusted: fetcher('trusted'),
      countFetch: async () => undefined,
      clock: { now: () => 1e12 },
    })
    return find(source, 'one').then(
      () => fetched,
      (error: Error) => error.message,
    )
  }
  const keys = { keys: [jwk] }
  const own = 'https://idp.internal/keys'
  const foreign = 'https://keys.example/keys'
  const at = (jwks_uri: unknown, issuer = ISSUER) => ({ [METADATA]: { issuer, jwks_uri } })
  const issuer = { issuer: ISSUER }
  assert.deepEqual(await read(issuer, { ...at(own), [own]: keys }), [
    `trusted ${METADATA}`,
    `trusted ${own}`,
  ])
  assert.deepEqual(await read(issuer, { ...at(foreign), [foreign]: keys }), [
    `trusted ${METADATA}`,
    `guarded ${foreign}`,
  ])
  const port = 'https://idp.internal:8443/keys'
  assert.deepEqual(await read(issuer, { ...at(port), [port]: keys }), [
    `trusted ${METADATA}`,
    `guarded ${port}`,
  ])
  const given = { issuer: ISSUER, jwksUri: foreign }
  assert.deepEqual(await read(given, { [foreign]: keys }), [`guarded ${foreign}`])
  const client: ClientKeys = { jwksUri: own }
  assert.deepEqual(await read(client, { [own]: keys }), [`guarded ${own}`])
  for (const [served, cause] of [
    [at(own, 'https://idp.internal/tenant'), /another issuer/],
    [at(own, undefined), /not served/],
    [{ [METADATA]: null }, /another issuer/],
    [at('http://idp.internal/keys'), /not an https URL/],
    [at('https://user@idp.internal/keys'), /not an https URL/],
    [at('file:///keys'), /not an https URL/],
    [at(7), /missing/],
    [{ ...at(own), [own]: {} }, /not a JWK set/],
    [{}, /not served/],
  ] as const) {
    assert.match(String(await read(issuer, served as never)), cause)
  }
})

test('a private address of an issuer is reached, another one in its metadata is not', async (t) => {
  const host = await openDocumentHost(t)
  const elsewhere = await openDocumentHost(t)
  const { GATEHOOK_WEBHOOK_CA } = documentEnv
  const fixture = await openOauthFixture(t, 'sqlite', {
    env: { ...issuerEnv, GATEHOOK_WEBHOOK_CA },
  })
  const rig = await openIssuerRig(fixture)
  const issuer = host.id('')
  const set = { keys: [rig.key.jwk] }
  for (const served of [host, elsewhere]) served.serve('/jwks', set)
  const metadata = (jwks_uri: string) =>
    host.serve('/.well-known/openid-configuration', { issuer, jwks_uri })
  const { id } = await rig.create({ issuer, jwks: undefined })
  metadata(elsewhere.id('/jwks'))
  const claims = { iss: issuer }
  const refused = await rig.exchange(await rig.sign(claims))
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'])
  assert.equal(elsewhere.requests.length, 0)
  const { checks } = await rig.explain(id, await rig.sign(claims))
  assert.match(checks[0].message, /could not be read/)
  metadata(host.id('/jwks'))
  await rig.advance(60)
  const accepted = await rig.exchange(await rig.sign(claims))
  assert.equal(accepted.status, 200, accepted.body.error_description)
  // A key that the issuer has replaced ends with the next fetch.
  const next = await createIssuerKey('ES256', 'two')
  host.serve('/jwks', { keys: [next.jwk] })
  await rig.advance(60)
  assert.equal((await rig.exchange(await rig.sign(claims, {}, next))).status, 200)
  assert.equal((await rig.exchange(await rig.sign(claims))).status, 400)
})
