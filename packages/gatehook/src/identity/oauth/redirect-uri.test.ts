/** Redirect URIs: registration, and matching of requests (§5.1). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  appendParameters,
  displayHost,
  findRegistrationFault,
  formActionSource,
  isAuthenticated,
  matchesRedirectUri,
} from './redirect-uri.ts'

test('https, loopback and private-use schemes with a domain name can be registered', () => {
  const registrable = [
    'https://app.example',
    'https://app.example/callback?tenant=7',
    'https://app.example:8443/a/b',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:9000/callback',
    'http://[::1]/callback',
    'http://localhost:3000/callback',
    'com.example.app:/callback',
  ]
  for (const uri of registrable) assert.equal(findRegistrationFault(uri), undefined, uri)
})

test('other URIs cannot be registered', () => {
  const rejected = [
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
  for (const uri of rejected) assert.equal(typeof findRegistrationFault(uri), 'string', uri)
})

test('a request must equal a registered URI character by character', () => {
  const registered = ['https://app.example/callback', 'com.example.app:/callback']
  for (const uri of registered) assert(matchesRedirectUri(uri, registered))
  const variants = [
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
  for (const uri of variants) assert(!matchesRedirectUri(uri, registered), uri)
})

test('the port of a loopback host may differ, and no other part', () => {
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
    'http://localhost/x',
    'http://localhost:3001/x',
  ]) {
    assert(matchesRedirectUri(uri, registered), uri)
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
    'http://localhost:3000/callback',
    'http://LOCALHOST:3000/x',
    'http://localhost.evil.example:3000/x',
  ]) {
    assert(!matchesRedirectUri(uri, registered), uri)
  }
})

test('parameters are appended to the query', () => {
  const added = { code: 'a b', state: 'é&' }
  assert.equal(appendParameters('https://a/b', added), 'https://a/b?code=a+b&state=%C3%A9%26')
  assert.equal(
    appendParameters('https://a/b?t=7', added),
    'https://a/b?t=7&code=a+b&state=%C3%A9%26',
  )
  assert.equal(appendParameters('https://a/b?', { iss: 'x' }), 'https://a/b?iss=x')
})

test('the displayed host, the form-action source and the authenticated receiver', () => {
  assert.equal(displayHost('https://app.example:8443/x'), 'app.example:8443')
  assert.equal(displayHost('com.example.app:/x'), 'com.example.app')
  assert.equal(formActionSource('https://app.example/x?y'), 'https://app.example')
  assert.equal(formActionSource('http://127.0.0.1:9/x'), 'http://127.0.0.1:9')
  assert.equal(formActionSource('http://[::1]:9/x'), 'http:')
  assert.equal(formActionSource('com.example.app:/x'), 'com.example.app:')
  assert(isAuthenticated('https://app.example/x'))
  assert(!isAuthenticated('http://127.0.0.1/x'))
  assert(!isAuthenticated('com.example.app:/x'))
})
