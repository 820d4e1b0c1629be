/**
 * The public endpoints of a customer under an operator's authority:
 * `/admin/as/{customer}/{mode}/{path}` (§13). The handler of the public path runs with a principal
 * of that customer and mode, and every change is audited. `route-table.ts` lists paths and roles.
 */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { redactUrl } from '../../kernel/log.ts'
import { type Mode, type Principal, scopeOf } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Answer, Call, Step } from '../../protocol/http/call.ts'
import { type Administration, isInstallationScope } from './administration.ts'
import { customerIdOf } from './customer-reader.ts'
import * as store from './store.ts'

/** The segments before the public path: `/admin/as/{customer}/{mode}`. */
const PREFIX_SEGMENTS = 5
const MODES: readonly string[] = ['live', 'test']

const segmentsOf = ({ path }: Pick<Call, 'path'>): readonly string[] => path.split('/')
const prefixOf = (call: Pick<Call, 'path'>): string =>
  segmentsOf(call).slice(0, PREFIX_SEGMENTS).join('/')

/**
 * Returns the function that gives a request the principal of the customer in its path. `negotiate`
 * selects the version of a request under `/api`.
 */
export function createActing({ db, scopes }: Administration, negotiate: Step) {
  // A registration stores the scopes of its maker: those that a key of the customer can hold.
  const keyScopes = new Set([...scopes].filter((scope) => !isInstallationScope(scope)))

  /** Returns the operator as a principal of the customer and mode in the path. Throws 404. */
  const actingPrincipal = async (call: Call, isApi: boolean): Promise<Principal> => {
    const [customer, mode] = segmentsOf(call).slice(3, PREFIX_SEGMENTS) as [string, string]
    // The router has rejected malformed escapes.
    const named = decodeURIComponent(customer)
    const row = MODES.includes(mode)
      ? await store.findCustomer(db, await customerIdOf(db, named))
      : undefined
    if (!row) throw new Failure('not_found', 'There is no such customer or mode.')
    const caller = call.principal!
    const { subject, name } = caller
    return {
      customer: row.id,
      mode: mode as Mode,
      scope: scopeOf(row.no, mode as Mode),
      kind: 'operator',
      subject,
      ...(name !== undefined && { name }),
      ...(row.external_id !== null && { externalId: row.external_id }),
      scopes: isApi ? scopes : keyScopes,
      caller,
    }
  }

  return async (call: Call, path: string): Promise<Answer | undefined> => {
    const isApi = path.startsWith('/api/')
    call.principal = await actingPrincipal(call, isApi)
    return isApi ? ((await negotiate(call)) ?? undefined) : undefined
  }
}

/** Returns the function that records a change of an operator for a customer, and no other one. */
export const actingRecorder = (context: AuditContext) => async (tx: Tx, call: Call) => {
  const { principal, method } = call
  if (!principal?.caller) return
  const path = redactUrl(call.path.slice(prefixOf(call).length))
  const detail = { method, path, mode: principal.mode }
  const entry = { actor: actorOf(call), action: 'customer.request', target: principal.customer }
  await recordAudit(tx, { ...entry, detail }, context)
}
