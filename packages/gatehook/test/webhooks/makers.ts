/** Callers that register receivers, each of a customer of its own, and the acts that end them. */
import assert from 'node:assert/strict'
import { SignJWT } from 'jose'
import type { Caller, Reply, TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { createIssuerKey, GRANT, SERVER } from '../oauth/issuer-rig.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  type Client,
  form,
  grantConsent,
  openBrowser,
  PASSWORD,
  VERIFIER,
} from '../oauth/rig.ts'
import { cookieOf } from '../portal/rig.ts'

export const SCOPES = [
  'users:read',
  'users:all',
  'orders:read',
  'orders:all',
  'webhooks:read',
  'webhooks:write',
  'events:read',
] as const
const NARROW = { scopes: ['users:read'] }

/** A caller that registers receivers. */
export interface Maker {
  readonly headers: Readonly<Record<string, string>>
  /** The start of the paths of registrations. */
  readonly prefix?: string
  readonly refresh?: string
  /** The acts that end the caller, by their names. */
  readonly acts: Readonly<Record<string, Act>>
}

export interface Act {
  readonly run: () => Promise<Reply>
  /** Whether earlier registrations of the caller stay (decision 0018). */
  readonly stays?: true
  /** Whether the caller reads on. */
  readonly reads?: true
  /** Whether the refresh token stays: its tokens have fewer scopes. */
  readonly narrows?: true
}

export async function openMakerRig(service: TestApp) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const anonymous = service.as(undefined)
  const issuerKey = await createIssuerKey()
  let count = 0
  const done = async (pending: Promise<Reply>) => {
    const { status, text, body } = await pending
    assert.ok(status < 300, `${status} ${text}`)
    return body
  }
  const post = (path: string, body: unknown, headers?: Record<string, string>) =>
    done(anonymous.post(path, body, headers))
  const create = (path: string, body: unknown) => done(admin.post(path, body))
  const patch = (path: string, body: unknown) => () => admin.patch(path, body)
  const remove = (path: string) => () => admin.delete(path)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  const createPerson = async (customer: string) => {
    const email = `person${++count}@example.com`
    const body = { name: 'A person', email, password: PASSWORD, customer, scopes: SCOPES }
    const { id } = await create('/admin/users', body)
    const path = `/admin/users/${id}`
    const acts: Record<string, Act> = {
      'the person is disabled': { run: patch(path, { disabled: true }) },
      'the person loses scopes': { run: patch(path, NARROW) },
      'the person is deleted': { run: remove(path) },
    }
    return { id, email, path, acts }
  }
  const login = ({ email }: { email: string }) =>
    post('/auth/login', { username: email, password: PASSWORD })
  const createClient = async (customer: string, members: object): Promise<Client> => {
    const body = { name: 'An app', scopes: SCOPES, customer, mode: 'live', ...members }
    return create('/admin/clients', body)
  }
  const actsOnClient = ({ client_id }: Client): Record<string, Act> => {
    const path = `/admin/clients/${client_id}`
    return {
      'the client is blocked': { run: patch(path, { blocked: true }) },
      'the client is deleted': { run: remove(path) },
      'the client loses scopes': { run: patch(path, NARROW), narrows: true },
    }
  }
  const createIssuer = async (rules: readonly object[]) => {
    const issuer = `https://ci${++count}.example`
    const keys = { jwks: { keys: [issuerKey.jwk] } }
    const { id } = await create('/admin/issuers', { issuer, ...keys, rules })
    const sign = (claims: object, typ?: string) => {
      const now = Math.floor(Date.now() / 1000)
      const times = { iat: now, exp: now + 300, jti: `jti ${++count}` }
      const { alg, kid, privateKey } = issuerKey
      return new SignJWT({ iss: issuer, aud: SERVER, ...times, ...claims })
        .setProtectedHeader({ alg, kid, ...(typ !== undefined && { typ }) })
        .sign(privateKey)
    }
    return { issuer, path: `/admin/issuers/${id}`, sign }
  }
  const exchange = async (fields: Record<string, string>, headers = {}) =>
    done(form(anonymous, '/oauth/token', fields, headers))
  const nextNumber = () => ++count
  return {
    service,
    admin,
    anonymous,
    done,
    create,
    patch,
    remove,
    bearer,
    createPerson,
    login,
    createClient,
    actsOnClient,
    createIssuer,
    exchange,
    nextNumber,
  }
}

type MakerRig = Awaited<ReturnType<typeof openMakerRig>>
type OpenMaker = (rig: MakerRig, customer: string) => Promise<Maker>

const openPerson: OpenMaker = async (
  { admin, anonymous, bearer, createPerson, login },
  customer,
) => {
  const person = await createPerson(customer)
  const { access_token, refresh_token } = await login(person)
  const headers = bearer(access_token)
  const out = () => anonymous.post('/auth/logout', {}, headers)
  const password = { password: 'another horse battery' }
  const acts: Maker['acts'] = {
    ...person.acts,
    'the person signs out': { run: out, stays: true },
    'a password is set': {
      run: () => admin.put(`${person.path}/password`, password),
      stays: true,
    },
  }
  return { headers, refresh: refresh_token, acts }
}

const openBasic: OpenMaker = async ({ admin, createPerson }, customer) => {
  const { email, path, acts } = await createPerson(customer)
  const headers = { authorization: `Basic ${btoa(`${email}:${PASSWORD}`)}` }
  const run = () => admin.put(`${path}/password`, { password: 'another horse battery' })
  return { headers, acts: { ...acts, 'a password is set': { run, stays: true } } }
}

const openApplication: OpenMaker = async (
  { service, anonymous, bearer, createPerson, login, createClient, actsOnClient, exchange },
  customer,
) => {
  const person = await createPerson(customer)
  const client = await createClient(customer, { redirect_uris: [CALLBACK] })
  const browser = openBrowser(service.app)
  const back = await grantConsent(browser, authorizePath(client), person)
  const code = back.location!.searchParams.get('code')!
  const sent = { grant_type: 'authorization_code', redirect_uri: CALLBACK, code }
  const fields = { ...sent, code_verifier: VERIFIER }
  const { access_token, refresh_token } = await exchange(fields, basicOf(client))
  const own = bearer((await login(person)).access_token)
  const revoke = () => anonymous.delete(`/auth/consents/${client.client_id}`, own)
  const acts = {
    ...person.acts,
    ...actsOnClient(client),
    'the consent is revoked': { run: revoke },
  }
  return { headers: bearer(access_token), refresh: refresh_token, acts }
}

const openClient: OpenMaker = async (
  { bearer, createClient, actsOnClient, exchange },
  customer,
) => {
  const client = await createClient(customer, { grant_types: ['client_credentials'] })
  const fields = { grant_type: 'client_credentials' }
  const { access_token } = await exchange(fields, basicOf(client))
  return { headers: bearer(access_token), acts: actsOnClient(client) }
}

const openWorkload: OpenMaker = async (
  { patch, remove, bearer, createIssuer, exchange },
  customer,
) => {
  const rule = { customer, mode: 'live', scopes: SCOPES }
  const own = { ...rule, match: { repository: ['acme/leaked', 'acme/two'] } }
  const other = { ...rule, match: { repository: 'acme/shop' } }
  const { path, sign } = await createIssuer([own, other])
  const assertion = await sign({ sub: 'job', repository: 'acme/leaked', ref: 'main' })
  const { access_token } = await exchange({ grant_type: GRANT, assertion })
  const rules = (...all: object[]) => ({ run: patch(path, { rules: all }) })
  const acts: Maker['acts'] = {
    'its rule is removed': rules(other),
    'all rules are removed': rules(),
    'its rule loses scopes': rules({ ...own, ...NARROW }, other),
    'its rule takes others': rules({ ...own, match: { repository: 'acme/two' } }, other),
    'its rule takes fewer': rules({ ...own, match: { ...own.match, ref: 'prod' } }, other),
    'another rule takes it': rules({ ...other, match: { ref: 'main', sub: 'job' } }, own),
    'its rule is of the test mode': rules({ ...own, mode: 'test' }, other),
    'its issuer is deleted': { run: remove(path) },
  }
  return { headers: bearer(access_token), acts }
}

const openAgent: OpenMaker = async (
  {
    admin,
    done,
    patch,
    remove,
    bearer,
    createPerson,
    createClient,
    actsOnClient,
    createIssuer,
    exchange,
  },
  customer,
) => {
  const person = await createPerson(customer)
  const client = await createClient(customer, { grant_types: [GRANT] })
  const rule = { customer, mode: 'live', scopes: SCOPES, person: 'sub' }
  const own = { ...rule, match: { tid: 'acme' } }
  const other = { ...rule, match: { tid: 'other' } }
  const { issuer, path, sign } = await createIssuer([own, other])
  const identities = [{ issuer, sub: 'u1' }]
  await done(admin.patch(person.path, { identities }))
  const claims = { sub: 'u1', tid: 'acme', client_id: client.client_id }
  const assertion = await sign(claims, 'oauth-id-jag+jwt')
  const fields = { grant_type: GRANT, assertion }
  const { access_token } = await exchange(fields, basicOf(client))
  const rules = (...all: object[]) => ({ run: patch(path, { rules: all }) })
  const acts: Maker['acts'] = {
    ...person.acts,
    ...actsOnClient(client),
    'its rule is removed': rules(other),
    'its rule loses scopes': rules({ ...own, ...NARROW }, other),
    'its rule names persons by e-mail': rules({ ...own, person: 'email' }, other),
    'its issuer is deleted': { run: remove(path) },
    'the identity is removed': { run: patch(person.path, { identities: [] }) },
    'the identity is another': {
      run: patch(person.path, { identities: [{ issuer, sub: 'u2' }] }),
    },
  }
  return { headers: bearer(access_token), acts }
}

const openKey: OpenMaker = async ({ create, patch, remove }, customer) => {
  const body = { name: 'k', customer, mode: 'live', scopes: SCOPES }
  const { id, key } = await create('/admin/keys', body)
  const path = `/admin/keys/${id}`
  const acts: Maker['acts'] = {
    'the key is revoked': { run: remove(path), stays: true },
    'the key loses scopes': { run: patch(path, NARROW), stays: true },
  }
  return { headers: { 'x-api-key': key }, acts }
}

const openOperator: OpenMaker = async ({ service, anonymous, patch, nextNumber }, customer) => {
  const { administration, hasher } = service.app
  const actor = { kind: 'cli', id: 'test' } as const
  const email = `operator${nextNumber()}@example.com`
  const values = { email, password: PASSWORD }
  const { id } = await createOperator(administration, hasher, values, actor)
  const { path } = await createConsoleLink(administration, email, actor)
  const signIn = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
  const headers = { cookie: cookieOf(signIn), 'x-gatehook-console': '1' }
  const acts: Maker['acts'] = {
    'the operator is disabled': {
      run: patch(`/admin/operators/${id}`, { disabled: true }),
      stays: true,
    },
    'the operator has a lesser role': {
      run: patch(`/admin/operators/${id}`, { role: 'viewer' }),
      stays: true,
      reads: true,
    },
    'the operator signs out': {
      run: () => anonymous.delete('/console/session', headers),
      stays: true,
    },
  }
  return { headers, prefix: `/admin/as/${customer}/live`, acts }
}

const openAdministrator: OpenMaker = async ({ create, remove }, customer) => {
  const body = { name: 'admin', customer: 'default', mode: 'live', scopes: ['admin'] }
  const { id, key } = await create('/admin/keys', body)
  const acts: Maker['acts'] = {
    'the key is revoked': { run: remove(`/admin/keys/${id}`), stays: true },
  }
  return { headers: { 'x-api-key': key }, prefix: `/admin/as/${customer}/live`, acts }
}

const openPortalSession: OpenMaker = async ({ anonymous, create, remove }, customer) => {
  const body = { customer, mode: 'live', can: SCOPES.filter((name) => !name.endsWith(':all')) }
  const { id, url } = await create('/admin/portal-links', body)
  const token = url.split('#token=')[1]
  const opened = await anonymous.post('/portal/session', { token })
  const headers = { cookie: cookieOf(opened), 'x-gatehook-portal': '1' }
  const acts: Maker['acts'] = {
    'the link is deleted': { run: remove(`/admin/portal-links/${id}`), stays: true },
    'the session is closed': {
      run: () => anonymous.delete('/portal/session', headers),
      stays: true,
    },
  }
  return { headers, prefix: '/portal/api', acts }
}

const openPortalPerson: OpenMaker = async ({ admin, anonymous, createPerson }, customer) => {
  const { email, path, acts } = await createPerson(customer)
  const opened = await anonymous.post('/portal/session', {
    username: email,
    password: PASSWORD,
  })
  const headers = { cookie: cookieOf(opened), 'x-gatehook-portal': '1' }
  const run = () => admin.put(`${path}/password`, { password: 'another horse battery' })
  const ended = { ...acts, 'a password is set': { run, stays: true as const } }
  return { headers, prefix: '/portal/api', acts: ended }
}

/** How each kind of caller begins. */
export const MAKERS: Readonly<Record<string, OpenMaker>> = {
  'a person': openPerson,
  'a person with Basic': openBasic,
  'an application of a person': openApplication,
  'a client': openClient,
  'a workload': openWorkload,
  'an agent': openAgent,
  'a key': openKey,
  'an operator': openOperator,
  'an administrator with a key': openAdministrator,
  'a session of the portal': openPortalSession,
  'a person in the portal': openPortalPerson,
}

/** Returns the requests of a maker at a node. */
export function requestsOf({ headers, prefix = '' }: Maker, node: Pick<TestApp, 'as'>) {
  const caller: Caller = node.as(undefined)
  return {
    list: () => caller.get(`${prefix}/webhooks`, headers),
    register: (url: string) =>
      caller.post(`${prefix}/webhooks`, { url, events: ['user.*'] }, headers),
    take: (id: string, url: string) => caller.patch(`${prefix}/webhooks/${id}`, { url }, headers),
  }
}
