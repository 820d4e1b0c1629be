import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from '../../kernel/failure.ts'
import { Query } from '../../protocol/http/query.ts'
import { parseCredential } from './credential.ts'

const describe = (headers: readonly string[], search = '') => {
  try {
    const credential = parseCredential({ rawHeaders: headers, query: Query.parse(search) })
    if (!credential) return 'none'
    return `${credential.scheme} ${credential.value}${credential.inUrl ? ' in URL' : ''}`
  } catch (error) {
    assert(error instanceof Failure)
    return error.code
  }
}

const A = 'Authorization'
const X = 'X-API-Key'

const table: readonly [headers: readonly string[], search: string, expected: string][] = [
  [[], '', 'none'],
  [['Accept', 'a/b', 'Host', 'h'], 'limit=1', 'none'],
  [[X, 'k'], '', 'apikey k'],
  [['x-api-key', ''], '', 'apikey '],
  [[A, 'ApiKey k'], '', 'apikey k'],
  [[A, 'APIKEY  k '], '', 'apikey k'],
  [[A, 'ApiKey'], '', 'apikey '],
  [[A, 'Bearer t'], '', 'bearer t'],
  [[A, 'bearer'], '', 'bearer '],
  [[A, 'Basic dTpw'], '', 'basic dTpw'],
  [[], 'api_key=k', 'apikey k in URL'],
  [[], 'api_key=', 'apikey  in URL'],
  [[A, ''], '', 'unauthorized'],
  [[A, 'Digest x'], '', 'unauthorized'],
  [[A, 'gk_live_x'], '', 'unauthorized'],
  [[A, 'constructor x'], '', 'unauthorized'],
  // Two credentials, also equal ones.
  [[X, 'k', X, 'k'], '', 'ambiguous_credentials'],
  [[X, 'k, k'], '', 'ambiguous_credentials'],
  [[A, 'ApiKey k', A, 'ApiKey k'], '', 'ambiguous_credentials'],
  [[A, 'ApiKey k', X, 'k'], '', 'ambiguous_credentials'],
  [[A, 'Digest x', X, 'k'], '', 'ambiguous_credentials'],
  [[A, '', X, 'k'], '', 'ambiguous_credentials'],
  [[X, 'k'], 'api_key=k', 'ambiguous_credentials'],
  [[A, 'Bearer t'], 'api_key=k', 'ambiguous_credentials'],
  [[], 'api_key=k&api_key=k', 'ambiguous_credentials'],
  [[], 'access_token=t', 'token_in_url'],
  [[X, 'k'], 'access_token=', 'token_in_url'],
]

for (const [headers, search, expected] of table) {
  test(`${headers.join(': ')} ?${search} → ${expected}`, () => {
    assert.equal(describe(headers, search), expected)
  })
}

test('any bytes in any header yield a credential, none, or a Failure', () => {
  const bytes = fc.string({ unit: 'binary', maxLength: 60 })
  const name = fc.constantFrom('authorization', 'AUTHORIZATION', 'x-api-key', 'X-Api-Key', 'host')
  fc.assert(
    fc.property(fc.array(fc.tuple(name, bytes), { maxLength: 4 }), (headers) => {
      describe(headers.flat())
    }),
  )
})
