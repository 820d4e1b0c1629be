/**
 * A whole app with a client and a person, and a browser that stores cookies, submits forms and
 * follows no redirect by itself.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Kind } from '../../../../test/rig/databases.ts'
import { type Caller, openService, type TestAppOptions } from '../../../../test/rig/service.ts'
import type { App } from '../../src/app.ts'
import { GRANT_TYPES } from '../../src/identity/oauth/client.ts'

export const PASSWORD = 'correct horse battery'
export const CALLBACK = 'https://app.example/callback'
export const VERIFIER = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
export const STATE = 'state & more'

export interface Client {
  readonly client_id: string
  readonly client_secret: string
  readonly [more: string]: unknown
}

export interface Person {
  readonly id: number
  readonly email: string
}

export interface OauthFixture {
  readonly app: App
  /** The database, which another app can open. */
  readonly url: string
  /** Sends the key of an administrator. */
  readonly admin: Caller
  /** Sends no credential. */
  readonly anonymous: Caller
  readonly client: Client
  readonly person: Person
  createClient(members?: Record<string, unknown>): Promise<Client>
  createPerson(members?: Record<string, unknown>): Promise<Person>
}

/** Opens an app with a confidential client and a person in the live mode of `default`. */
export async function openOauthFixture(
  t: TestContext,
  kind: Kind,
  options: TestAppOptions = {},
): Promise<OauthFixture> {
  const service = await openService(t, kind, options)
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  let personCount = 0
  const createClient: OauthFixture['createClient'] = async (members = {}) => {
    const name = 'An app'
    const scopes = ['users:read', 'orders:read', 'orders:write']
    // Both kinds of grants; a public client has those with a person only.
    const grants = members.public === true ? {} : { grant_types: GRANT_TYPES }
    const body = { name, redirect_uris: [CALLBACK], scopes, ...grants, ...members }
    const reply = await admin.post('/admin/clients', body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const createPerson: OauthFixture['createPerson'] = async (members = {}) => {
    const email = `person${++personCount}@example.com`
    const body = { name: 'A person', email, password: PASSWORD, ...members }
    const reply = await admin.post('/admin/users', body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const [client, person] = [await createClient(), await createPerson()]
  const { app, url } = service
  return {
    app,
    url,
    admin,
    anonymous: service.as(undefined),
    client,
    person,
    createClient,
    createPerson,
  }
}

export interface Page {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  /** The target of a redirect. */
  readonly location: URL | undefined
}

export interface TestBrowser {
  get(path: string, headers?: Record<string, string>): Promise<Page>
  /** Submits the form of a page. */
  submit(page: Page, fields: Record<string, string>): Promise<Page>
  post(
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Page>
  readonly cookies: Map<string, string>
}

/** Opens a browser without cookies. */
export function openBrowser(app: App): TestBrowser {
  const cookies = new Map<string, string>()
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Page> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await app.inject({
      method,
      url: path,
      headers: {
        host: 'localhost',
        ...(cookie && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(body !== undefined && { payload: body }),
    })
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const { location } = reply.headers
    return {
      status: reply.statusCode,
      text: reply.body,
      headers: reply.headers as Record<string, string>,
      location: location === undefined ? undefined : new URL(location, 'http://self.invalid'),
    }
  }
  const post: TestBrowser['post'] = (path, fields, headers) =>
    send('POST', path, new URLSearchParams(fields).toString(), headers)
  return {
    cookies,
    get: (path, headers) => send('GET', path, undefined, headers),
    post,
    submit(page, fields) {
      const path = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
      const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1]
      assert(path && ticket, page.text)
      return post(path, { ticket, ...fields })
    },
  }
}

/** Returns the path of a valid request, changed by `more`; `null` omits a parameter. */
export function authorizePath(
  client: { readonly client_id: string },
  more: Record<string, string | null> = {},
): string {
  const all: Record<string, string | null> = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    state: STATE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...more,
  }
  const entries = Object.entries(all).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return `/oauth/authorize?${new URLSearchParams(entries)}`
}

/** Follows a redirect to this server. */
export async function follow(browser: TestBrowser, page: Page): Promise<Page> {
  assert.equal(page.status, 303, page.text)
  return browser.get(page.location!.pathname + page.location!.search)
}

/** Signs in, allows the request, and returns the redirect to the application. */
export async function grantConsent(
  browser: TestBrowser,
  path: string,
  person: Person,
  password = PASSWORD,
): Promise<Page> {
  const form = await browser.get(path)
  assert.equal(form.status, 200, form.text)
  const fields = { username: person.email, password, action: 'sign-in' }
  const page = await follow(browser, await browser.submit(form, fields))
  if (page.status === 303) return page
  assert.match(page.text, /name="action" value="allow"/)
  return browser.submit(page, { action: 'allow' })
}

/** Returns a code for a client; the person consents in a new browser. */
export async function obtainCode(
  { app, person, client }: OauthFixture,
  more: Record<string, string | null> = {},
  recipient: { client_id: string } = client,
): Promise<string> {
  const back = await grantConsent(openBrowser(app), authorizePath(recipient, more), person)
  const code = back.location?.searchParams.get('code')
  assert(code, back.location?.href ?? back.text)
  return code
}

export const basicOf = ({ client_id, client_secret }: Client) => ({
  authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
})

/** Posts a form; `null` omits a parameter. */
export function form(
  caller: Caller,
  path: string,
  fields: Record<string, string | null>,
  headers: Record<string, string> = {},
) {
  const entries = Object.entries(fields).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return caller.post(path, new URLSearchParams(entries).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    ...headers,
  })
}

/** Exchanges a code as its own client, with changed `fields`. */
export const exchange = (
  { anonymous, client }: OauthFixture,
  code: string,
  fields: Record<string, string | null> = {},
  headers: Record<string, string> = basicOf(client),
) =>
  form(
    anonymous,
    '/oauth/token',
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
      ...fields,
    },
    headers,
  )
