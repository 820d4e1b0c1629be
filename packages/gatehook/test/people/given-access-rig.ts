/** Administrators that open the console and the portal to others by links. */
import assert from 'node:assert/strict'
import type { Caller, Reply } from '../../../../test/rig/service.ts'
import { bearer } from '../oauth/issuer-rig.ts'
import { cookieOf } from '../portal/rig.ts'
import type { Inbox } from './mail-rig.ts'
import { PASSWORD } from './rig.ts'

export type Post = Caller['post']

export const OPERATOR_PASSWORD = 'a long one for the console'

export const withHeaders =
  ({ anonymous }: Inbox, headers: Readonly<Record<string, string>>): Post =>
  (path, body = {}) =>
    anonymous.post(path, body, headers)

let count = 0
export const nameOf = () => `maker${++count}`

export async function created(reply: Promise<Reply>) {
  const { status, text, body } = await reply
  assert.equal(status, 201, text)
  return body
}

export const ADMIN = { scopes: ['admin'], mode: 'live', customer: 'default' }

export async function createPerson({ operator }: Inbox, password = PASSWORD) {
  const name = nameOf()
  const fields = { name, email: `${name}@example.com`, password, ...ADMIN }
  return created(operator.post('/admin/users', fields))
}

export async function tokenOf(reply: Promise<Reply>) {
  const { status, text, body } = await reply
  assert.equal(status, 200, text)
  return bearer(body.access_token)
}

export const TOKEN = /#token=(\S+)/

/** Returns the token of the only link in the mail that waits. */
export async function mailedToken(inbox: Inbox['inbox']): Promise<string> {
  const links = (await inbox.receive()).flatMap(({ text }) => TOKEN.exec(text) ?? [])
  return links[1]!
}

/** Creates an operator who signs in by a link of another one, or by its mail. */
export async function openedBy(
  { operator: admin, anonymous, inbox }: Inbox,
  post: Post,
  isMailed: boolean,
) {
  const email = `${nameOf()}@example.com`
  const input = { email, password: OPERATOR_PASSWORD }
  const { id } = await created(admin.post('/admin/operators', input))
  const path = `/admin/operators/${id}`
  if (isMailed) assert.equal((await post(`${path}/invitation`)).status, 202)
  const tokenOfLink = async () => TOKEN.exec((await created(post(`${path}/link`))).url)![1]
  const token = isMailed ? await mailedToken(inbox) : await tokenOfLink()
  const opened = await anonymous.post('/console/session', { token })
  assert.equal(opened.status, 201, opened.text)
  const headers = { cookie: cookieOf(opened), 'x-gatehook-console': '1' }
  return {
    post: (at: string, body: object = {}) => anonymous.post(at, body, headers),
    status: async () => (await anonymous.get('/admin/operators', headers)).status,
    signIn: () => anonymous.post('/console/session', input),
  }
}
