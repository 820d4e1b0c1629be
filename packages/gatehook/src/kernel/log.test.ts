import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggableUrl } from './log.ts'

test('of secret parameters only the names are logged, however they are spelled', () => {
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
  for (const [url, logged] of cases) assert.equal(loggableUrl(url), logged)
})

test('an API key in the wrong place of a URL is not logged either', () => {
  const key = `gk_live_${'x'.repeat(38)}`
  for (const where of ['?api_key[]=', '?apikey=', '?x=1;api_key=', '?', '/', '?a?api_key=']) {
    assert.equal(loggableUrl(`/api/orders${where}${key}`), `/api/orders${where}gk_live_...`)
  }
})

test('what belongs in a body is not logged where it was sent in a URL', () => {
  for (const name of ['client_secret', 'refresh_token', 'password', 'code_verifier', 'ticket']) {
    assert.equal(loggableUrl(`/oauth/token?${name}=abc&x=1`), `/oauth/token?${name}=...&x=1`)
  }
  const tokens = ['gs_CABYcVnZ', 'grt_0Vba5Skb-_x', 'whsec_ab/cd+ef==', 'whsec_ab%2Fcd']
  for (const secret of tokens) {
    const mark = secret.slice(0, secret.indexOf('_') + 1)
    assert.equal(loggableUrl(`/events/${secret}?at=${secret}`), `/events/${mark}...?at=${mark}...`)
  }
})
