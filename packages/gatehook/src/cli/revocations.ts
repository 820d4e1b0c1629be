/**
 * Applies the revocations since a backup to restored data, from an export of the audit trail
 * (§18.5). Each action is the operation that an operator would repeat.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { App } from '../app.ts'
import type { AuditRow } from '../history/audit/chain.ts'
import { ChainError } from '../history/audit/chain-writer.ts'
import { revokeConsent } from '../identity/oauth/consent-revocation.ts'
import { setOperatorPassword } from '../identity/people/operators.ts'
import { describeFileError } from '../kernel/files.ts'
import type { Scope } from '../kernel/principal.ts'
import { systemRandom } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import { noteAppliedRevocations } from '../operate/restore/state.ts'
import { sql } from '../platform/storage/sql.ts'
import { type Api, ApiError, withLocalApi } from './api.ts'
import { configOf, type Input } from './command.ts'
import { CommandError } from './errors.ts'
import { cliActor } from './installation.ts'

interface Installation {
  readonly api: Api
  readonly app: App
  readonly accessTokenTtlS: number
}

interface Entry {
  /** Epoch milliseconds. */
  readonly at: number
  readonly target: string
  // biome-ignore lint/suspicious/noExplicitAny: each action has details of its own
  readonly detail: any
}

type Apply = (installation: Installation, entry: Entry) => Promise<unknown>

/** A password that fits no text: its owner must reset it. */
const newPassword = () => systemRandom().bytes(32).toString('base64url')

const send =
  (method: string, path: (target: string) => string, body?: (detail: Entry['detail']) => unknown) =>
  ({ api }: Installation, { target, detail }: Entry) =>
    api.request(method, path(encodeURIComponent(target)), body?.(detail))

const keyPath = (id: string) => `/admin/keys/${id}`
const clientPath = (id: string) => `/admin/clients/${id}`
const personPath = (id: string) => `/admin/users/${id}`
const operatorPath = (id: string) => `/admin/operators/${id}`
const resetPassword = send(
  'PUT',
  (id) => `${personPath(id)}/password`,
  () => ({
    password: newPassword(),
  }),
)
const endSession: Apply = ({ app }, { target }) =>
  app.db.write((tx) => app.tokens.revokeSession(tx, target))

/** The trail has no end of a token: no token lives longer than this. */
const revokeToken: Apply = ({ app, accessTokenTtlS }, { at, target: jti }) =>
  app.db.write((tx) =>
    app.tokens.revokeAccessToken(tx, { jti, exp: Math.ceil(at / 1000) + accessTokenTtlS }),
  )

const sendToWebhook =
  (method: string, body?: unknown): Apply =>
  async ({ api }, { target }) => {
    const { customer, mode } = await api.request('GET', `/admin/webhooks/${target}`)
    await api.request(method, `/admin/as/${customer}/${mode}/webhooks/${target}`, body)
  }

const disableWebhook = sendToWebhook('PATCH', { active: false })

const replaceSigningKeys: Apply = ({ app }) => app.tokens.replaceSigningKeys(cliActor())

/** By action of the audit trail. The others take nothing from a credential or a receiver. */
export const applications: Readonly<Record<string, Apply>> = {
  'key.revoke': send('DELETE', keyPath),
  // The restored data has the former secret only.
  'key.roll': send('DELETE', keyPath),
  'key.update': send('PATCH', keyPath, ({ widened: _, ...patch }) => patch),
  'client.delete': send('DELETE', clientPath),
  'client.rotate_secret': send(
    'POST',
    (id) => `${clientPath(id)}/rotate-secret`,
    () => ({
      overlap_seconds: 0,
    }),
  ),
  'client.update': send('PATCH', clientPath, (patch) => patch),
  'consent.revoke': ({ app }, { target, detail }) => endConsent(app, target, detail.subject),
  'customer.update': async (installation, entry) => {
    if (entry.detail.suspended === undefined) return
    const { suspended } = entry.detail
    await send(
      'PATCH',
      (id) => `/admin/customers/${id}`,
      () => ({ suspended }),
    )(installation, entry)
  },
  'operator.disable': send('PATCH', operatorPath, () => ({ disabled: true })),
  'operator.enable': send('PATCH', operatorPath, () => ({ disabled: false })),
  'operator.role': send('PATCH', operatorPath, ({ role }) => ({ role })),
  'operator.second_factor_reset': send('DELETE', (id) => `${operatorPath(id)}/second-factor`),
  'operator.password': ({ app }, { target }) => resetOperatorPassword(app, target),
  'person.update': send('PATCH', personPath, (patch) => patch),
  'person.password': resetPassword,
  'person.password_reset': resetPassword,
  'person.remove': send('PATCH', personPath, () => ({ disabled: true })),
  'session.end': endSession,
  'session.end_all': send('DELETE', (id) => `${personPath(id)}/sessions`),
  'token.reuse_detected': endSession,
  'code.reuse_detected': endSession,
  'token.revoke': revokeToken,
  'webhook.delete': sendToWebhook('DELETE'),
  'webhook.disable': disableWebhook,
  // The trail has the host of a new URL alone: no event goes to the former one.
  'webhook.update': async (installation, entry) => {
    const { host, active } = entry.detail
    if (host !== undefined || active === false) await disableWebhook(installation, entry)
  },
  'signing_key.rotate': replaceSigningKeys,
  'signing_key.replace': replaceSigningKeys,
}

async function endConsent(app: App, clientId: string, subject: string): Promise<void> {
  const { db, administration, tokens } = app
  const client = await db.get(sql`SELECT scope FROM gh_clients WHERE id = ${clientId}`)
  if (!client) return
  const consent = { scope: client.scope as Scope, subject, clientId }
  await revokeConsent({ ...administration, db, tokens }, consent, cliActor())
}

async function resetOperatorPassword(app: App, id: string): Promise<void> {
  const row = await app.db.get(sql`SELECT email FROM gh_operators WHERE id = ${id}`)
  if (!row) return
  const password = { password: newPassword() }
  await setOperatorPassword(app.administration, app.hasher, row.email, password, cliActor())
}

/** Reads an export: a JSON object in each line. Throws `CommandError` for another file. */
async function* readExport(file: string): AsyncGenerator<AuditRow> {
  let line = 0
  try {
    for await (const text of createInterface({ input: createReadStream(file, 'utf8') })) {
      line++
      yield JSON.parse(text)
    }
  } catch (error) {
    const isSyntax = error instanceof SyntaxError
    if (!isSyntax && !(error as NodeJS.ErrnoException).code) throw error
    const reason = isSyntax ? `line ${line} is no JSON` : describeFileError(error)
    throw new CommandError(`${file} cannot be read: ${reason}.`)
  }
}

export interface AppliedRevocations {
  /** The rows of the export, all of which were verified. */
  readonly rows: number
  readonly applied: number
  /** Objects that were created after the backup. */
  readonly missing: number
  readonly through: string
  readonly failures: readonly string[]
}

/**
 * Verifies the whole export, then applies the rows that the database lacks. A repetition has the
 * same result. Throws `CommandError` for an export that is broken, or of another installation.
 */
export const applyRevocations = (input: Input, file: string): Promise<AppliedRevocations> =>
  withLocalApi(input, undefined, async (api, app) => {
    const report = await app.audit.verifyExport(readExport(file)).catch((error) => {
      throw error instanceof ChainError ? new CommandError(error.message) : error
    })
    let [applied, missing] = [0, 0]
    const failures: string[] = []
    const { accessTokenTtlS } = configOf(input)
    for await (const { seq, at, action, target, detail } of readExport(file)) {
      const apply = seq! > report.sharedThrough ? applications[action] : undefined
      if (!apply) continue
      try {
        await apply({ api, app, accessTokenTtlS }, { at, target, detail: JSON.parse(detail) })
        applied++
      } catch (error) {
        if (isMissing(error)) missing++
        else failures.push(`${action} of ${target}: ${(error as Error).message}`)
      }
    }
    const { rows, lastAt } = report
    const result = { rows, applied, missing, through: isoTime(lastAt), failures }
    if (failures.length === 0) await settle(app, result)
    return result
  })

const isMissing = (error: unknown): boolean =>
  (error instanceof ApiError && error.response.status === 404) ||
  (error as { code?: unknown }).code === 'not_found'

async function settle({ db, administration }: App, { failures: _, ...detail }: AppliedRevocations) {
  const entry = { actor: cliActor(), detail }
  await db.write((tx) => noteAppliedRevocations(tx, entry, administration))
}
