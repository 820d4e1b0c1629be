/** Plugin of Platformatic DB: every route requires a key with the scope `users:read`. */
import fp from 'fastify-plugin'
import { keyCheck } from './key.js'

async function key(app) {
  const check = keyCheck((hash) => find(app.platformatic, hash))
  app.addHook('onRequest', (request, reply, done) => {
    const allowed = check(request.headers['x-api-key'])
    if (allowed === true) done()
    else Promise.resolve(allowed).then((late) => (late ? done() : reject(reply)), done)
  })
}

async function find({ db, sql }, hash) {
  const [row] = await db.query(sql`SELECT scopes FROM api_keys WHERE hash = ${hash}`)
  return row
}

const reject = (reply) => reply.code(403).send({ error: 'invalid_api_key' })

/** Platformatic loads the default export; hooks of a wrapped plugin apply to all routes. */
// biome-ignore lint/style/noDefaultExport: Platformatic requires it
export default fp(key)
