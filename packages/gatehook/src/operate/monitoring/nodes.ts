/**
 * The nodes of an installation (`GET /admin/system`). On SQLite one process
 * serves: other rows are of runs that ended without notice.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  deleteNode,
  GONE_AFTER_MS,
  listNodes,
  listRunningNodes,
  type RunningNode,
  storeNode,
} from '../../platform/storage/running-nodes.ts'
import { NODE_SLOTS } from './position.ts'

/** A node that ended without notice is listed for this time (§18.10). */
const LISTED_MS = 60_000

type NodeRole = 'all' | 'serve' | 'deliver'

/** The role and the state that a node stores. */
export interface NodeFacts {
  readonly role: NodeRole
  /** Epoch milliseconds. */
  readonly since: number
  readonly release: string
  readonly ready: boolean
  /** How long its oldest due delivery waits for the node, and for no receiver or customer. */
  readonly queueAgeMs: number
  readonly inFlight: number
}

export interface NodeState extends NodeFacts {
  readonly id: string
  /** `GATEHOOK_NODE_NAME`. */
  readonly name: string
  readonly state: 'ready' | 'not_ready' | 'gone'
  readonly seenAt: number
}

interface NodeRegistryOptions {
  readonly db: Database
  readonly clock: Clock
  /** Identifies this run of this process. */
  readonly node: string
  /** Returns the name of this node, and what it uses. */
  readonly describeUse: () => Pick<RunningNode, 'name' | 'columns' | 'keyIds'>
  readonly describe: () => Promise<NodeFacts>
}

export interface NodeRegistry {
  /** The slot of this node in positions of requests. */
  slot(): number
  heartbeat(): Promise<void>
  list(): Promise<NodeState[]>
  /** Deletes this node's row. */
  leave(): Promise<void>
}

const stateOf = (facts: NodeFacts, seenAt: number, now: number): NodeState['state'] => {
  if (now - seenAt > GONE_AFTER_MS) return 'gone'
  return facts.ready ? 'ready' : 'not_ready'
}

export function createNodeRegistry(options: NodeRegistryOptions): NodeRegistry {
  const { db, clock, node, describe, describeUse } = options
  let slot: number | undefined
  const own = async (): Promise<NodeState> => {
    const facts = await describe()
    const now = clock.now()
    const { name } = describeUse()
    return { ...facts, id: node, name, state: stateOf(facts, now, now), seenAt: now }
  }
  /** Takes the lowest slot that no node uses; two that start at once may take the same. */
  const takeSlot = async () => {
    if (!db.dialect.shared) return 0
    const others = (await listRunningNodes(db, clock.now())).filter(({ id }) => id !== node)
    const used = new Set(others.map((other) => other.slot))
    return Array.from({ length: NODE_SLOTS }, (_, at) => at).find((at) => !used.has(at)) ?? 0
  }
  return {
    slot: () => slot ?? 0,
    async heartbeat() {
      slot ??= await takeSlot()
      const { id, name, seenAt, state, ...facts } = await own()
      await storeNode(db, { ...describeUse(), id, slot, facts: JSON.stringify(facts), seenAt })
    },
    async list() {
      const current = await own()
      if (!db.dialect.shared) return [current]
      const now = clock.now()
      const others = (await listNodes(db, now - LISTED_MS)).filter(({ id }) => id !== node)
      const states = others.map(({ id, name, facts: text, seenAt }): NodeState => {
        const facts = JSON.parse(text) as NodeFacts
        return { ...facts, id, name, seenAt, state: stateOf(facts, seenAt, now) }
      })
      return [current, ...states]
    },
    async leave() {
      if (slot === undefined) return
      await deleteNode(db, node, clock.now() - LISTED_MS)
    },
  }
}
