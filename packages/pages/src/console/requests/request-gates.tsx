/**
 * The steps of the pipeline as gates. Order and outcome come from the server; this table joins
 * steps to a gate, and has the words of those that passed.
 */
import type { ComponentChildren } from 'preact'
import type { Gate } from '../../parts/gates.tsx'
import type { GateRow, RequestDetail } from '../api-shapes.ts'

interface GateWords {
  readonly name: string
  /** The words after a request has passed. */
  readonly passed: (request: RequestDetail) => ComponentChildren
}

const gate = (name: string, passed: GateWords['passed']): GateWords => ({ name, passed })

const transport = gate('Transport', () => 'HTTPS or loopback, a host of this service, a valid head')
const rate = gate('Rate', () => 'within the limits')
const version = gate('Version', ({ version }) =>
  version === null ? 'none on this path' : <code>{version}</code>,
)
const credential = gate('Credential', ({ credential }) => {
  if (credential === null) return 'none required'
  const kind = KINDS[credential.kind] ?? credential.kind
  return credential.name === null ? kind : `${kind}: ${credential.name}`
})
const origin = gate('Origin', () => 'not from another site')

const KINDS: Readonly<Record<string, string>> = {
  key: 'API key',
  client: 'client',
  workload: 'workload',
  person: 'person',
  application: 'application',
  operator: 'operator',
  cli: 'command line',
}

/** The gate of each step of the pipeline. A step without a row is a gate of its own name. */
const GATES: Readonly<Record<string, GateWords>> = {
  parse: transport,
  requireHttps: transport,
  requireServedHost: transport,
  preflight: transport,
  refreshState: transport,
  recognize: credential,
  authenticate: credential,
  limit: rate,
  limitVerified: rate,
  shed: rate,
  crossSite: origin,
  requestedVersion: version,
  defaultVersion: version,
  acceptable: gate('Accept', () => 'a media type that the service has'),
  rejectNoneMatch: gate('Conditions', () => 'they hold'),
  authorize: gate('Scope', ({ credential }) =>
    credential === null ? 'none required' : 'the credential has it',
  ),
  route: gate('Route', ({ method, route }) => (
    <code>
      {method} {route}
    </code>
  )),
  body: gate('Body', ({ body_bytes: bytes }) =>
    bytes === null || bytes === 0 ? 'none' : `${bytes} bytes, valid JSON`,
  ),
  fields: gate('Fields', () => 'valid'),
  repeat: gate('Repeat', () => 'not a repeated request'),
  conditions: gate('Conditions', () => 'they hold'),
  handler: gate('Handler', () => 'done'),
}

/** Returns the sentence of the server on the step that rejected the request. */
function messageOf({ answer, error }: RequestDetail): string {
  const message = (answer?.body as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message : (error ?? 'The connection ended.')
}

/** A gate has passed once all of its steps have: none behind the gate that rejected has. */
const outcomeOf = (rows: readonly GateRow[]): GateRow['outcome'] => {
  if (rows.some(({ outcome }) => outcome === 'refused')) return 'refused'
  return rows.every(({ outcome }) => outcome === 'passed') ? 'passed' : 'not_reached'
}

/** Returns the gates of a request in the order of their last step. */
export function gatesOf(request: RequestDetail): readonly Gate[] {
  const rows = new Map<string, { words: GateWords; steps: GateRow[] }>()
  for (const step of request.gates) {
    const words = GATES[step.step] ?? gate(step.step, () => '')
    const row = rows.get(words.name) ?? { words, steps: [] }
    row.steps.push(step)
    rows.set(words.name, row)
  }
  const order = Object.fromEntries(
    request.gates.map(({ step }, at) => [GATES[step]?.name ?? step, at]),
  )
  return [...rows.values()]
    .sort((a, b) => order[a.words.name]! - order[b.words.name]!)
    .map(({ words, steps }) => {
      const outcome = outcomeOf(steps)
      const sentence = outcome === 'refused' ? messageOf(request) : words.passed(request)
      return { name: words.name, outcome, sentence }
    })
}
