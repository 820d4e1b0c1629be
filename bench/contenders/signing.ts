/**
 * Fastify that responds to a client-credentials request with a signed JWT, without any check.
 * `--together`: writes responses of one turn of the event loop together, as the engine does.
 * `--verify` with a public JWK: first verifies the signature of the assertion, and nothing else.
 */
import { createPublicKey, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto'
import { fastify } from 'fastify'
import { announce } from './announce.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = encoded({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' })
const LIFE_S = 900

const app = fastify()
if (process.argv.includes('--together')) {
  app.addHook('onSend', (_request, _reply, payload, done) => {
    setImmediate(() => done(null, payload))
  })
}
app.addContentTypeParser(
  'application/x-www-form-urlencoded',
  { parseAs: 'string' },
  (_request, body, done) => done(null, body),
)
const at = process.argv.indexOf('--verify')
const jwk = at < 0 ? undefined : JSON.parse(process.argv[at + 1]!)
const assertionKey = jwk && createPublicKey({ key: jwk, format: 'jwk' })

function isSigned(form: string): boolean {
  const [head, claims, signature = ''] = new URLSearchParams(form).get('assertion')!.split('.')
  const options = { key: assertionKey, dsaEncoding: 'ieee-p1363' } as const
  const bytes = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(`${head}.${claims}`), options, bytes)
}

app.post('/oauth/token', (request, reply) => {
  if (assertionKey && !isSigned(String(request.body))) return reply.code(400).send()
  const iat = Math.floor(Date.now() / 1000)
  const scope = 'users:read'
  const claims = {
    iss: 'http://127.0.0.1',
    sub: 'bench',
    aud: 'http://127.0.0.1',
    exp: iat + LIFE_S,
    iat,
    jti: randomUUID(),
    client_id: 'bench',
    scope,
    customer: 'cus_default',
    mode: 'live',
  }
  const input = `${header}.${encoded(claims)}`
  const signature = sign('sha256', Buffer.from(input), key).toString('base64url')
  const access_token = `${input}.${signature}`
  reply.header('cache-control', 'no-store')
  return reply.send({ access_token, token_type: 'Bearer', expires_in: LIFE_S, scope })
})
await announce(app)
