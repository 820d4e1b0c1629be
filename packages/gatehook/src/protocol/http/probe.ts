/**
 * Probes (§18.9): balancers and Prometheus send them at a fixed rate. They count in no rate of
 * errors, and the log has a line when the response of one changes.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Answer, Call } from './call.ts'

const METRICS_PATH = '/metrics'

export const isProbe = ({ kind, route }: Pick<Call, 'kind' | 'route'>): boolean =>
  kind === 'probe' || route === METRICS_PATH

/** URLs of probes whose last response is in memory. */
const URLS_MAX = 32

type ProbeCall = Pick<Call, 'path' | 'query' | 'failure'>

/**
 * Returns a function that returns whether the response of a probe differs from its last one: the
 * status, the code of a failure, or the reasons why a node is not ready.
 */
export function createProbeChanges(): (call: ProbeCall, answer: Answer | undefined) => boolean {
  const responses = new BoundedMap<string, string>(URLS_MAX)
  return ({ path, query, failure }, answer) => {
    const url = `${path}?for=${query.get('for') ?? ''}`
    const reasons = (failure ?? answer?.json ?? '').replace(/\d+/g, '') // a figure is no change
    const response = `${answer?.status ?? 'aborted'} ${reasons}`
    const isChanged = responses.get(url) !== response
    responses.set(url, response)
    return isChanged
  }
}
