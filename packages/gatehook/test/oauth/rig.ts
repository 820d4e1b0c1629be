/**
 * A whole app with a client and a person, and a browser that is patient: it keeps cookies, reads
 * forms, follows nothing by itself.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Kind } from '../../../../test/rig/databases.ts'
import { type Caller, openService, type TestAppOptions } from '../../../../test/rig/service.ts'
import type { App } from '../../src/app.ts'

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

export interface Place {
  readonly app: App
  /** With a key that may administer. */
  readonly admin: Caller
  /** Without any credential. */
  readonly anybody: Caller
  readonly client: Client
  readonly person: Person
  makeClient(wish?: Record<string, unknown>): Promise<Client>
  makePerson(wish?: Record<string, unknown>): Promise<Person>
}

/** A confidential client and a person of the default customer's live mode. */
export async function openPlace(
  t: TestContext,
  kind: Kind,
  options: TestAppOptions = {},
): Promise<Place> {
  const service = await openService(t, kind, options)
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  let made = 0
  const makeClient: Place['makeClient'] = async (wish = {}) => {
    const name = 'An app'
    const scopes = ['users:read', 'orders:read', 'orders:write']
    const asked = { name, redirect_uris: [CALLBACK], scopes, ...wish }
    const reply = await admin.post('/admin/clients', asked)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const makePerson: Place['makePerson'] = async (wish = {}) => {
    const email = `person${++made}@example.com`
    const asked = { name: 'A person', email, password: PASSWORD, ...wish }
    const reply = await admin.post('/admin/users', asked)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const [client, person] = [await makeClient(), await makePerson()]
  const { app } = service
  return { app, admin, anybody: service.as(undefined), client, person, makeClient, makePerson }
}

export interface Page {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  /** Where it redirects to. */
  readonly location: URL | undefined
}

export interface TestBrowser {
  get(path: string, headers?: Record<string, string>): Promise<Page>
  /** Sends the form of the page it is at, with what was typed. */
  submit(page: Page, fields: Record<string, string>): Promise<Page>
  post(
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Page>
  readonly cookies: Map<string, string>
}

/** A browser with a jar of its own. */
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

/** The path of a good request, changed by `more`; `null` leaves a parameter out. */
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
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
  return `/oauth/authorize?${new URLSearchParams(kept)}`
}

/** Follows a redirect to ourselves. */
export async function follow(browser: TestBrowser, page: Page): Promise<Page> {
  assert.equal(page.status, 303, page.text)
  return browser.get(page.location!.pathname + page.location!.search)
}

/** Signs in, says yes, and gives the page that goes back to the application. */
export async function agree(
  browser: TestBrowser,
  path: string,
  person: Person,
  password = PASSWORD,
): Promise<Page> {
  const form = await browser.get(path)
  assert.equal(form.status, 200, form.text)
  const fields = { username: person.email, password, action: 'sign-in' }
  const asked = await follow(browser, await browser.submit(form, fields))
  if (asked.status === 303) return asked
  assert.match(asked.text, /name="action" value="allow"/)
  return browser.submit(asked, { action: 'allow' })
}

/** A code for a client, by a person who agrees in a new browser. */
export async function codeFor(
  { app, person, client }: Place,
  more: Record<string, string | null> = {},
  whose: { client_id: string } = client,
): Promise<string> {
  const back = await agree(openBrowser(app), authorizePath(whose, more), person)
  const code = back.location?.searchParams.get('code')
  assert(code, back.location?.href ?? back.text)
  return code
}

export const basicOf = ({ client_id, client_secret }: Client) => ({
  authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
})

/** `POST` of a form; `null` leaves a parameter out. */
export function form(
  caller: Caller,
  path: string,
  fields: Record<string, string | null>,
  headers: Record<string, string> = {},
) {
  const kept = Object.entries(fields).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return caller.post(path, new URLSearchParams(kept).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    ...headers,
  })
}

/** The exchange of a code by its own client, changed by `fields`. */
export const exchange = (
  { anybody, client }: Place,
  code: string,
  fields: Record<string, string | null> = {},
  headers: Record<string, string> = basicOf(client),
) =>
  form(
    anybody,
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
