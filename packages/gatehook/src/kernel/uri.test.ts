/** Ajv's `uri` format, by another author, accepts every URL that a field accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { isUri, isWebUrl } from './uri.ts'

const ajv = new Ajv()
addFormats.default(ajv)
const isFormatUri = ajv.compile({ type: 'string', format: 'uri' })

test('URLs of the web are accepted as they are', () => {
  const property = fc.property(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    (url) => isWebUrl(url) && isFormatUri(url),
  )
  fc.assert(property)
  for (const url of [
    'http://localhost:8080',
    'HTTPS://Example.COM/A%20b?c=[d]'.replace(/[[\]]/g, '.'),
    'https://user:p%40ss@example.com/',
    'https://[2001:db8::1]:8443/a;b=c?d=e&f=?/#g/?',
    'https://example.com?',
    'https://example.com/#',
    'https://xn--bcher-kva.example/',
  ]) {
    assert.ok(isWebUrl(url) && isFormatUri(url), url)
  }
})

test('a text with a character that no URI has is no URL', () => {
  const characters = [...Array(256).keys()].map((code) => String.fromCharCode(code))
  for (const character of [...characters, '\u2028', 'é', '😀', '\ud800']) {
    for (const url of [
      `https://exa${character}mple.com/`,
      `https://example.com/a${character}b`,
      `https://example.com/?a${character}b`,
      `https://example.com/#a${character}b`,
      `${character}https://example.com/`,
      `https://example.com/${character}`,
    ]) {
      if (isWebUrl(url)) assert.ok(isFormatUri(url), JSON.stringify(url))
      if (/[\x00-\x20\x7f-\uffff\\"<>^`{|}]/.test(character)) assert.ok(!isWebUrl(url), url)
    }
  }
})

test('every accepted text is a URI', () => {
  const text = fc
    .string({ unit: fc.constantFrom(...'ahtps:/.?#[]@%20&=1\\\t \n"<é'), maxLength: 12 })
    .map((end) => `http${end}`)
  const property = fc.property(
    fc.oneof(
      text,
      text.map((end) => `https://a${end}`),
    ),
    (url) => {
      if (!isWebUrl(url)) return
      assert.ok(isFormatUri(url), url)
      assert.ok(URL.canParse(url), url)
    },
  )
  fc.assert(property, { numRuns: 5_000 })
})

test('a URI of any scheme has one authority at most, and is a URI to Ajv', () => {
  const unit = fc.constantFrom(...'ahtps:/.?#[]@%20&=1\\\t \n"<é')
  const start = fc.constantFrom('', 'com.example:', 'a://', 'https://', 'x:/')
  const text = fc.tuple(start, fc.string({ unit, maxLength: 8 })).map((parts) => parts.join(''))
  const property = fc.property(text, (uri) => {
    if (isUri(uri)) assert.ok(isFormatUri(uri), uri)
  })
  fc.assert(property, { numRuns: 5_000 })
  for (const uri of [
    'com.example.app:/cb',
    'a:b',
    'a://',
    'a:///b',
    'https://a@b:1/',
    'a://[::1]',
  ]) {
    assert.ok(isUri(uri), uri)
  }
  for (const uri of [
    'https://a@b@c/',
    'https://a:b:c/',
    'https://[::1]a/',
    'a://[1]/',
    'a://[1::2::3]/',
    '1a:/',
    'a',
    ':b',
    'a:',
    'a:?b',
  ]) {
    assert.ok(!isUri(uri), uri)
  }
})

test('a URL without a host or of another scheme is none', () => {
  for (const url of [
    'https:///a',
    'http:\\\\a',
    'https://ä.de/',
    'https://?a',
    'https:example.com',
    'https:/example.com',
    'https://',
    'https://:80/',
    'https://user@/',
    'https://a:99999/',
    'https://a/%zz',
    'https://a/[b]',
    'https://a/#b#c',
    'ftp://a/',
    'javascript:alert(1)',
    '//a/',
    '/a',
    '',
  ]) {
    assert.ok(!isWebUrl(url), url)
  }
})

test('a text in the absolute form has the scheme and the authority of its URL', () => {
  const part = fc.string({ unit: 'grapheme-ascii', maxLength: 12 })
  const text = fc.oneof(
    fc.webUrl({ withQueryParameters: true }),
    fc
      .tuple(fc.constantFrom('http:', 'https://', 'http:/', 'HTTP:///'), part)
      .map((t) => t.join('')),
    fc.tuple(fc.constant('http://a'), part, fc.constant('/'), part).map((t) => t.join('')),
  )
  fc.assert(
    fc.property(text, (value) => {
      if (!isWebUrl(value)) return
      const { protocol, host } = new URL(value)
      const [, scheme, authority] = /^(https?:)\/\/([^/?#]*)/i.exec(value)!
      assert.equal(scheme!.toLowerCase(), protocol)
      const same = new URL(`${scheme}//${authority}`).host
      assert.equal(host, same, value)
    }),
    { numRuns: 1000 },
  )
})
