/** Finds the nodes that are ready and to which no balancer sends requests (§18.10). Pure. */
import type { NodeState } from './nodes.ts'

/** The balancer may still ignore a node that has started since. */
const RUNS_MS = 6 * 60_000
/** Requests of another node from which a node without any is left out. */
const REQUESTS_MIN = 1_000

type ServingNode = Pick<NodeState, 'name' | 'role' | 'state' | 'since' | 'recentRequests'>

interface LeftOut {
  readonly node: string
  readonly message: string
  /** Its last request, or its start; epoch milliseconds. */
  readonly since: number
}

export function findLeftOut(nodes: readonly ServingNode[], now: number): readonly LeftOut[] {
  const serving = nodes.filter(({ role, state }) => role !== 'deliver' && state === 'ready')
  const most = Math.max(0, ...serving.map(({ recentRequests }) => recentRequests?.count ?? 0))
  if (most < REQUESTS_MIN) return []
  return serving.flatMap(({ name, since, recentRequests }) => {
    if (recentRequests?.count !== 0 || now - since < RUNS_MS) return []
    const message = `${name} ${SENTENCE} ${most}. ${ADVICE}`
    return [{ node: name, message, since: recentRequests.lastMs ?? since }]
  })
}

const SENTENCE = 'is ready and had no request of a caller for five minutes, while another node had'
const ADVICE =
  'If a balancer leaves it out, look at the state of this server there (its checks, its ' +
  'maintenance state, its address). If it only waits for the others to fail, or clients keep ' +
  'their connections to another node, put the notice off.'
