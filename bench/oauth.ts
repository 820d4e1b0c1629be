/**
 * Clients, persons, codes and sessions for the rows about tokens, of Gatehook and of oidc-provider,
 * and the requests with them.
 */
import { createHash } from 'node:crypto'
import { BENCH_KEY } from './data.ts'
import type { Sample } from './drive.ts'
import type { BenchRequest } from './load.ts'

export const CALLBACK = 'https://app.example/callback'
export const SCOPE = 'users:read'
const VERIFIER = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
export const PASSWORD = 'correct horse battery'
const AT_ONCE = 32

export interface Client {
  readonly id: string
  readonly secret: string
}

/** The client of contenders with configured clients. */
export const CLIENT: Client = { id: 'bench', secret: 'a secret of the bench, long enough for all' }

export async function postJson(url: string, body: unknown) {
  const headers = { 'x-api-key': BENCH_KEY, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, string>
}

const clients = new Map<string, Promise<Client>>()

/** Returns Gatehook's client at `url`; creates it on first use. */
export function clientAt(url: string): Promise<Client> {
  const grant_types = ['client_credentials', 'authorization_code', 'refresh_token']
  const body = { name: 'Bench', redirect_uris: [CALLBACK], scopes: [SCOPE], grant_types }
  const client = clients.get(url) ?? postJson(`${url}/admin/clients`, body).then(clientOf)
  clients.set(url, client)
  return client
}

const clientOf = ({ client_id, client_secret }: Record<string, string>): Client => ({
  id: client_id!,
  secret: client_secret!,
})

/** Creates a person in Gatehook who reads the rows of all, and returns the sign-in name. */
export async function personAt(url: string): Promise<string> {
  const email = `${crypto.randomUUID()}@example.com`
  const scopes = [SCOPE, 'users:all']
  await postJson(`${url}/admin/users`, { name: 'Bench', email, password: PASSWORD, scopes })
  return email
}

const form = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString()
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const basic = ({ id, secret }: Client) =>
  `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`

/** Returns a request to the token endpoint, which has the same path on all sides. */
export const formRequest = (
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
): BenchRequest => ({
  method: 'POST',
  target: '/oauth/token',
  headers: { ...FORM, ...headers },
  body: form(parameters),
})

const tokenRequest = (client: Client, parameters: Record<string, string>): BenchRequest =>
  formRequest(parameters, { authorization: basic(client) })

export const clientTokenRequest = (client: Client): BenchRequest =>
  tokenRequest(client, { grant_type: 'client_credentials', scope: SCOPE })

export const codeRequest = (client: Client, code: string): BenchRequest =>
  tokenRequest(client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
  })

/** Returns the refresh request of a session; each response has the token of the next request. */
export function refreshRequest(client: Client, token: string): BenchRequest {
  const request = tokenRequest(client, { grant_type: 'refresh_token', refresh_token: token })
  return { ...request, renewed: { value: token, member: 'refresh_token' } }
}

export async function tokensOf(
  url: string,
  request: BenchRequest,
): Promise<Record<string, string>> {
  const { method, headers, body } = request
  const response = await fetch(url + request.target, { method, headers: headers!, body: body! })
  if (response.status !== 200)
    throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, string>
}

/** Runs `create` `count` times, 32 at once, and returns the results. */
export async function many<T>(count: number, create: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let left = count
  const lane = async () => {
    while (left-- > 0) results.push(await create())
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return results
}

const browsers = new Map<string, Promise<{ headers: Record<string, string>; link: string }>>()

/** Returns authorization codes of Gatehook: a person signs in and consents once for all codes. */
export async function codesAt(url: string, count: number): Promise<string[]> {
  const opened = browsers.get(url) ?? signedIn(url)
  browsers.set(url, opened)
  const { headers, link } = await opened
  return many(count, async () => {
    const { location } = await visit(link, headers)
    const code = new URL(location ?? url).searchParams.get('code')
    if (code === null) throw new Error(`no code came back: ${location}`)
    return code
  })
}

async function signedIn(url: string) {
  const [client, username] = [await clientAt(url), await personAt(url)]
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: CALLBACK,
    scope: SCOPE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  }
  const link = `${url}/oauth/authorize?${form(parameters)}`
  const first = await visit(link, {})
  const signed = await submit(url, first, { username, password: PASSWORD, action: 'sign-in' })
  const headers = { cookie: signed.cookie }
  const page = await visit(new URL(signed.location!, url).href, headers)
  await submit(url, { ...page, cookie: signed.cookie }, { action: 'allow' })
  return { headers, link }
}

interface VisitedPage {
  readonly text: string
  readonly cookie: string
  readonly location: string | undefined
}

async function visit(
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<VisitedPage> {
  const sent = body === undefined ? {} : { method: 'POST', body }
  const response = await fetch(url, { ...sent, headers, redirect: 'manual' })
  const cookies = response.headers.getSetCookie().map((line) => line.slice(0, line.indexOf(';')))
  const location = response.headers.get('location') ?? undefined
  return { text: await response.text(), cookie: cookies.join('; '), location }
}

async function submit(url: string, page: VisitedPage, fields: Record<string, string>) {
  const path = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
  const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1]
  if (path === undefined || ticket === undefined) throw new Error(`no form: ${page.text}`)
  const headers = { ...FORM, cookie: page.cookie, origin: url }
  const next = await visit(url + path, headers, form({ ticket, ...fields }))
  return { ...next, cookie: next.cookie || page.cookie }
}

/** Checks a token response: a JWT, and a refresh token exactly if `refresh`. */
export const checkTokens =
  (refresh: boolean) =>
  (_: BenchRequest, { body }: Sample): string | undefined => {
    const { access_token, refresh_token, scope } = JSON.parse(body) as Record<string, string>
    if (access_token?.split('.').length !== 3) return `no JWT: ${access_token}`
    if (scope !== SCOPE) return `the scope is ${scope}`
    return (refresh_token !== undefined) === refresh
      ? undefined
      : 'refresh token missing or too much'
  }
