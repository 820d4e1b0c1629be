/** Plugin of Platformatic DB: no route answers without a key that may read users. */
import fp from 'fastify-plugin'
import { keyCheck } from './key.js'

async function key(app) {
  const check = keyCheck((hash) => find(app.platformatic, hash))
  app.addHook('onRequest', (request, reply, done) => {
    const allowed = check(request.headers['x-api-key'])
    if (allowed === true) done()
    else Promise.resolve(allowed).then((late) => (late ? done() : refuse(reply)), done)
  })
}

async function find({ db, sql }, hash) {
  const [row] = await db.query(sql`SELECT scopes FROM api_keys WHERE hash = ${hash}`)
  return row
}

const refuse = (reply) => reply.code(403).send({ error: 'invalid_api_key' })

/** Platformatic loads a plugin by its default export; hooks of a wrapped one reach all routes. */
// biome-ignore lint/style/noDefaultExport: how Platformatic finds it
export default fp(key)
