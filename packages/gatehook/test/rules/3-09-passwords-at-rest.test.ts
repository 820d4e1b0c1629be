/** §3.9: passwords are stored as argon2id hashes with 19 MiB, t=2, p=1, and in no other form. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const all = { sql: 'SELECT * FROM gh_people', text: 'SELECT * FROM gh_people', values: [] }

eachService('a password is stored as a PHC string with its own salt', async (service) => {
  const { createPerson } = await openPeople(service)
  await createPerson('ada')
  await createPerson('bob')
  const rows = await service.app.db.all(all)
  const stored = rows.map((row) => String(row.password))
  assert.equal(stored.length, 2)
  for (const text of stored) assert.match(text, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$/)
  assert.notEqual(stored[0], stored[1])
})

test('neither the database file nor its write-ahead log contains a password', async (t) => {
  const service = await openService(t, 'sqlite')
  const { createPerson, login, anonymous, operator } = await openPeople(service)
  const ada = await createPerson('ada')
  const key = { 'idempotency-key': 'once' }
  const body = { name: 'b', email: 'b@example.com', password: PASSWORD, mode: 'test' }
  assert.equal((await operator.post('/admin/users', body, key)).status, 201)
  assert.equal((await login(emailOf('ada'))).status, 200)
  assert.equal((await anonymous.get('/users', basicOf(emailOf('ada')))).status, 404)
  await login(PASSWORD, 'typed into the wrong field')
  await operator.put(`/admin/users/${ada.id}/password`, { password: PASSWORD })
  const [{ file }] = (await service.app.db.all({
    sql: "SELECT file FROM pragma_database_list WHERE name = 'main'",
    text: '',
    values: [],
  })) as [{ file: string }]
  for (const path of [file, `${file}-wal`]) {
    assert.ok(!readFileSync(path).includes(PASSWORD), `${path} contains a password`)
  }
})
