/** A client authenticates by exactly one method (RFC 6749 §2.3). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readClientCredential } from './client-authentication.ts'
import { OauthError } from './oauth-error.ts'

const basic = (text: string) => ['Authorization', `Basic ${Buffer.from(text).toString('base64')}`]

const read = (headers: readonly string[], form: Record<string, string> = {}) => {
  try {
    const parameters = new Map(Object.entries(form))
    const { id, secret = '-', isBasic } = readClientCredential(headers, parameters)
    return `${id} ${secret} ${isBasic ? 'header' : 'body'}`
  } catch (error) {
    assert(error instanceof OauthError)
    return error.code
  }
}

const table: readonly [
  headers: readonly string[],
  form: Record<string, string>,
  expected: string,
][] = [
  [basic('a:s'), {}, 'a s header'],
  [basic('a:s'), { client_id: 'a' }, 'a s header'],
  [basic('a%3Ab:s%2Bt+u'), {}, 'a:b s+t u header'],
  [basic('a:s:t'), {}, 'a s:t header'],
  [basic('a:'), {}, 'a  header'],
  [['authorization', `bAsIc ${btoa('a:s')}`], {}, 'a s header'],
  [[], { client_id: 'a', client_secret: 's' }, 'a s body'],
  [[], { client_id: 'a' }, 'a - body'],
  // Two methods, or two client ids.
  [basic('a:s'), { client_secret: 's' }, 'invalid_request'],
  [basic('a:s'), { client_id: 'b' }, 'invalid_request'],
  [[...basic('a:s'), ...basic('a:s')], {}, 'invalid_request'],
  // No credential, or a malformed one.
  [[], {}, 'invalid_client'],
  [[], { client_secret: 's' }, 'invalid_client'],
  [['Authorization', 'Bearer x'], { client_id: 'a' }, 'invalid_client'],
  [['Authorization', 'Basic'], {}, 'invalid_client'],
  [['Authorization', 'Basic %%%'], {}, 'invalid_client'],
  [basic('no colon'), {}, 'invalid_client'],
  [basic('a%zz:s'), {}, 'invalid_client'],
]

for (const [headers, form, expected] of table) {
  test(`${headers.join(' ')} ${JSON.stringify(form)} → ${expected}`, () => {
    assert.equal(read(headers, form), expected)
  })
}
