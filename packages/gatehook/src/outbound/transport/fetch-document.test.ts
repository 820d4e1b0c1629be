/** Documents: the request, and how long a response may be reused (RFC 9111). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptRequest, Outcome } from './attempt.ts'
import { createDocumentFetcher } from './fetch-document.ts'

const NOW_MS = Date.parse('2026-01-01T00:00:00Z')
const URL_OF_DOCUMENT = 'https://agent.example/client.json'

const fetchWith = (headers: Record<string, string>, sent: AttemptRequest[] = []) =>
  createDocumentFetcher({
    clock: { now: () => NOW_MS },
    userAgent: 'Gatehook/1',
    async send(request): Promise<Outcome> {
      sent.push(request)
      const type = { 'content-type': 'application/json' }
      const response = { kind: 'answered', status: 200, body: '{}', durationMs: 1 } as const
      return { ...response, headers: { ...type, ...headers }, isWhole: true }
    },
  })(URL_OF_DOCUMENT, 100)

test('the request is a GET that ends after 5 s', async () => {
  const sent: AttemptRequest[] = []
  await fetchWith({}, sent)
  const headers = { accept: 'application/json', 'user-agent': 'Gatehook/1' }
  const request = { method: 'GET', url: URL_OF_DOCUMENT, headers, body: null, timeoutMs: 5_000 }
  assert.deepEqual(sent, [request])
})

test('the lifetime is that of a shared cache', async () => {
  for (const [headers, seconds] of [
    [{}, 0],
    [{ 'cache-control': 'max-age=600' }, 600],
    [{ 'cache-control': 'max-age=600', age: '100' }, 500],
    [{ 'cache-control': 'max-age=600', age: '1000' }, 0],
    [{ 'cache-control': 'max-age=600, s-maxage=60' }, 60],
    [{ 'cache-control': 'private, max-age=600' }, 0],
    [{ 'cache-control': 'no-cache, max-age=600' }, 0],
    [{ expires: 'Thu, 01 Jan 2026 00:10:00 GMT' }, 600],
    [{ expires: 'Thu, 01 Jan 2026 00:10:00 GMT', 'cache-control': 'max-age=60' }, 60],
    [{ expires: '0' }, 0],
  ] as const) {
    const { lifetimeMs } = await fetchWith(headers)
    assert.equal(lifetimeMs, seconds * 1000, JSON.stringify(headers))
  }
})

test('only JSON by its media type is a document', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/x+json',
  ]) {
    assert.deepEqual((await fetchWith({ 'content-type': type })).value, {})
  }
  for (const type of ['text/json', 'application/jsonx', 'application/x+jsonx', 'text/x+json', '']) {
    await assert.rejects(fetchWith({ 'content-type': type }), /media type/)
  }
})
