/**
 * The pipeline as a table: rows are steps in their order, columns are the kinds of path. The
 * modules implement the steps; this table selects the steps of each kind.
 */
import type { After, Kind, Step } from './http/call.ts'
import type { Pipeline, PipelineSteps } from './http/exchange.ts'

type Cell = 'x' | '.'
type Columns = `${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell} ${Cell}`

/** The order of the columns below. */
const KINDS: readonly Kind[] = [
  'probe',
  'public',
  'api',
  'root',
  'admin',
  'oauth',
  'page',
  'unknown',
]

export interface StepsByName {
  readonly requireHttps: Step
  readonly requireServedHost: Step
  readonly preflight: Step
  readonly recognize: Step
  readonly limit: Step
  readonly crossSite: Step
  readonly explicitVersion: Step
  readonly acceptable: Step
  readonly authenticate: Step
  readonly limitVerified: Step
  readonly shed: Step
  readonly settledVersion: Step
  readonly authorize: Step
  readonly versionSignals: After
  readonly versionUsage: After
  readonly conditional: After
  readonly warnings: After
  readonly addCacheHeaders: After
  readonly urlCredential: After
  readonly corsHeaders: After
  readonly addStrictTransport: After
  readonly observe: After
}

export function createPipeline(steps: StepsByName): Pipeline {
  const table: readonly (readonly [
    phase: keyof PipelineSteps,
    columns: Columns,
    step: Step | After,
  ])[] = [
    // before the server reads the body
    //       p p a r a o p u
    //       r u p o d a a n
    //       o b i o m u g k
    ['head', 'x x x x x x x x', steps.requireHttps],
    ['head', '. x x x x x x x', steps.requireServedHost],
    ['head', '. x x x x x . x', steps.preflight],
    // the request limit precedes other work; a request without a credential counts for its address
    ['head', '. . x x x . . x', steps.recognize],
    ['head', '. x x x x x x x', steps.limit],
    ['head', '. . x x x x . .', steps.crossSite],
    ['head', '. . x . . . . x', steps.explicitVersion],
    ['head', '. . x x x . . .', steps.acceptable],
    ['head', '. . x x x . . .', steps.authenticate],
    ['head', '. . x x x . . .', steps.limitVerified],
    ['head', '. x x x x x x .', steps.shed],
    ['head', '. . x . . . . .', steps.settledVersion],
    ['head', '. . x x x . . .', steps.authorize],
    // before the server rejects a malformed request
    ['refused', '. . x x x . . x', steps.recognize],
    ['refused', '. x x x x x x x', steps.limit],
    ['refused', '. . x . . . . x', steps.explicitVersion],
    // before every response is sent
    ['out', '. . x . . . . x', steps.versionSignals],
    ['out', '. . x . . . . x', steps.versionUsage],
    ['out', '. . x x x . . .', steps.conditional],
    ['out', '. . x x x . . .', steps.warnings],
    ['out', '. . x x x x . x', steps.addCacheHeaders],
    ['out', 'x x x x x x x x', steps.urlCredential],
    ['out', '. x x x x x . x', steps.corsHeaders],
    ['out', 'x x x x x x x x', steps.addStrictTransport],
    ['out', 'x x x x x x x x', steps.observe],
  ]
  const stepsOfColumn = (at: number): PipelineSteps => {
    const steps = {
      head: [] as Step[],
      body: [] as Step[],
      refused: [] as Step[],
      out: [] as After[],
    }
    for (const [phase, columns, step] of table) {
      if (columns[at * 2] === 'x') (steps[phase] as (Step | After)[]).push(step)
    }
    return steps
  }
  return Object.fromEntries(
    KINDS.map((kind, at) => [kind, stepsOfColumn(at)]),
  ) as unknown as Pipeline
}
