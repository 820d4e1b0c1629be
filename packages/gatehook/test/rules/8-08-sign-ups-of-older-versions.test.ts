/**
 * §8.8: a sign-up has the form of any version, so that pages of an older one go on, and a mail that
 * a former release sent still creates the account. `gatehook check` reports any other change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, migratedUrl } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf } from '../../src/declare/gate/lock.ts'
import { f, type MailMessage, resource, type Service, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Fields } from '../../src/protocol/fields/fields.ts'
import { tokenOf } from '../people/mail-rig.ts'

const VERSIONS = { v1: { released: '2026-01-01' } }
const declare = (fields: Fields) =>
  resource('guests', {
    fields: { id: f.id(), email: f.email().unique(), born: f.int().default(2000), ...fields },
    list: { filter: [], sort: ['id'] },
    access: { read: 'g:read', create: 'g:write', update: 'g:write', delete: false },
    events: [],
  })
const signsIn = (fields: readonly string[]) =>
  ({ username: 'email', scopes: ['g:read'], signUp: { fields } }) as never

const before = service({
  name: 'Guests',
  versions: VERSIONS,
  resources: [
    declare({ name: f.string().min(1).max(200) }).signsIn(signsIn(['name', 'born'])) as never,
  ],
})
const split = declare({
  first_name: f.string().max(200),
  last_name: f.string().max(200),
  name_v1: f.derived(f.string().min(1).max(200), "trim(first_name || ' ' || last_name)"),
  level: f.string().default('guest'),
})
const migrations = [
  {
    number: 1,
    name: 'names are split',
    table: 'guests',
    sql: `ALTER TABLE guests ADD COLUMN first_name {text} NOT NULL DEFAULT '';
      ALTER TABLE guests ADD COLUMN last_name {text} NOT NULL DEFAULT '';
      ALTER TABLE guests DROP COLUMN name`,
  },
]
const fields = ['first_name', 'last_name', 'born']
const after = service({
  name: 'Guests',
  versions: { ...VERSIONS, v2: { released: '2026-06-01' } },
  migrations,
  resources: [
    split
      .before('v2', {
        why: 'Names have two parts.',
        had: { name: f.string().min(1).max(200) },
        hadNot: ['first_name', 'last_name', 'name_v1'] as never,
        // A conversion sets no field that a stranger does not set.
        up: (({ name, level }: Record<string, string>) => ({
          first_name: name!.split(' ')[0],
          last_name: name!.split(' ').slice(1).join(' '),
          name_v1: name,
          level: name === 'Eve' ? 'admin' : level,
        })) as never,
        down: ((row: Record<string, unknown>) => ({ name: row.name_v1 })) as never,
        renamed: { name: 'name_v1' } as never,
      })
      .signsIn(signsIn(fields)) as never,
  ],
})
const unbridged = service({
  ...{ name: 'Guests', versions: VERSIONS, migrations },
  resources: [split.signsIn(signsIn(fields)) as never],
})

const PASSWORD = 'a long enough password'

for (const { name: kind } of databases) {
  test(`sign-ups of an older version, and mailed ones, create accounts [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const messages: MailMessage[] = []
    const transport = { send: async (mail: MailMessage) => void messages.push(mail) }
    const open = async (declared: Service) => {
      const mailing = declared.mail(transport, { from: 'no-reply@example.com' })
      const opened = await openService(t, kind, { url, service: mailing })
      const anonymous = opened.as(undefined)
      return {
        ...opened,
        anonymous,
        async token(body: object, path = 'signup') {
          const reply = await anonymous.post(`/auth/${path}`, body)
          assert.equal(reply.status, 202, reply.text)
          await opened.app.mail.sendDue()
          return tokenOf(messages.pop())
        },
        verify: (token: string) =>
          anonymous.post('/auth/email/verify', { token, password: PASSWORD }),
      }
    }
    const old = await open(before)
    const body = { email: 'ann@example.com', name: 'Ann Mary Lee', born: 1990 }
    const mailed = await old.token(body)
    const lost = await old.token({ email: 'bo@example.com', name: 'Bo' })
    await old.app.close()

    const now = await open(after)
    assert.equal((await now.verify(mailed)).status, 204)
    const page = { email: 'eve@example.com', name: 'Eve' }
    assert.equal((await now.verify(await now.token(page))).status, 204)
    const newest = { email: 'kim@example.com', first_name: 'Kim', last_name: 'Ro' }
    assert.equal((await now.verify(await now.token(newest))).status, 204)
    const again = await now.token({ email: 'bo@example.com' }, 'email/resend')
    const reader = now.as(await now.key({ mode: 'live' }))
    const { body: rows } = await reader.get('/api/v2/guests')
    assert.deepEqual(
      rows.data.map((row: Record<string, unknown>) => [
        ...[row.email, row.first_name, row.last_name, row.born, row.level],
      ]),
      [
        ['ann@example.com', 'Ann', 'Mary Lee', 1990, 'guest'],
        ['eve@example.com', 'Eve', '', 2000, 'guest'],
        ['kim@example.com', 'Kim', 'Ro', 2000, 'guest'],
      ],
    )
    for (const [wrong, pointer] of [
      [{ email: 'x@example.com', name: '' }, '/name'],
      [{ email: 'x@example.com', name: 'X', first_name: 'X', last_name: '' }, '/name'],
      [{ email: 'x@example.com', first_name: 'X' }, '/last_name'],
      [{ email: 'x@example.com', name: 'X', level: 'admin' }, '/name'],
      [{ email: 'x@example.com', name: 'X', name_v1: 'X' }, '/name'],
    ] as const) {
      const reply = await now.anonymous.post('/auth/signup', wrong)
      assert.equal(reply.status, 422, reply.text)
      assert.ok(
        reply.body.errors.some((error: { pointer: string }) => error.pointer === pointer),
        reply.text,
      )
    }
    await now.app.close()

    const bare = await open(unbridged)
    for (const token of [lost, again]) {
      const reply = await bare.verify(token)
      assert.deepEqual([reply.status, reply.body.errors], [401, undefined], reply.text)
    }
  })
}

/** In v1, the name of the present sign-in field was that of another one. */
const swapped = service({
  name: 'Guests',
  versions: { ...VERSIONS, v2: { released: '2026-06-01' } },
  resources: [
    declare({ contact: f.email() })
      .before('v2', {
        why: 'The sign-in name has a better name.',
        had: { login: f.email().unique(), email: f.email() } as never,
        hadNot: ['email', 'contact'] as never,
        up: ((old: Record<string, string>) => ({ email: old.login, contact: old.email })) as never,
        down: ((row: Record<string, string>) => ({
          login: row.email,
          email: row.contact,
        })) as never,
        renamed: { login: 'email', email: 'contact' } as never,
      })
      .signsIn(signsIn(['contact'])) as never,
  ],
})
for (const { name: kind } of databases) {
  test(`the mail of a sign-up confirms the address that received it [${kind}]`, async (t) => {
    const messages: MailMessage[] = []
    const transport = { send: async (mail: MailMessage) => void messages.push(mail) }
    const mailing = swapped.mail(transport, { from: 'no-reply@example.com' })
    const { app, as } = await openService(t, kind, { service: mailing })
    const body = { login: 'victim@example.com', email: 'stranger@example.com' }
    const reply = await as(undefined).post('/auth/signup', body)
    assert.equal(reply.status, 202, reply.text)
    await app.mail.sendDue()
    const [mailed] = messages
    assert.equal(mailed!.to, body.login)
    // As if a release had read another address in the body.
    await app.db.write((tx) => tx.run(sql`UPDATE gh_mail_tokens SET folded = ${body.email}`))
    const exchange = { token: tokenOf(mailed), password: PASSWORD }
    assert.equal((await as(undefined).post('/auth/email/verify', exchange)).status, 401)
  })
}

test('the gate reports a sign-up that no version converts', () => {
  const lock = lockOf(promisesOf(before.definition))
  const breaksOf = (declared: Service) =>
    check(declared.definition, lock).verdicts.flatMap(({ breaks }) =>
      breaks
        .filter(({ operations }) => operations.includes('POST /auth/signup'))
        .map(({ sentence }) => sentence),
    )
  assert.deepEqual(breaksOf(after), [])
  const sentences = breaksOf(unbridged).join('\n')
  for (const name of ['"name"', '"first_name"', '"last_name"'])
    assert.ok(sentences.includes(name), sentences)
})
