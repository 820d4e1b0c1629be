import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAbsoluteUrl } from './absolute-url.ts'

test('the absolute form has a scheme, two slashes and a host', () => {
  const absolute = [
    'http://a',
    'HTTPS://Example.com:8443/a?b=c&d',
    'http://[::1]/',
    'https://ä.de/',
  ]
  for (const text of absolute) assert.equal(isAbsoluteUrl(text), true, text)
  const relative = ['', 'a', '/a', '//a', 'http:a', 'http:/a', 'http:///a', 'http://', 'https://?a']
  const rewritten = [
    'http:\\\\a',
    'http://a\\b',
    ' http://a',
    'http://a\n',
    'http://a\tb/',
    'http://a/b c',
  ]
  const others = [
    'ftp://a',
    'http://a/\ud800',
    'http://a:99999/',
    'http://a/"',
    'http://a/`',
    'http://a/<b>',
  ]
  for (const text of [...relative, ...rewritten, ...others]) {
    assert.equal(isAbsoluteUrl(text), false, JSON.stringify(text))
  }
})
