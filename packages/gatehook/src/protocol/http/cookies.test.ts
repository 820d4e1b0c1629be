/** §12.2, §3.8: how cookies of the server's own pages are read and written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readCookie, setCookie } from './cookies.ts'

const request = (cookie: string | undefined, secure = false) => ({ headers: { cookie }, secure })
const read = (cookie: string | undefined, secure?: boolean) =>
  readCookie(request(cookie, secure), 'session')

test('a cookie is found among others', () => {
  assert.equal(read('a=1; session=abc; b=2'), 'abc')
  assert.equal(read('a=1;session=abc'), 'abc')
  assert.equal(read(' session=abc '), 'abc')
  assert.equal(read('my-session=abc; session2=def'), undefined)
  assert.equal(read(undefined), undefined)
})

test('an empty or repeated cookie is no cookie', () => {
  assert.equal(read('session='), undefined)
  assert.equal(read('session=abc; session=def'), undefined)
  assert.equal(read('session=abc; session='), undefined)
})

test('a value is not decoded', () => {
  assert.equal(read('session=%41'), '%41')
})

test('on HTTPS, only the cookie with the __Host- prefix counts', () => {
  assert.equal(read('session=abc', true), undefined)
  assert.equal(read('session=abc; __Host-session=def', true), 'def')
  assert.equal(read('__Host-session=def'), undefined)
})

test('a new cookie is read back', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\w-]{1,64}$/), fc.boolean(), (value, secure) => {
      const line = setCookie(request('', secure), { name: 'session', value, sameSite: 'lax' })
      assert.equal(read(line.split(';', 1)[0], secure), value)
    }),
  )
})

test('a new cookie has the attributes that protect it', () => {
  const attributes = (line: string) => line.split('; ').slice(1).sort()
  const session = { name: 'session', value: 'abc', sameSite: 'strict', maxAgeS: 60 } as const
  assert.deepEqual(attributes(setCookie(request(undefined, true), session)), [
    'HttpOnly',
    'Max-Age=60',
    'Path=/',
    'SameSite=Strict',
    'Secure',
  ])
  const plain = { name: 'session', value: 'abc', sameSite: 'lax' } as const
  assert.deepEqual(attributes(setCookie(request(undefined), plain)), [
    'HttpOnly',
    'Path=/',
    'SameSite=Lax',
  ])
})

test('of any header, reading takes linear time and throws nothing', () => {
  fc.assert(fc.property(fc.string(), (header) => void read(header)))
})
