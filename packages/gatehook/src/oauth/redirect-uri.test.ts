/** Redirect tricks: what can be registered, and what a request may name of it (§5.1). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formActionSource,
  isClaimed,
  matchesRedirect,
  shownHost,
  whyNotRegistrable,
  withParameters,
} from './redirect-uri.ts'

test('servers with TLS, loopback and apps by a name of their own can be registered', () => {
  const good = [
    'https://app.example',
    'https://app.example/callback?tenant=7',
    'https://app.example:8443/a/b',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:9000/callback',
    'http://[::1]/callback',
    'http://localhost:3000/callback',
    'com.example.app:/callback',
  ]
  for (const uri of good) assert.equal(whyNotRegistrable(uri), undefined, uri)
})

test('nothing else can', () => {
  const bad = [
    '',
    '/callback',
    '//app.example/callback',
    'http://app.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.2/callback',
    'http://localhost.evil.example/',
    'https://app.example/callback#part',
    'https://user@app.example/callback',
    'https://user:pw@app.example/callback',
    'https://@app.example/callback',
    'https:///callback',
    'https:app.example',
    'https://*.app.example/callback',
    'https://app.example\\@evil.example/',
    'https://app.example/ callback',
    'https://app.example/\ncallback',
    'https://äpp.example/callback',
    'https://app.example/"onload=',
    "https://app.example/; script-src 'unsafe-inline'",
    'javascript:alert(1)',
    'data:text/html,x',
    'myapp:/callback',
    'file:///etc/passwd',
    `https://app.example/${'a'.repeat(2000)}`,
  ]
  for (const uri of bad) assert.equal(typeof whyNotRegistrable(uri), 'string', uri)
})

test('what is named is compared character by character', () => {
  const registered = ['https://app.example/callback', 'com.example.app:/callback']
  for (const uri of registered) assert(matchesRedirect(uri, registered))
  const tricks = [
    'https://app.example/callback/',
    'https://app.example/callback?x=1',
    'https://app.example/callback#x',
    'https://app.example/callback/../evil',
    'https://app.example/Callback',
    'https://APP.example/callback',
    'HTTPS://app.example/callback',
    'https://app.example./callback',
    'https://app.example:443/callback',
    'https://app.example/%63allback',
    'https://app.example/callback%00',
    'https://app.example/callback ',
    'https://app.example.evil.example/callback',
    'https://app.example@evil.example/callback',
    'https://evil.example/https://app.example/callback',
    'https://sub.app.example/callback',
    'http://app.example/callback',
    '//app.example/callback',
    'com.example.app:/callback/x',
    'com.example.app://callback',
    '',
  ]
  for (const uri of tricks) assert(!matchesRedirect(uri, registered), uri)
})

test('of a loopback address any port will do, and nothing else of it', () => {
  const registered = [
    'http://127.0.0.1/callback',
    'http://[::1]:1/callback',
    'http://localhost:3000/x',
  ]
  for (const uri of [
    'http://127.0.0.1:49152/callback',
    'http://127.0.0.1:1/callback',
    'http://[::1]:65535/callback',
    'http://[::1]/callback',
  ]) {
    assert(matchesRedirect(uri, registered), uri)
  }
  for (const uri of [
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:9/other',
    'http://127.0.0.1:9/callback/',
    'http://127.0.0.1:9@evil.example/callback',
    'http://127.0.0.1.evil.example:9/callback',
    'http://127.0.0.1:9\\@evil.example/callback',
    'http://127.1:9/callback',
    'http://2130706433:9/callback',
    'http://0x7f.0.0.1:9/callback',
    'http://[0:0:0:0:0:0:0:1]:9/callback',
    'http://[::1]:9/other',
    'https://127.0.0.1:9/callback',
    'http://localhost:3001/x',
  ]) {
    assert(!matchesRedirect(uri, registered), uri)
  }
})

test('parameters are added to what is there', () => {
  const added = { code: 'a b', state: 'é&' }
  assert.equal(withParameters('https://a/b', added), 'https://a/b?code=a+b&state=%C3%A9%26')
  assert.equal(withParameters('https://a/b?t=7', added), 'https://a/b?t=7&code=a+b&state=%C3%A9%26')
  assert.equal(withParameters('https://a/b?', { iss: 'x' }), 'https://a/b?iss=x')
})

test('what people and browsers are told of it', () => {
  assert.equal(shownHost('https://app.example:8443/x'), 'app.example:8443')
  assert.equal(shownHost('com.example.app:/x'), 'com.example.app')
  assert.equal(formActionSource('https://app.example/x?y'), 'https://app.example')
  assert.equal(formActionSource('http://127.0.0.1:9/x'), 'http://127.0.0.1:9')
  assert.equal(formActionSource('http://[::1]:9/x'), 'http:')
  assert.equal(formActionSource('com.example.app:/x'), 'com.example.app:')
  assert(isClaimed('https://app.example/x'))
  assert(!isClaimed('http://127.0.0.1/x'))
  assert(!isClaimed('com.example.app:/x'))
})
