/** The alerts of `docs/guides/operations.md` name metrics and labels that `/metrics` serves. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openService } from '../rig/service.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/operations.md')

test('the alerts of the operations guide name metrics that exist', async (t) => {
  const service = await openService(t, 'sqlite')
  await service.get('/api/v2/users')
  const admin = await service.key({ scopes: ['admin'], mode: 'live' })
  const { status, text } = await service.as(admin).get('/metrics')
  assert.equal(status, 200)
  const named = readFileSync(GUIDE, 'utf8').match(/\bgatehook_[a-z_]+(\{[a-z]+)?/g) ?? []
  assert.ok(named.length > 3)
  for (const reference of named) {
    const [metric, label] = reference.split('{') as [string, string?]
    assert.match(text, new RegExp(`^# TYPE ${metric} `, 'm'), metric)
    const lines = text.split('\n').filter((line) => line.startsWith(metric))
    if (label !== undefined)
      assert.ok(
        lines.some((line) => line.includes(`${label}="`)),
        reference,
      )
  }
})
