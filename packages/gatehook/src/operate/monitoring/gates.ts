/**
 * The gates of a request: the steps of the pipeline in their order, and which of them refused it.
 * Names and order of the head steps come from `pipeline.ts`. Pure.
 */
import type { Kind } from '../../protocol/http/call.ts'
import { STAGES } from '../../protocol/http/exchange.ts'
import type { RequestRecord } from './request-record.ts'

export interface Gate {
  readonly step: string
  readonly outcome: 'passed' | 'refused' | 'not_reached'
  readonly facts: Readonly<Record<string, unknown>>
}

/** Returns the scope that an operation requires, by its route template. */
export type RequiredScope = (method: string, route: string) => string | undefined

export type HeadStepNames = Readonly<Record<Kind, readonly string[]>>

/** Gates before the head steps, and after them. */
const FIRST = ['parse'] as const
const LAST = ['route', 'body', 'fields', 'repeat', 'conditions', 'handler'] as const

/** The gate within the handler that a code belongs to; other codes concern `handler`. */
const HANDLER_GATES: Readonly<Record<string, (typeof LAST)[number]>> = {
  validation_failed: 'fields',
  invalid_parameter: 'fields',
  unknown_parameter: 'fields',
  pagination_conflict: 'fields',
  invalid_cursor: 'fields',
  cursor_mismatch: 'fields',
  idempotency_key_required: 'repeat',
  invalid_idempotency_key: 'repeat',
  idempotency_in_progress: 'repeat',
  idempotency_key_reused: 'repeat',
  precondition_failed: 'conditions',
}

/** Returns the name of the gate that a request reached last. */
function reachedGate(
  { stage, error }: Pick<RequestRecord, 'stage' | 'error'>,
  headSteps: readonly string[],
): string {
  switch (stage) {
    case STAGES.parse:
      return FIRST[0]
    case STAGES.route:
      return 'route'
    case STAGES.body:
      return 'body'
    case STAGES.handler:
      return HANDLER_GATES[error ?? ''] ?? 'handler'
    default:
      return headSteps[stage] ?? 'handler'
  }
}

/** Returns all gates of a request with their outcomes. */
export function gatesOf(
  record: RequestRecord,
  names: HeadStepNames,
  requiredScope: RequiredScope,
): Gate[] {
  const headSteps = names[record.kind] ?? []
  const steps = [...FIRST, ...headSteps, ...LAST]
  const reached = steps.indexOf(reachedGate(record, headSteps))
  const isRefused = record.status === null || record.status >= 400
  return steps.map((step, at) => {
    const outcome = at < reached ? 'passed' : at > reached ? 'not_reached' : resultOf(isRefused)
    const facts = factsOf(step, outcome, record)
    const scope = step === 'authorize' ? requiredScope(record.method, record.route) : undefined
    return { step, outcome, facts: { ...facts, ...(scope !== undefined && { scope }) } }
  })
}

const resultOf = (isRefused: boolean) => (isRefused ? 'refused' : 'passed')

/** Returns the facts of a gate. The body of the response has the details of a refusal. */
function factsOf(
  step: string,
  outcome: Gate['outcome'],
  { error, status, version, caller_kind: kind, route, method, ...ids }: RequestRecord,
): Gate['facts'] {
  if (outcome === 'refused') return { error, status }
  if (outcome === 'not_reached') return {}
  switch (step) {
    case 'defaultVersion':
      return { version }
    case 'authenticate':
      return kind === null ? {} : { kind, id: ids.caller_id ?? ids.key_id ?? ids.client_id }
    case 'route':
      return { method, route }
    default:
      return {}
  }
}
