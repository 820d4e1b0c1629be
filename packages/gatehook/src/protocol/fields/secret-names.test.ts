/** §12.7: the log has no secret value at any depth, whatever contains it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from './f.ts'
import { containsSecret, secretNames } from './secret-names.ts'

const secret = f.string().secret()
const fields = {
  plain: f.array(f.object({ name: f.string() }), { max: 2 }),
  token: secret,
  codes: f.array(secret, { max: 2 }),
  card: f.object({ owner: f.string(), pin: secret }),
  cards: f.array(f.object({ inner: f.object({ number: secret }) }), { max: 2 }),
}

test('secret values are found in objects and lists', () => {
  const specs = Object.fromEntries(Object.entries(fields).map(([name, { spec }]) => [name, spec]))
  assert.deepEqual(secretNames(specs), ['token', 'codes', 'pin', 'number'])
  const containing = Object.keys(specs).filter((name) => containsSecret(specs[name]!))
  assert.deepEqual(containing, ['token', 'codes', 'card', 'cards'])
})
