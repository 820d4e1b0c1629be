/** §16.8: changes of issuers review registrations in one order, in which they lock them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteIssuer } from '../../src/identity/oauth/issuer-administration.ts'
import { issuerEnv as env, ISSUER, openIssuerRig, RULE } from './issuer-rig.ts'
import { openOauthFixture } from './rig.ts'

test('an issuer reviews its customers and modes in the order of their scopes', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { create } = await openIssuerRig(fixture)
  const { administration } = fixture.app
  const inTest = { ...RULE, mode: 'test' }
  const orders = [
    [RULE, inTest],
    [inTest, RULE],
  ]
  const reviews: number[][] = []
  for (const [n, order] of orders.entries()) {
    const { id } = await create({ issuer: `${ISSUER}/${n}`, rules: order })
    const scopes: number[] = []
    reviews.push(scopes)
    const tokens = {
      revokeClient: async () => undefined,
      publishClientChange: async (_tx: unknown, scope: number) => void scopes.push(scope),
    }
    const admin = { ...administration, evictIssuer() {}, tokens }
    await deleteIssuer(admin as never, id, { actor: { kind: 'cli', id: 'test' } })
  }
  assert.equal(reviews[0]!.length, 2)
  assert.deepEqual(
    reviews[0],
    reviews[0]!.toSorted((a, b) => a - b),
  )
  assert.deepEqual(reviews[1], reviews[0])
})
