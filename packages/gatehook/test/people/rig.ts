/** People of a whole app: made by the operator, signed in by password or login. */
import assert from 'node:assert/strict'
import type { Caller, Reply, TestApp } from '../../../../test/rig/service.ts'

export const PASSWORD = 'correct horse'

export const basicOf = (username: string, password: string = PASSWORD) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
})

export const bearerOf = (token: string) => ({ authorization: `Bearer ${token}` })

export interface Signing {
  /** Calls with a key of scope `admin`. */
  readonly operator: Caller
  /** Calls without a credential. */
  readonly anybody: Caller
  /** Makes a person in test mode of the default customer; fails the test where it is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
  make(name: string, more?: Record<string, unknown>): Promise<any>
  login(username: string, password?: string): Promise<Reply>
  /** The access token of a login. */
  token(username: string, password?: string): Promise<string>
}

export const mailOf = (name: string): string => `${name}@example.com`

export async function signing(service: TestApp): Promise<Signing> {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const anybody = service.as(undefined)
  const login = (username: string, password = PASSWORD) =>
    anybody.post('/auth/login', { username, password })
  return {
    operator,
    anybody,
    login,
    async make(name, more = {}) {
      const fields = { name, email: mailOf(name), password: PASSWORD, mode: 'test' }
      const made = await operator.post('/admin/users', { ...fields, ...more })
      assert.equal(made.status, 201, made.text)
      return made.body
    },
    async token(username, password) {
      const issued = await login(username, password)
      assert.equal(issued.status, 200, issued.text)
      return issued.body.access_token
    },
  }
}
