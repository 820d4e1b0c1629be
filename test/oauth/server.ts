/** Starts a server with a person, a confidential client and a public client. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openService } from '../rig/service.ts'
import type { Credentials } from './browser.ts'

export const CALLBACK = 'https://app.example/callback'
/** The redirect URI of a native app; its port may differ from the registered URI. */
export const LOOPBACK = 'http://127.0.0.1:49152/callback'

export interface OauthServer {
  readonly url: URL
  readonly credentials: Credentials
  readonly subject: string
  readonly client: { readonly client_id: string; readonly client_secret: string }
  readonly app: { readonly client_id: string }
  readonly device: { readonly client_id: string }
  /** Creates a row by the administration; returns the body of the response. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
  create(path: string, body: object): Promise<any>
  patchClient(id: string, members: object): Promise<void>
}

export async function openOauthServer(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<OauthServer> {
  const service = await openService(t, 'sqlite', { env })
  const { url } = await service.app.listen()
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const create = async (path: string, body: object) => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const scopes = ['orders:read', 'orders:write', 'tokens:introspect']
  const credentials = { username: 'ada@example.com', password: 'correct horse battery' }
  const { username: email, password } = credentials
  const person = await create('/admin/users', { name: 'Ada', email, password })
  return {
    url: new URL(url),
    credentials,
    create,
    subject: String(person.id),
    async patchClient(id, members) {
      const reply = await admin.patch(`/admin/clients/${id}`, members)
      assert.equal(reply.status, 200, reply.text)
    },
    client: await create('/admin/clients', {
      name: 'Web',
      redirect_uris: [CALLBACK],
      scopes,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    }),
    device: await create('/admin/clients', {
      name: 'TV',
      redirect_uris: [],
      scopes: ['orders:read'],
      public: true,
      grant_types: ['refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    }),
    app: await create('/admin/clients', {
      name: 'Desk',
      redirect_uris: ['http://127.0.0.1/callback'],
      scopes: ['orders:read'],
      public: true,
    }),
  }
}
