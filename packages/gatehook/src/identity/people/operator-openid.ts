/**
 * Operators sign in with OpenID Connect (§16.9), in the order in which it happens:
 *
 * 1. `GET /console/oidc` stores the secrets of the request in a cookie, and leads to the provider.
 * 2. The provider returns the browser there. The code is exchanged, and the groups give the role.
 * 3. While the session lives, its requests read the groups again: one node, once in a while. The
 *    session ends without an answer, or without a group.
 *
 * The identity is issuer and subject. An operator with a password and that address is another one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Log } from '../../kernel/log.ts'
import { sha256, type Vault } from '../../kernel/secret.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { type Answer, type Call, type Route, route } from '../../protocol/http/call.ts'
import { readCookie, setCookie } from '../../protocol/http/cookies.ts'
import { html } from '../../protocol/http/html.ts'
import { PAGE_HEADERS, renderPage } from '../../protocol/http/html-page.ts'
import type { Administration } from '../access/administration.ts'
import {
  createSessionOpener,
  SESSION_LIFE_MS,
  type SignInDeps,
  sessionCookie,
} from './console-sign-in.ts'
import { endOperatorAccess } from './operator-access.ts'
import {
  isRefusal,
  type OperatorProvider,
  type ProviderFlow,
  type ProviderOperator,
  type ProviderTokens,
} from './operator-provider.ts'
import * as store from './operator-store.ts'
import { endWiderAccess } from './operators.ts'
import { PROVIDER_PURPOSE } from './tables.ts'

export const OPENID_PATH = '/console/oidc'
const COOKIE = 'gatehook_oidc'
const FLOW_PURPOSE = 'operator-flow'
const FLOW_LIFE_MS = 10 * 60_000
/** A request reads the groups again after this time. */
const READ_AFTER_MS = 5 * 60_000
/** After this time a session without another reading has ended. */
const OVERDUE_MS = 15 * 60_000
/** Another node reads after this time: the first one may have ended. */
const READING_MS = 20_000
const WAIT_MS = 200
const ACTOR = { kind: 'system', id: 'operators' } as const

interface OpenidDeps extends Pick<SignInDeps, 'admin' | 'passwords'> {
  readonly provider: OperatorProvider
  readonly issuer: string
  readonly vault: Vault
  readonly log: Pick<Log, 'warn'>
}

type ReadRow = Pick<store.ConsoleSessionRow, 'claims_read_at'>

export interface OperatorOpenid {
  /** The configured issuer. */
  readonly issuer: string
  /** Whether an operator is of the provider that is configured now. */
  hasIssuer(issuer: string): boolean
  readonly routes: readonly Route[]
  /** Whether a request of a session reads the groups again first. */
  isDue(row: ReadRow): boolean
  /** Whether the groups of a session must be read before it permits anything. */
  isOverdue(row: ReadRow): boolean
  /** Reads the groups of a session again. Without a group, the session ends. */
  readGroups(row: store.ConsoleSessionRow, token: string): Promise<void>
}

/** A sign-in that the server rejects. The log has the cause, the browser one sentence. */
class SignInRefused extends Error {}

const NOT_DONE = 'The sign-in did not succeed. The log of the server has the reason.'
const NO_GROUP = 'no group'
const NO_ROLE = 'Your account at the identity provider has no role in this console.'

const refusalPage = (sentence: string): Answer =>
  renderPage({
    title: 'Not signed in',
    status: 403,
    body: html`<main>
<h1>Not signed in</h1>
<p>${sentence}</p>
<p><a href="/console">To the sign-in page of the console</a></p>
</main>`,
  })

const causeOf = (error: unknown): string => {
  const { message = String(error), cause } = error as { message?: string; cause?: unknown }
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

const rowOf = (hash: Buffer): string => hash.toString('base64url')

export function createOperatorOpenid(deps: OpenidDeps): OperatorOpenid {
  const { vault, issuer } = deps
  const { clock } = deps.admin
  const readings = new Map<string, Promise<void>>()

  const begin = async (call: Call, path: string, isSilent: boolean): Promise<Answer> => {
    const { location, flow } = await ask(deps, (provider) => provider.begin(isSilent))
    const text = JSON.stringify({ ...flow, path, expiresAt: clock.now() + FLOW_LIFE_MS })
    const value = vault.encrypt(FLOW_PURPOSE, COOKIE, text).toString('base64url')
    return redirect(location, [setFlow(call, value, FLOW_LIFE_MS)])
  }
  const readFlow = (call: Call): ProviderFlow & { readonly path: string } => {
    try {
      const sealed = Buffer.from(readCookie(call, COOKIE) ?? '', 'base64url')
      const flow = JSON.parse(vault.decrypt(FLOW_PURPOSE, COOKIE, sealed).toString())
      if (flow.expiresAt > clock.now()) return flow
    } catch {
      // another browser, or no sign-in of this server
    }
    throw new SignInRefused(NOT_DONE)
  }
  const handle = async (call: Call): Promise<Answer> => {
    const { query } = call
    const isResponse = query.has('code') || query.has('error')
    if (!isResponse) {
      return begin(call, returnPath(query.get('return')), query.get('prompt') === 'none')
    }
    const flow = readFlow(call)
    // The provider displays no page to an operator who is not signed in there.
    if (flow.isSilent && query.has('error')) return begin(call, flow.path, false)
    const search = new URLSearchParams(query.entries.map(([name, value]) => [name, value]))
    const operator = await ask(deps, (provider) => provider.finish(String(search), flow))
    const token = await signIn(deps, call, operator)
    const cookies = [sessionCookie(call, token, SESSION_LIFE_MS), setFlow(call, '', 0)]
    return redirect(flow.path, cookies)
  }

  const isOlder = ({ claims_read_at: at }: ReadRow, ageMs: number) =>
    at !== null && clock.now() - at >= ageMs
  const isOverdue = (row: ReadRow) => isOlder(row, OVERDUE_MS)
  return {
    issuer,
    hasIssuer: (text) => new URL(text).href === new URL(issuer).href,
    routes: [
      route(OPENID_PATH, {
        GET: {
          handle: (call) =>
            handle(call).catch((error: unknown) => {
              if (error instanceof SignInRefused) return refusalPage(error.message)
              throw error
            }),
        },
      }),
    ],
    isDue: (row) => isOlder(row, READ_AFTER_MS),
    isOverdue,
    readGroups(row, token) {
      const reading =
        readings.get(row.id) ??
        readAgain(deps, row, token, isOverdue(row)).finally(() => readings.delete(row.id))
      readings.set(row.id, reading)
      return reading
    },
  }
}

/** Returns the page of the console to which the browser returns. */
function returnPath(text = ''): string {
  const base = 'http://localhost'
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined
  const isPage = url?.origin === base && url.pathname.startsWith('/console/')
  return isPage && url.pathname !== OPENID_PATH ? url.pathname + url.search : '/console'
}

const setFlow = (call: Call, value: string, lifeMs: number): string =>
  setCookie(call, { name: COOKIE, value, sameSite: 'lax', maxAgeS: lifeMs / 1000 })

const redirect = (location: string, cookies: readonly string[]): Answer => ({
  status: 303,
  headers: { location, ...PAGE_HEADERS },
  cookies,
})

/** Sends a question to the provider. Throws `SignInRefused`; the log has the cause. */
async function ask<T>(
  { provider, issuer, log }: OpenidDeps,
  question: (provider: OperatorProvider) => Promise<T>,
): Promise<T> {
  try {
    return await question(provider)
  } catch (error) {
    log.warn({ issuer, cause: causeOf(error) }, 'an operator could not sign in')
    throw new SignInRefused(NOT_DONE)
  }
}

/** Opens the session of an operator, whose row follows the provider. Returns its token. */
async function signIn(deps: OpenidDeps, call: Call, operator: ProviderOperator): Promise<string> {
  const { admin, vault, log } = deps
  const { email, role, issuer, subject, tokens } = operator
  if (role === undefined) {
    log.warn({ issuer, subject }, 'an operator without a group of GATEHOOK_OPERATORS_ROLES')
    await endWithoutGroup(admin, { issuer, subject })
    throw new SignInRefused(NO_ROLE)
  }
  const openSession = createSessionOpener(deps)
  return admin.write(async (tx) => {
    const identity = { issuer, subject }
    let row = await store.lockIdentity(tx, identity)
    if (!row) {
      const created_at = admin.clock.now()
      const id = createTimeOrderedId('op_', created_at, admin.random)
      const created = { id, email, folded: foldName(email), role, disabled: 0, created_at }
      // Another node may have created it since.
      if ((await store.insertOperator(tx, { ...created, password: '' }, identity)) > 0) {
        const detail = { email, role, ...identity }
        const entry = { actor: actorOf(call, ACTOR), action: 'operator.create', target: id, detail }
        await recordAudit(tx, entry, admin)
      }
      row = (await store.lockIdentity(tx, identity))!
    }
    if (row.disabled !== 0) {
      log.warn({ issuer, subject, operator: row.id }, 'a disabled operator')
      throw new SignInRefused(NO_ROLE)
    }
    await follow(tx, admin, row, { email, role })
    const session = await openSession(tx, call, {
      operator: { ...row, email },
      isVerified: true,
      provider: { issuer, encrypt: (hash) => encryptTokens(vault, hash, tokens) },
    })
    return session.token
  })
}

/**
 * Ends what an operator has open whom the provider names without a group. A former operator can try
 * to sign in at any time: only an end is audited.
 */
async function endWithoutGroup(
  admin: Administration,
  identity: Pick<ProviderOperator, 'issuer' | 'subject'>,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockIdentity(tx, identity)
    if (!row) return
    await store.leaveGroups(tx, row.id)
    if ((await endOperatorAccess(admin, tx, row.id)) === 0) return
    const entry = { actor: ACTOR, action: 'operator.session_end', target: row.id }
    await recordAudit(tx, { ...entry, detail: { cause: NO_GROUP } }, admin)
  })
}

const encryptTokens = (vault: Vault, hash: Buffer, tokens: ProviderTokens): Uint8Array =>
  vault.encrypt(PROVIDER_PURPOSE, rowOf(hash), JSON.stringify(tokens))

/** Stores the role and the address that the provider says now. */
async function follow(
  tx: Parameters<typeof store.updateIdentity>[0],
  admin: Administration,
  row: Pick<store.OperatorRow, 'id' | 'email' | 'role' | 'in_group'>,
  { email, role }: Pick<store.OperatorRow, 'email' | 'role'>,
): Promise<void> {
  if (row.email !== email || row.role !== role || row.in_group === 0) {
    await store.updateIdentity(tx, { id: row.id, email, folded: foldName(email), role })
  }
  if (row.role === role) return
  await endWiderAccess(admin, tx, row, role)
  const entry = { actor: ACTOR, action: 'operator.role', target: row.id, detail: { role } }
  await recordAudit(tx, entry, admin)
}

/** Reads the groups of a session again; one node does, and the others wait for it. */
async function readAgain(
  deps: OpenidDeps,
  row: store.ConsoleSessionRow,
  token: string,
  isOverdue: boolean,
): Promise<void> {
  const { admin, vault, provider, log } = deps
  const { db, clock } = admin
  const isOurs = await db.write((tx) => store.claimReading(tx, row, clock.now(), READING_MS))
  if (!isOurs) {
    for (let waitedMs = 0; isOverdue && waitedMs < READING_MS; waitedMs += WAIT_MS) {
      if ((await store.findReading(db, row.id)) !== row.claims_read_at) return
      await sleep(WAIT_MS)
    }
    return
  }
  const hash = sha256(token)
  const sealed = Buffer.from(row.provider_tokens!)
  const text = vault.decrypt(PROVIDER_PURPOSE, rowOf(hash), sealed).toString()
  const tokens = JSON.parse(text) as ProviderTokens
  const result = await provider
    .readAgain(tokens, row.subject!)
    .catch((error: unknown) => ({ error, role: undefined }))
  const { role } = result
  if (role !== undefined) {
    const { email, tokens: newTokens } = result as ProviderOperator
    await db.write(async (tx) => {
      const current = await store.lockOperatorById(tx, row.operator!)
      // The claims of a refresh may lack the address.
      if (current) await follow(tx, admin, current, { email: current.email || email, role })
      await store.finishReading(tx, row.id, encryptTokens(vault, hash, newTokens), clock.now())
    })
    return
  }
  const cause = 'error' in result ? causeOf(result.error) : NO_GROUP
  log.warn({ operator: row.operator, cause }, 'the groups of an operator were not read')
  // Later requests read again, until the groups are overdue: the provider may be restarting.
  if ('error' in result && !isRefusal(result.error) && !isOverdue) return
  const isRemoved = !('error' in result) || tokens.refresh !== undefined
  await db.write(async (tx) => {
    await store.lockOperatorById(tx, row.operator!)
    if (!(await store.deleteSessionById(tx, row.id))) return
    if (isRemoved) {
      await store.leaveGroups(tx, row.operator!)
      await endOperatorAccess(admin, tx, row.operator!)
    }
    const entry = { actor: ACTOR, action: 'operator.session_end', target: row.id }
    await recordAudit(tx, { ...entry, detail: { cause } }, admin)
  })
}
