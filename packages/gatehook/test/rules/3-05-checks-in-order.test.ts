/** §3.5: signature, exp, iss, aud, revocation, in this order; no tolerance on exp. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { login, openDesk } from '../tokens/desk.ts'
import { goodClaims, ownKey, signed } from '../tokens/forge.ts'

eachMigrated('§3.5 the error names the first check that fails', async (db, t) => {
  const desk = await openDesk(db, t)
  const { kid, key } = await ownKey(desk)
  const valid = goodClaims(desk)
  await db.write((tx) => desk.tokens.revokeAccessToken(tx, valid as never))
  const wrong = {
    exp: Number(valid.iat) - 1,
    iss: 'https://other.example',
    aud: 'https://elsewown.example',
  }
  const message = async (claims: Record<string, unknown>) => {
    const token = await signed(key, { alg: 'ES256', typ: 'at+jwt', kid }, { ...valid, ...claims })
    const { status, body } = await desk.ask('GET /api/protected', { bearer: token })
    assert.deepEqual([status, body.error], [401, 'invalid_token'])
    return body.message
  }
  assert.match(await message(wrong), /expired/)
  assert.match(await message({ ...wrong, exp: valid.exp }), /issuer/)
  assert.match(await message({ aud: wrong.aud }), /audience/)
  assert.equal(
    await message({ aud: [valid.aud, wrong.aud] }),
    'The token was not issued by this server.',
  )
  assert.match(await message({}), /revoked/)
})

eachMigrated('§3.5 a token is invalid from the millisecond of its expiry', async (db, t) => {
  const { tokens, works, time } = await openDesk(db, t)
  await tokens.tick() // the token is cached at its first use
  const { access_token, expires_in } = await tokens.openSession(login)
  assert(await works(access_token))
  time.nowMs += expires_in * 1000 - 1
  await tokens.tick()
  assert(await works(access_token))
  time.nowMs += 1
  assert.equal(await works(access_token), false)
  assert.equal(await works(access_token), false)
})

eachMigrated('§3.5 iat and nbf may be 5 s in the future', async (db, t) => {
  const desk = await openDesk(db, t)
  const { kid, key } = await ownKey(desk)
  const valid = goodClaims(desk)
  const now = Number(valid.iat)
  const works = async (claims: Record<string, unknown>) =>
    desk.works(await signed(key, { alg: 'ES256', typ: 'at+jwt', kid }, { ...valid, ...claims }))
  assert.deepEqual([await works({ iat: now + 5 }), await works({ iat: now + 6 })], [true, false])
  assert.deepEqual([await works({ nbf: now + 5 }), await works({ nbf: now + 6 })], [true, false])
  for (const nbf of ['soon', {}, null, now + 1e9]) {
    assert.equal(await works({ nbf }), nbf === null, `nbf ${nbf}`)
  }
  for (const exp of [undefined, null, '9999999999', Number.MAX_VALUE]) {
    assert.equal(await works({ exp }), exp === Number.MAX_VALUE, `exp ${exp}`)
  }
})

eachMigrated('§3.5 a token is valid for its own audience only', async (db, t) => {
  const own = await openDesk(db, t, { audience: 'https://a.example' })
  const other = await openDesk(db, t, { audience: 'https://b.example' })
  const { access_token } = await own.tokens.openSession(login)
  assert.deepEqual([await own.works(access_token), await other.works(access_token)], [true, false])
})
