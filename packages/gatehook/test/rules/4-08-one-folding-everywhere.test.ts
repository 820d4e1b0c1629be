/** §4.8: sign-in, unique fields and filters compare names by one folding, on both databases. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { openPeople, PASSWORD } from '../people/rig.ts'

const access = {
  read: 'members:read',
  create: 'members:write',
  update: 'members:write',
  delete: 'members:write',
} as const

const members = resource('members', {
  fields: { id: f.id(), email: f.email().unique(), other: f.email().nullable().default(null) },
  list: {
    filter: ['email', 'other'],
    sort: ['email'],
    prefix: ['other'],
    contains: ['other'],
  },
  search: ['email'],
  access,
  batch: true,
  events: [],
}).signsIn({ username: 'email' })

const club = service({
  name: 'club',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [
    members.before('v2', {
      why: 'mail is email.',
      had: { mail: f.email() },
      hadNot: ['email'],
      up: (old) => ({ email: old.mail }),
      down: (row) => ({ mail: row.email }),
      renamed: { mail: 'email' },
    }),
  ],
})

/** Characters whose case, composition or context of case differs between libraries. */
const characters = ['a', 'A', 'ö', 'Ö', 'o\u0308', 'O\u0308', 'é', 'E\u0301', 'ß', 'ẞ', 'İ', 'i']
characters.push('ı', 'Σ', 'σ', 'ς', 'Å', '\u212b', 'å', 'K', '\u212a', 'ǅ', 'Ǆ', 'ǆ', 'ﬁ', 'Ⅷ', 'ⅷ')
const local = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 4 })

/** Returns a spelling that is often equal by the folding. */
const respell = (letters: readonly string[], kind: number): string => {
  const text = letters.join('')
  return [text, text.toUpperCase(), text.toLowerCase(), text.normalize('NFD')][kind]!
}

const pair = fc.oneof(
  fc.tuple(local, local).map(([a, b]) => [a.join(''), b.join('')] as const),
  fc.tuple(local, fc.nat({ max: 3 })).map(([a, kind]) => [a.join(''), respell(a, kind)] as const),
)

/** The rule in words: NFC, then lower case of Unicode. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().normalize('NFC')

eachService(
  'equality by the folding decides sign-in, uniqueness and filters alike',
  async (s) => {
    const { operator, login } = await openPeople(s)
    let run = 0
    const examine = async ([stored, other]: readonly [string, string]) => {
      const domain = `${run++}.example.com`
      const [first, second] = [`${stored}@${domain}`, `${other}@${domain}`]
      const isSame = fold(first) === fold(second)
      const created = await s.post('/api/v2/members', { email: first, other: first })
      assert.equal(created.status, 201, created.text)
      assert.equal(created.body.email, first, 'the stored spelling is that of the client')
      const id = created.body.id as number
      const path = `/admin/users/${id}/password`
      assert.equal((await operator.put(path, { password: PASSWORD })).status, 204)

      const ids = async (name: string, text: string, version = 'v2') => {
        const reply = await s.get(`/api/${version}/members?${name}=${encodeURIComponent(text)}`)
        assert.equal(reply.status, 200, reply.text)
        return reply.body.data.map((row: { id: number }) => row.id) as number[]
      }
      const expected = isSame ? [id] : []
      for (const name of ['email', 'email[in]', 'other', 'other[prefix]']) {
        assert.deepEqual(await ids(name, second), expected, `${name} ${first} ${second}`)
      }
      const isPart = fold(first).includes(fold(second))
      assert.deepEqual(await ids('other[contains]', second), isPart ? [id] : [])
      assert.deepEqual(await ids('mail', second, 'v1'), expected)
      assert.equal((await ids('email[ne]', second)).includes(id), !isSame)

      const { status } = await login(second)
      assert.equal(status, isSame ? 200 : 401, `login ${first} ${second}`)
      const again = await s.post('/api/v2/members', { email: second })
      assert.equal(again.status, isSame ? 409 : 201, `unique ${first} ${second}`)
      if (isSame) assert.equal(again.body.errors[0].pointer, '/email')
      const { body: row } = await s.post('/api/v2/members', { email: `free@${domain}` })
      if (!isSame) await s.delete(`/api/v2/members/${again.body.id}`)
      const change = await s.patch(`/api/v2/members/${row.id}`, { email: second })
      assert.equal(change.status, isSame ? 409 : 200, `change ${first} ${second}`)
      assert.equal((await s.delete(`/api/v2/members/${id}`)).status, 204)
      await s.delete(`/api/v2/members/${row.id}`)
    }
    await fc.assert(fc.asyncProperty(pair, examine as never), { numRuns: 15, endOnFailure: true })
  },
  { service: club },
)

eachService(
  'a changed address is found by its new spelling only',
  async (s) => {
    const { body } = await s.post('/api/v2/members', { email: 'Öz@x.example' })
    const emails = async (query: string) =>
      (await s.get(`/api/v2/members?${query}`)).body.data.map((row: { email: string }) => row.email)
    assert.deepEqual(await emails('email=o%CC%88Z@X.example'), ['Öz@x.example'])
    await s.patch(`/api/v2/members/${body.id}`, { email: 'ÄZ@x.example' })
    assert.deepEqual(await emails('email=%C3%96z@x.example'), [])
    assert.deepEqual(await emails('email=%C3%A4z@x.example'), ['ÄZ@x.example'])
    assert.deepEqual(await emails('q=%C3%A4z'), ['ÄZ@x.example'])
    await s.patch(`/api/v2/members/${body.id}`, { other: 'Ü@x.example' })
    assert.equal((await emails('other=%C3%BC@x.example')).length, 1)
    await s.patch(`/api/v2/members/${body.id}`, { other: null })
    assert.deepEqual(await emails('other=%C3%BC@x.example'), [])
    assert.equal((await emails('other[null]=true')).length, 1)
    const batch = [{ email: 'É@x.example' }, { email: 'e\u0301@x.example' }]
    const reply = await s.post('/api/v2/members/batch', { items: batch })
    assert.deepEqual([reply.status, reply.body.error], [409, 'conflict'], reply.text)
  },
  { service: club },
)
