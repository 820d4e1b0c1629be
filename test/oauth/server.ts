/** A Gatehook that listens, with a person, a confidential client and a public one. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openService } from '../rig/service.ts'
import type { Visitor } from './browser.ts'

export const CALLBACK = 'https://app.example/callback'
/** Of an app on a person's machine: any port will do. */
export const LOOPBACK = 'http://127.0.0.1:49152/callback'

export interface Stage {
  readonly url: URL
  readonly visitor: Visitor
  readonly subject: string
  readonly client: { readonly client_id: string; readonly client_secret: string }
  readonly app: { readonly client_id: string }
}

export async function openStage(t: TestContext): Promise<Stage> {
  const service = await openService(t, 'sqlite')
  const { url } = await service.app.listen()
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const make = async (path: string, body: object) => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const scopes = ['orders:read', 'orders:write', 'tokens:introspect']
  const visitor = { username: 'ada@example.com', password: 'correct horse battery' }
  const { username: email, password } = visitor
  const person = await make('/admin/users', { name: 'Ada', email, password })
  return {
    url: new URL(url),
    visitor,
    subject: String(person.id),
    client: await make('/admin/clients', { name: 'Web', redirect_uris: [CALLBACK], scopes }),
    app: await make('/admin/clients', {
      name: 'Desk',
      redirect_uris: ['http://127.0.0.1/callback'],
      scopes: ['orders:read'],
      public: true,
    }),
  }
}
