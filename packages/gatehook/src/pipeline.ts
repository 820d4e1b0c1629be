/**
 * The pipeline as a table: rows are steps in their order, columns the kinds of path. What a step
 * does stands in its room; here is only who goes through it.
 */
import type { After, Kind, Step } from './http/call.ts'
import type { Pipeline, PipelineSteps } from './http/exchange.ts'

type Mark = 'x' | '.'
type Columns = `${Mark} ${Mark} ${Mark} ${Mark} ${Mark} ${Mark} ${Mark} ${Mark}`

/** The order of the columns below. */
const kinds = [
  ...(['probe', 'public', 'api', 'root'] as const),
  ...(['admin', 'oauth', 'page', 'unknown'] as const),
] satisfies Kind[]

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
    // before the body is read
    //       p p a r a o p u
    //       r u p o d a a n
    //       o b i o m u g k
    ['head', 'x x x x x x x x', steps.requireHttps],
    ['head', '. x x x x x x x', steps.requireServedHost],
    ['head', '. x x x x x . x', steps.preflight],
    // the request limit, before any other work; what needs no credential counts for the address
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
    // before a request that is not well formed is refused
    ['refused', '. . x x x . . x', steps.recognize],
    ['refused', '. x x x x x x x', steps.limit],
    ['refused', '. . x . . . . x', steps.explicitVersion],
    // on the way out, for every answer
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
  const column = (at: number): PipelineSteps => {
    const steps = {
      ...{ head: [] as Step[], body: [] as Step[] },
      ...{ refused: [] as Step[], out: [] as After[] },
    }
    for (const [phase, columns, step] of table) {
      if (columns[at * 2] === 'x') (steps[phase] as (Step | After)[]).push(step)
    }
    return steps
  }
  return Object.fromEntries(kinds.map((kind, at) => [kind, column(at)])) as unknown as Pipeline
}
