/**
 * The pipeline as a table: rows are steps in their order, columns are the kinds of path. The
 * modules implement the steps; this table selects the steps of each kind.
 */
import type { After, Kind, Step } from './protocol/http/call.ts'
import type { Pipeline, PipelineSteps } from './protocol/http/exchange.ts'

type Cell = 'x' | '.'
type Columns = `${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell}`

/** The order of the columns below. */
const KINDS: readonly Kind[] = [
  'probe',
  'public',
  'api',
  'root',
  'admin',
  'portal',
  'mcp',
  'oauth',
  'page',
  'unknown',
]

export interface StepsByName {
  readonly requireHttps: Step
  readonly requireServedHost: Step
  readonly preflight: Step
  readonly refreshState: Step
  readonly recognize: Step
  readonly limit: Step
  readonly crossSite: Step
  readonly requestedVersion: Step
  readonly acceptable: Step
  readonly authenticate: Step
  readonly limitVerified: Step
  readonly shed: Step
  readonly defaultVersion: Step
  readonly authorize: Step
  readonly rejectNoneMatch: Step
  readonly mountPath: After
  readonly countUnspared: After
  readonly versionSignals: After
  readonly versionUsage: After
  readonly challenges: After
  readonly conditional: After
  readonly warnings: After
  readonly addCacheHeaders: After
  readonly urlCredential: After
  readonly corsHeaders: After
  readonly addStrictTransport: After
  readonly observe: After
}

type Phase = keyof PipelineSteps

/** Each row is a step: its phase, the kinds of path that run it, its name in `StepsByName`. */
const table: readonly (readonly [phase: Phase, columns: Columns, step: keyof StepsByName])[] = [
  // before the server reads the body
  //       p p a r a p m o p u
  //       r u p o d o c a a n
  //       o b i o m r p u g k
  ['head', 'x x x x x x x x x x', 'requireHttps'],
  ['head', '. x x x x x x x x x', 'requireServedHost'],
  ['head', '. x x x x . x x . x', 'preflight'],
  // a node that was idle reads what other nodes have changed, once for all requests that wait
  ['head', '. . x x x x x x . x', 'refreshState'],
  // the request limit precedes other work; a request without a credential counts for its address
  ['head', '. . x x x x x . . x', 'recognize'],
  ['head', '. x x x x x x x x x', 'limit'],
  ['head', '. . x x x x x x . .', 'crossSite'],
  ['head', '. . x . . . x . . x', 'requestedVersion'],
  ['head', '. . x x x x . . . .', 'acceptable'],
  ['head', '. . x x x x x . . .', 'authenticate'],
  ['head', '. . x x x x x . . .', 'limitVerified'],
  ['head', '. x x x x x x x x .', 'shed'],
  ['head', '. . x . . . . . . .', 'defaultVersion'],
  ['head', '. . x x x x x . . .', 'authorize'],
  ['head', '. x x x x x x x x .', 'rejectNoneMatch'],
  // before the server rejects a malformed request
  ['refused', '. . x x x x x . . x', 'recognize'],
  ['refused', '. x x x x x x x x x', 'limit'],
  ['refused', '. . x . . . x . . x', 'requestedVersion'],
  // before every response is sent
  // before the entity tag, so that the tag is that of the sent body
  ['out', '. x x x x x x x x x', 'mountPath'],
  ['out', '. . . x . . . . . .', 'countUnspared'],
  ['out', '. . x . . . . . . x', 'versionSignals'],
  ['out', '. . x . . . . . . x', 'versionUsage'],
  ['out', '. . x x x x x . . .', 'challenges'],
  ['out', '. . x x x x . . . .', 'conditional'],
  ['out', '. . x x x x . . . .', 'warnings'],
  ['out', '. . x x x x x x . x', 'addCacheHeaders'],
  ['out', 'x x x x x x x x x x', 'urlCredential'],
  ['out', '. x x x x . x x . x', 'corsHeaders'],
  ['out', 'x x x x x x x x x x', 'addStrictTransport'],
  ['out', 'x x x x x x x x x x', 'observe'],
]

/**
 * Steps that concern the caller or its connection. A request inside another one has its caller, and
 * counts once: the outer request has passed them.
 */
const OUTER_STEPS = [
  'requireHttps',
  'requireServedHost',
  'preflight',
  'refreshState',
  'recognize',
  'limit',
  'crossSite',
  'authenticate',
  'limitVerified',
  'shed',
] as const satisfies readonly (keyof StepsByName)[]

export const passed: Step = () => undefined

/** Returns the steps of requests that handlers send (`protocol/http/inner-request.ts`). */
export const innerSteps = (steps: StepsByName): StepsByName => ({
  ...steps,
  ...Object.fromEntries(OUTER_STEPS.map((name) => [name, passed])),
})

const namesOf = (phase: Phase, kind: Kind): (keyof StepsByName)[] => {
  const at = KINDS.indexOf(kind)
  return table
    .filter(([rowPhase, columns]) => rowPhase === phase && columns[at * 2] === 'x')
    .map(([, , step]) => step)
}

/** Returns the names of the steps before the body for each kind, in their order. */
export const headStepNames = (): Readonly<Record<Kind, readonly string[]>> =>
  Object.fromEntries(KINDS.map((kind) => [kind, namesOf('head', kind)])) as never

export function createPipeline(steps: StepsByName): Pipeline {
  const stepsOf = (phase: Phase, kind: Kind) => namesOf(phase, kind).map((name) => steps[name])
  const stepsOfKind = (kind: Kind): PipelineSteps => ({
    head: stepsOf('head', kind) as Step[],
    refused: stepsOf('refused', kind) as Step[],
    out: stepsOf('out', kind) as After[],
  })
  return Object.fromEntries(KINDS.map((kind) => [kind, stepsOfKind(kind)])) as unknown as Pipeline
}
