import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { api } from '../../service/service.ts'
import { openApp } from '../../src/app.ts'
import { createKey } from '../../src/identity/access/keys.ts'
import { createLog } from '../../src/kernel/log.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { basicOf, emailOf, PASSWORD } from './rig.ts'

test('§12.7 no log line contains a password, a token or a key', async (t) => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const config = loadConfig({
    GATEHOOK_DATABASE_URL: await freshUrl(t, 'sqlite'),
    GATEHOOK_PORT: '0',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  })
  const log = createLog({ level: 'trace', destination })
  const app = await openApp({ config, service: api, log })
  onEnd(t, () => app.close())
  const caller = { actor: { kind: 'system', id: 'test' } as const, customer: 'default' }
  const input = { name: 'k', scopes: ['admin'] }
  const { key } = await createKey(app.administration, input, caller)
  const send = (method: 'GET' | 'POST', url: string, headers: object, payload?: object) =>
    app.inject({
      method,
      url,
      headers: { host: 'localhost', ...headers },
      ...(payload && { payload }),
    })
  const fields = { name: 'Ada', email: emailOf('ada'), password: PASSWORD }
  await send('POST', '/admin/users', { 'x-api-key': key }, fields)
  const login = { username: emailOf('ada'), password: PASSWORD }
  const { access_token, refresh_token } = (await send('POST', '/auth/login', {}, login)).json()
  await send('POST', '/auth/login', {}, { ...login, password: `${PASSWORD}!` })
  await send('POST', '/auth/login', {}, { username: PASSWORD, password: 7 })
  const basic = basicOf(emailOf('ada'))
  await send('GET', '/api/v2/protected', basic)
  const all = lines.join('')
  assert.ok(lines.length >= 5, all)
  for (const secret of [PASSWORD, access_token, refresh_token, key, basic.authorization.slice(6)]) {
    assert.ok(!all.includes(secret))
  }
})
