/**
 * §11.4: the time of Unicode composition is quadratic in the number of combining marks, so the
 * server composes no long name and no long password (§3.8). Bodies have a maximum for names.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

/** Marks of two classes in the wrong order, which composition sorts. */
const marks = '\u0315\u0300'.repeat(3_500)
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

eachService('no request has a long text composed', async (service, t) => {
  const { normalize } = String.prototype
  let longest = 0
  t.mock.method(String.prototype, 'normalize', function (this: string, form: 'NFC') {
    longest = Math.max(longest, this.length)
    return normalize.call(this.slice(0, 5000), form)
  })
  const anyone = service.as(undefined)
  const login = (username: string, password: string) =>
    anyone.post('/auth/login', { username, password })
  assert.equal((await login(`a${marks}`, 'a password')).status, 400)
  assert.equal((await login('ada@example.com', `a${marks}`)).status, 401)
  assert.equal((await login('ada@example.com', 'a password')).status, 401)
  const long = `a${marks.slice(0, 5000)}`
  assert.equal((await anyone.get('/api/v2/protected', basic(long, 'x'))).status, 401)
  assert.equal((await anyone.get('/api/v2/protected', basic('ada', long))).status, 401)
  const operator = { email: `a${marks}`, password: `a${marks}` }
  assert.equal((await anyone.post('/console/session', operator)).status, 400)
  assert.ok(longest > 0, 'short texts are composed')
  assert.ok(longest <= 4096, String(longest))
})
