/**
 * Every place of a request that accepts a name rejects a misspelt name in a sentence that suggests
 * the closest name, and ends once. The service's own types come before those of the engine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'

type Mistake = readonly [request: string, meant: string, body?: unknown]

const HOOK = { url: 'https://example.com/', events: ['*'] }
const USER = { name: 'Ada', email: 'ada@example.com' }

const misspelt: readonly Mistake[] = [
  ['POST /webhooks', 'order.*', { ...HOOK, events: ['orders.*'] }],
  ['POST /webhooks', 'order.created', { ...HOOK, events: ['order.create'] }],
  ['POST /webhooks', 'description', { ...HOOK, descripton: 'x' }],
  ['POST /webhooks/wh_0VkqHc5d8hTn2WbYx3aRkQ/test', 'order.paid', { event_type: 'order.payd' }],
  ['GET /webhooks?actve=true', 'active'],
  ['GET /webhooks?limt=5', 'limit'],
  ['GET /events?type=order.payd', 'order.paid'],
  ['GET /events/stream?types=order.payd', 'order.paid'],
  ['GET /events/stream?types=order.paid,orders.*', 'order.*'],
  ['GET /events/stream?type=order.paid', 'types'],
  ['GET /api/v2/orders?statsu=paid', 'status'],
  ['GET /api/v2/orders?status=payd', 'paid'],
  ['GET /api/v2/orders?pagination=curser', 'cursor'],
  ['GET /api/v2/orders?sort=-create_at', 'created_at'],
  ['GET /api/v2/orders?fields=id,statsu', 'status'],
  ['POST /api/v2/users', 'email', { name: 'Ada', e_mail: 'ada@example.com' }],
  ['POST /api/v2/users?dryrun=true', 'dry_run', USER],
]

const sentencesOf = (body: { message: string; errors?: { message: string }[] }): string[] => [
  ...(body.errors ?? []).map(({ message }) => message),
  body.message,
]

test('a misspelt name is rejected with the closest name', async (t) => {
  const app = await openService(t, 'sqlite')
  for (const [request, meant, body] of misspelt) {
    const [method, path] = request.split(' ') as [string, string]
    const { status, body: answer } = await app.send(method, path, body)
    assert.ok(status === 400 || status === 422, `${request}: ${status}`)
    const sentences = sentencesOf(answer)
    assert.ok(
      sentences.some((sentence) => sentence.includes(`; did you mean ${meant}?`)),
      `${request}: ${sentences.join('\n')}`,
    )
    for (const sentence of sentences) assert.doesNotMatch(sentence, /[?.]\.$/, request)
  }
})

test('an unknown field is reported before the missing ones', async (t) => {
  const app = await openService(t, 'sqlite')
  const { body } = await app.post('/api/v2/users', { nam: 'Ada', email: 'ada@example.com' })
  const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer)
  assert.deepEqual(pointers, ['/nam', '/name'])
})

test('a value that resembles none is rejected with the first types of the service', async (t) => {
  const app = await openService(t, 'sqlite')
  const { body } = await app.post('/webhooks', { ...HOOK, events: ['zzz'] })
  const { message } = body.errors[0]
  assert.ok(message.startsWith('must be one of *, order.'), message)
})

/** Every kind of parameter that is an instant. */
const instants = (text: string) => [
  `/api/v2/orders?created_at[gte]=${text}`,
  `/api/v2/orders?created_at=${text}`,
  `/api/v2/orders?created_at[in]=2026-01-31T12:00:00Z,${text}`,
  `/webhooks?created_at[lt]=${text}`,
]

test('an instant whose + is not escaped is rejected with its escape', async (t) => {
  const app = await openService(t, 'sqlite')
  for (const path of instants('2026-12-01T10:00:00+01:00')) {
    const { status, body } = await app.get(path)
    assert.equal(status, 400, path)
    assert.match(body.message, /; a URL has its \+ as %2B, or the instant in UTC with Z\.$/, path)
  }
  for (const path of instants('2026-12-01T10:00:00%2B01:00')) {
    assert.equal((await app.get(path)).status, 200, path)
  }
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const series = await admin.get('/admin/series?metric=requests&from=2026-12-01T10:00:00+01:00')
  assert.match(series.body.message, /%2B/)
  for (const path of instants('tomorrow')) {
    const { status, body } = await app.get(path)
    assert.equal(status, 400, path)
    assert.doesNotMatch(body.message, /%2B/, path)
  }
})
