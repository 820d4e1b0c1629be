/** The stored response to a request, and what a repeat of the request gets (§11.1). */
import { type AnyCode, Failure, type FailureOptions } from '../../kernel/failure.ts'
import { hasRole, type Principal, type Role } from '../../kernel/principal.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { Answer, Call } from '../http/call.ts'

/**
 * Returns the part of a stored response that its caller may read after the loss of rights. Throws
 * a failure if the caller may not read the response.
 */
export type NarrowReplay = (call: Call, from: Reader, answer: Answer) => Promise<Answer>

/**
 * The limits of fields in responses, each a field and its scope: `orders.margin margins:read`. Only
 * the field: no response has it.
 */
export type FieldLimits = readonly string[]

/** The response to a request, or the failure that was its response. */
export type RequestOutcome =
  | { readonly answer: Answer }
  | { readonly code: AnyCode; readonly message: string; readonly options: FailureOptions }

/**
 * The permissions of a caller on which work depends. The other members of a principal are those of
 * the record's id, or the pipeline checks them for a replay as for a first request.
 */
interface CallerRights {
  readonly scopes: readonly string[]
  /** The role of an operator, also of one who acts for a customer. */
  readonly role?: Role
  /** The limits of the declaration that wrote the response. */
  readonly limits?: FieldLimits
}

export function rightsOf(principal: Principal, limits: FieldLimits = []): CallerRights {
  const { role } = principal.caller ?? principal
  return {
    scopes: [...principal.scopes],
    ...(role && { role }),
    ...(limits.length > 0 && { limits }),
  }
}

/** The stored outcome, with the permissions that the caller held. */
export type StoredOutcome = RequestOutcome & CallerRights

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Returns an outcome as text, with the bytes of a response in base64. */
export function writeOutcome(outcome: StoredOutcome): string {
  const raw = 'answer' in outcome && outcome.answer.raw
  if (!(raw instanceof Uint8Array)) return JSON.stringify(outcome)
  const { answer, ...rest } = outcome as StoredOutcome & { answer: Answer }
  return JSON.stringify({ ...rest, answer: { ...answer, raw: undefined }, bytes: toBase64(raw) })
}

export function readOutcome(text: string): StoredOutcome {
  const { bytes, ...outcome } = JSON.parse(text)
  if (bytes !== undefined) outcome.answer.raw = Buffer.from(bytes, 'base64')
  return outcome
}

/** Throws 403 `insufficient_role` for an operator whose role is a lesser one now. */
function requireStoredRole({ role }: StoredOutcome, call: Call): void {
  if (role === undefined || hasRole(rightsOf(call.principal!), role)) return
  const message = `The first request with this Idempotency-Key had the role ${role}.`
  throw new Failure('insufficient_role', message)
}

/**
 * Whether the caller lacks a scope that it had, or that a later declaration requires for a field;
 * `admin` implies every scope (§13). No scope gives a field that no response has now.
 */
function hasLostRights(stored: StoredOutcome, { principal }: Call, limits: FieldLimits): boolean {
  const lacks = (scope: string) => !principal!.scopes.has(scope)
  const isAdded = (limit: string) => !stored.limits?.includes(limit)
  const added = limits.filter(isAdded).map((limit) => limit.split(' ')[1])
  const addedScopes = added.filter((scope) => scope !== undefined)
  if (addedScopes.length < added.length) return true
  return lacks('admin') && [...stored.scopes, ...addedScopes].some(lacks)
}

/** Rejects a replay: the caller might not have got this response with its present scopes. */
const rejectNarrowed: NarrowReplay = async () => {
  const message =
    'The credential lacks a scope that it had at the first request with this Idempotency-Key, or ' +
    'that fields of the response require since; or no response has one of its fields now. The ' +
    'request was executed then; its response is not returned again.'
  throw new Failure('insufficient_scope', message)
}

export const failureOutcome = ({ code, message, options }: Failure): RequestOutcome => ({
  code,
  message,
  options,
})

/** Returns the response of an outcome, or throws its failure. */
export function answerOf(outcome: RequestOutcome): Answer {
  if ('answer' in outcome) return outcome.answer
  throw new Failure(outcome.code, outcome.message, outcome.options)
}

interface ReplayRules {
  /** Default: the caller gets 403. */
  readonly narrowReplay?: NarrowReplay | undefined
  /** The limits of the present declaration. */
  readonly limits?: FieldLimits | undefined
}

/** Returns the stored response to a repeat, or throws the stored failure. */
export async function replayOutcome(
  call: Call,
  from: Reader,
  outcome: StoredOutcome,
  { narrowReplay = rejectNarrowed, limits = [] }: ReplayRules = {},
): Promise<Answer> {
  requireStoredRole(outcome, call)
  const replayHeaders = { 'idempotent-replayed': 'true' }
  if ('answer' in outcome) {
    const isNarrowed = hasLostRights(outcome, call, limits)
    const answer = isNarrowed ? await narrowReplay(call, from, outcome.answer) : outcome.answer
    return { ...answer, headers: { ...answer.headers, ...replayHeaders } }
  }
  const headers = { ...outcome.options.headers, ...replayHeaders }
  throw new Failure(outcome.code, outcome.message, { ...outcome.options, headers })
}

export const inProgress = () =>
  new Failure('idempotency_in_progress', undefined, { headers: { 'retry-after': '1' } })
