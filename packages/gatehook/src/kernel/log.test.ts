import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactUrl } from './log.ts'

test('the values of secret parameters are removed, in any spelling of their names', () => {
  const cases: [string, string][] = [
    ['/api/orders', '/api/orders'],
    ['/api/orders?limit=2&flag', '/api/orders?limit=2&flag'],
    ['/api/orders?api_key=gk_live_x&limit=2', '/api/orders?api_key=...&limit=2'],
    ['/api/orders?limit=2&cursor=abc%20d', '/api/orders?limit=2&cursor=...'],
    ['/api/orders?%61pi_key=gk_live_x', '/api/orders?%61pi_key=...'],
    ['/api/orders?API_KEY=gk_live_x', '/api/orders?API_KEY=...'],
    ['/api/orders?%zz=gk_live_x', '/api/orders?%zz=...'],
    ['/api/orders?api_key=a=b', '/api/orders?api_key=...'],
  ]
  for (const [url, logged] of cases) assert.equal(redactUrl(url), logged)
})

test('an API key in any other place of a URL is removed', () => {
  const key = `gk_live_${'x'.repeat(38)}`
  for (const where of ['?api_key[]=', '?apikey=', '?x=1;api_key=', '?', '/', '?a?api_key=']) {
    assert.equal(redactUrl(`/api/orders${where}${key}`), `/api/orders${where}gk_live_...`)
  }
})

test('the values of body members sent in a URL are removed', () => {
  for (const name of ['client_secret', 'refresh_token', 'password', 'code_verifier', 'ticket']) {
    assert.equal(redactUrl(`/oauth/token?${name}=abc&x=1`), `/oauth/token?${name}=...&x=1`)
  }
  const tokens = ['gs_CABYcVnZ', 'grt_0Vba5Skb-_x', 'whsec_ab/cd+ef==', 'whsec_ab%2Fcd']
  for (const secret of tokens) {
    const mark = secret.slice(0, secret.indexOf('_') + 1)
    assert.equal(redactUrl(`/events/${secret}?at=${secret}`), `/events/${mark}...?at=${mark}...`)
  }
})
