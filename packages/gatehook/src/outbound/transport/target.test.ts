import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTargetProblem } from './target.ts'

test('the problem of a URL is found in its text, in any spelling of its address', () => {
  const cases: readonly (readonly [string, string | undefined, string | undefined])[] = [
    ['https://example.com/hook?a=1', undefined, undefined],
    ['https://8.8.8.8/', undefined, undefined],
    ['http://example.com/', 'not_https', undefined],
    ['https://127.0.0.1/', 'address', undefined],
    ['https://127.1/', 'address', undefined],
    ['https://0x7f.1/', 'address', undefined],
    ['https://0177.0.0.1/', 'address', undefined],
    ['https://2130706433/', 'address', undefined],
    ['https://%31%32%37.0.0.1/', 'address', undefined],
    ['https://①②⑦.0.0.1/', 'invalid', 'invalid'],
    ['https://127.0.0.1./', 'address', undefined],
    ['https://[::1]/', 'address', undefined],
    ['https://[::ffff:127.0.0.1]/', 'address', 'address'],
    ['https://[64:ff9b::7f00:1]/', 'address', 'address'],
    ['https://169.254.169.254/latest', 'address', 'address'],
    ['https://0xa9fea9fe/', 'address', 'address'],
    ['https://0/', 'address', 'address'],
    ['https://localhost/', 'address', undefined],
    ['https://LOCALHOST./', 'address', undefined],
    ['https://a.localhost/', 'address', undefined],
    ['https://localhost.example.com/', undefined, undefined],
    ['https://user@example.com/', 'credentials', 'credentials'],
    ['https://:pw@example.com/', 'credentials', 'credentials'],
    ['https://@example.com/', 'credentials', 'credentials'],
    ['https:\\\\:@example.com/', 'invalid', 'invalid'],
    ['https:127.0.0.1/', 'invalid', 'invalid'],
    ['http:127.0.0.1:4000/x', 'invalid', 'invalid'],
    ['http:/example.com/', 'invalid', 'invalid'],
    ['https:///example.com/', 'invalid', 'invalid'],
    ['https://exa\tmple.com/', 'invalid', 'invalid'],
    ['https://example.com/@me?to=a@b', undefined, undefined],
    ['https://example.com/#', 'fragment', 'fragment'],
    ['https://example.com/#x', 'fragment', 'fragment'],
    ['ftp://example.com/', 'invalid', 'invalid'],
    ['file:///etc/passwd', 'invalid', 'invalid'],
    ['//example.com', 'invalid', 'invalid'],
    ['https://1.2.3.4.5/', 'invalid', 'invalid'],
    ['https://', 'invalid', 'invalid'],
    [`https://example.com/${'a'.repeat(2048)}`, 'invalid', 'invalid'],
  ]
  for (const [url, strict, withPrivate] of cases) {
    assert.equal(findTargetProblem(url, false), strict, url)
    assert.equal(findTargetProblem(url, true), withPrivate, url)
  }
})
