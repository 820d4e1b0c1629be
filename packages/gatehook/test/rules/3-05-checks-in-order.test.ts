/** §3.5: signature, exp, iss, aud, revocation, in this order; no tolerance on exp. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { readSigningKey, signClaims, validClaims } from '../tokens/forge.ts'
import { login, openTokenNode } from '../tokens/token-node.ts'

eachMigrated('§3.5 the error names the first check that fails', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { kid, key } = await readSigningKey(node)
  const valid = validClaims(node)
  await db.write((tx) => node.tokens.revokeAccessToken(tx, valid as never))
  const wrong = {
    exp: Number(valid.iat) - 1,
    iss: 'https://other.example',
    aud: 'https://elsewown.example',
  }
  const message = async (claims: Record<string, unknown>) => {
    const token = await signClaims(
      key,
      { alg: 'ES256', typ: 'at+jwt', kid },
      { ...valid, ...claims },
    )
    const { status, body } = await node.send('GET /api/protected', { bearer: token })
    assert.deepEqual([status, body.error], [401, 'invalid_token'])
    return body.message
  }
  assert.match(await message(wrong), /expired/)
  assert.match(await message({ ...wrong, exp: valid.exp }), /issuer/)
  assert.match(await message({ aud: wrong.aud }), /audience/)
  assert.match(await message({ aud: [wrong.aud] }), /audience/)
  assert.match(await message({ aud: [] }), /audience/)
  assert.match(await message({ aud: [valid.aud, 7] }), /was not issued by this server/)
  assert.match(await message({ aud: [wrong.aud, valid.aud] }), /revoked/)
  assert.match(await message({}), /revoked/)
})

eachMigrated('§3.5 a token is invalid from the millisecond of its expiry', async (db, t) => {
  const { tokens, isAccepted, time } = await openTokenNode(db, t)
  await tokens.tick() // the token is cached at its first use
  const { access_token, expires_in } = await tokens.openSession(login)
  assert(await isAccepted(access_token))
  time.nowMs += expires_in * 1000 - 1
  await tokens.tick()
  assert(await isAccepted(access_token))
  time.nowMs += 1
  assert.equal(await isAccepted(access_token), false)
  assert.equal(await isAccepted(access_token), false)
})

eachMigrated('§3.5 iat and nbf may be 5 s in the future', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { kid, key } = await readSigningKey(node)
  const valid = validClaims(node)
  const now = Number(valid.iat)
  const isAccepted = async (claims: Record<string, unknown>) =>
    node.isAccepted(
      await signClaims(key, { alg: 'ES256', typ: 'at+jwt', kid }, { ...valid, ...claims }),
    )
  assert.deepEqual(
    [await isAccepted({ iat: now + 5 }), await isAccepted({ iat: now + 6 })],
    [true, false],
  )
  assert.deepEqual(
    [await isAccepted({ nbf: now + 5 }), await isAccepted({ nbf: now + 6 })],
    [true, false],
  )
  for (const nbf of ['soon', {}, null, now + 1e9]) {
    assert.equal(await isAccepted({ nbf }), nbf === null, `nbf ${nbf}`)
  }
  for (const exp of [undefined, null, '9999999999', Number.MAX_VALUE]) {
    assert.equal(await isAccepted({ exp }), exp === Number.MAX_VALUE, `exp ${exp}`)
  }
})

eachMigrated('§3.5 a token is valid for its own audience only', async (db, t) => {
  const own = await openTokenNode(db, t, { audience: 'https://a.example' })
  const other = await openTokenNode(db, t, { audience: 'https://b.example' })
  const { access_token } = await own.tokens.openSession(login)
  assert.deepEqual(
    [await own.isAccepted(access_token), await other.isAccepted(access_token)],
    [true, false],
  )
})
