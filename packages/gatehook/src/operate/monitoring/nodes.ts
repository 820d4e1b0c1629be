/**
 * The nodes of an installation (`GET /admin/system`): this one reports to the registry, and reads
 * the others.
 */
import type { Clock } from '../../kernel/clock.ts'
import {
  type ColumnUse,
  type DoubtedStep,
  deleteFormerNodes,
  ENDED_STAYS_MS,
  endNode,
  GONE_AFTER_MS,
  HEARTBEAT_MS,
  listFormerNodes,
  listNodes,
  listRunningNodes,
  type RunningNode,
  SIGN_MS,
  type StartFailure,
  storeNode,
  storeSign,
} from '../../platform/nodes/registry.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { LoopUse } from '../system/event-loop.ts'
import type { SuddenEnd } from '../system/heap.ts'
import type { NodeWarning } from '../system/node-warnings.ts'
import { NODE_SLOTS } from './position.ts'
import type { RecentRequests } from './recent-requests.ts'
import { sharesIdentity, withoutSucceeded } from './succeeded-nodes.ts'

/** Signs of which one is a report. */
const SIGNS = HEARTBEAT_MS / SIGN_MS

/** Former processes of a node that are counted, and for how long. */
const ENDS_WITHIN_MS = 3_600_000
const ENDS_MAX = 20

/** A node that ended without notice is listed for this time (§18.10). */
const LISTED_MS = 60_000

/** A node whose last sign is older is not ready: it may be unable to store why. */
const LATE_MS = 2 * SIGN_MS
/** The same while the clock of one of both nodes differs from that of the database. */
const UNSURE_LATE_MS = 2 * HEARTBEAT_MS

type NodeRole = 'all' | 'serve' | 'deliver'

/** Texts by name. */
type Texts = Readonly<Record<string, string>>

/** The role and the state that a node stores. */
export interface NodeFacts {
  readonly role: NodeRole
  /** Epoch milliseconds. */
  readonly since: number
  readonly release: string
  /** Its configured name, and its host and port: a later node with one of them succeeds it. */
  readonly identities?: readonly string[] | undefined
  /** Why it is not ready; empty if it is. */
  readonly reasons: readonly { readonly check: string; readonly message: string }[]
  /** Faults that it tolerates. */
  readonly warnings: readonly NodeWarning[]
  /** The step of its clock that it doubts and follows all the same. */
  readonly doubt?: DoubtedStep | undefined
  /** Of its main thread; undefined until it has run for some seconds. */
  readonly loop: LoopUse | undefined
  /** The part of its heap in use; absent in the report of an older release. */
  readonly heap?: number
  /** The end of its certificate, in epoch milliseconds; undefined without one. */
  readonly certificateEnd?: number | undefined
  /** How long its oldest due delivery waits for the node, and for no receiver or customer. */
  readonly queueAgeMs: number
  readonly inFlight: number
  /** Requests of callers in the last minutes; absent in the report of an older release. */
  readonly recentRequests?: ReturnType<RecentRequests['read']>
  /** The options that all nodes should share and that are set, by variable; without secrets. */
  readonly options: Texts
  /** Digests of set secrets, whose key follows from the master secret `keyId`. */
  readonly secrets: { readonly keyId: string; readonly digests: Texts }
  /** Digests of the parts of its declaration, by name. */
  readonly declaration: Texts
}

/** `isFresh`: runs the checks of readiness; else repeats the last result of those that query. */
export type DescribeNode = (isFresh: boolean) => Promise<NodeFacts>

/** The facts that a node stores, and the ends of former processes of its name in the last hour. */
interface StoredFacts extends NodeFacts {
  readonly ends?: readonly SuddenEnd[]
}

export interface NodeState extends NodeFacts {
  readonly id: string
  /** `GATEHOOK_NODE_NAME`. */
  readonly name: string
  readonly columns: ColumnUse
  readonly state: 'ready' | 'not_ready' | 'gone'
  readonly seenAt: number
  /** Whether it replaced one of its name that had ended, so that it succeeds no other one. */
  readonly hasReturned: boolean
}

/** A node that ended, or failed to start, within a day. */
export interface EndedNode {
  readonly id: string
  readonly name: string
  /** Undefined: it failed to start. */
  readonly role: NodeRole | undefined
  /** The start of its process; that of its failure, if it failed to start. */
  readonly since: number
  readonly endedAt: number
  /** Whether it gave no notice of its end. */
  readonly isKilled: boolean
  readonly failure: StartFailure | null
}

interface NodeRegistryOptions {
  readonly db: Database
  readonly clock: Pick<Clock, 'now' | 'elapsedMs'>
  /** Identifies this run of this process. */
  readonly node: string
  /** Returns the name of this node, and what it uses. */
  readonly describeUse: () => Pick<RunningNode, 'name' | 'columns' | 'keyIds'>
  readonly describe: DescribeNode
  /** Receives the duration of each write of the row of this node. */
  readonly noteWrite: (ms: number) => void
}

export interface NodeRegistry {
  /** The slot of this node in positions of requests. */
  slot(): number
  heartbeat(): Promise<void>
  /** Gives a sign of life, which is a report at every third call. */
  sign(): Promise<void>
  /** Returns this node, also while no database answers. */
  own(): Promise<NodeState>
  /** Returns the other nodes that run, and those that ended within a minute, unsucceeded. */
  listOthers(): Promise<NodeState[]>
  /** Returns this node and the others. */
  list(): Promise<NodeState[]>
  /** Returns the nodes that ended earlier, and those that failed to start; the last one first. */
  listEnded(): Promise<EndedNode[]>
  /** Stores that this node has ended. */
  leave(): Promise<void>
  /** Returns the ends without notice of former processes of this name, the last one last. */
  listOwnEnds(): readonly SuddenEnd[]
}

const stateOf = ({ reasons }: NodeFacts): NodeState['state'] =>
  reasons.length === 0 ? 'ready' : 'not_ready'

/** Whether a node has found its clock, or that of the database, wrong. */
const doubtsClock = ({ reasons, warnings }: NodeFacts): boolean =>
  [...reasons, ...warnings].some(({ check }) => check.endsWith('clock'))

function withLateness(facts: NodeFacts, ageMs: number, isSure: boolean): NodeFacts {
  if (ageMs <= (isSure ? LATE_MS : UNSURE_LATE_MS)) return facts
  const message =
    `The node has not reported for ${Math.floor(ageMs / 1000)} s: it hangs, was killed, or ` +
    'reaches no database. Its log and its own /readyz have the reason.'
  const reasons = ageMs > GONE_AFTER_MS ? [] : facts.reasons
  return { ...facts, reasons: [...reasons, { check: 'report', message }], warnings: [] }
}

/** Reads the former processes of a name before their rows are deleted. */
async function readEnds(
  db: Database,
  self: Pick<NodeState, 'id' | 'name' | 'identities'>,
  now: number,
): Promise<readonly SuddenEnd[]> {
  const rows = await listFormerNodes(db, now - ENDS_WITHIN_MS, now)
  const own = rows.filter((row) => row.name === self.name && row.id !== self.id && !row.failure)
  const all = own.flatMap(({ facts: text, seenAt, endedAt }) => {
    const facts = JSON.parse(text) as Partial<StoredFacts>
    // A host may run several nodes of one name.
    const runs = endedAt === null && now - seenAt < LISTED_MS && !sharesIdentity(facts, self)
    if (runs) return []
    const { ends = [], heap = 0 } = facts
    return endedAt === null ? [...ends, { at: seenAt, heap }] : ends
  })
  const recent = all.filter(({ at }) => at > now - ENDS_WITHIN_MS)
  const byTime = new Map(recent.map((end) => [end.at, end]))
  return [...byTime.values()].sort((a, b) => a.at - b.at).slice(-ENDS_MAX)
}

function endedNodeOf({
  id,
  name,
  facts,
  seenAt,
  endedAt,
  failure,
}: Awaited<ReturnType<typeof listFormerNodes>>[number]) {
  const { role, since = seenAt } = JSON.parse(facts) as Partial<NodeFacts>
  const isKilled = endedAt === null
  return { id, name, role, since, endedAt: endedAt ?? seenAt, isKilled, failure }
}

export function createNodeRegistry(options: NodeRegistryOptions): NodeRegistry {
  const { db, clock, node, describe, describeUse, noteWrite } = options
  let slot: number | undefined
  let hasReturned = false
  /** The last time in which this node could store no heartbeat: nor could the others. */
  let outage: { readonly fromMs: number; toMs: number | undefined } | undefined
  let storedMs = clock.now()
  let signs = 0
  let hasDoubts = false
  let ends: readonly SuddenEnd[] = []
  const own = async (isFresh: boolean): Promise<NodeState> => {
    const facts = await describe(isFresh)
    const { name, columns } = describeUse()
    const state = stateOf(facts)
    return { ...facts, id: node, name, columns, state, seenAt: clock.now(), hasReturned }
  }
  /** Returns the time since a heartbeat, in which another one could be stored. */
  const silenceMs = (seenAt: number, now: number) => {
    if (!outage) return now - seenAt
    const { fromMs, toMs = now } = outage
    return now - seenAt - Math.max(0, toMs - Math.max(fromMs, seenAt))
  }
  /** Takes the lowest slot that no node uses; two that start at once may take the same. */
  const takeSlot = async () => {
    const { identities } = await describe(false)
    const self = { id: node, name: describeUse().name, identities }
    ends = await readEnds(db, self, clock.now())
    hasReturned = (await deleteFormerNodes(db, describeUse().name, clock.now())) > 0
    const others = (await listRunningNodes(db, clock.now())).filter(({ id }) => id !== node)
    const used = new Set(others.map((other) => other.slot))
    return Array.from({ length: NODE_SLOTS }, (_, at) => at).find((at) => !used.has(at)) ?? 0
  }
  const listOthers = async (): Promise<NodeState[]> => {
    const now = clock.now()
    const since = Math.min(now, outage?.fromMs ?? now) - LISTED_MS
    const all = (await listNodes(db, since)).flatMap(
      ({ id, name, columns, facts: text, seenAt }): NodeState[] => {
        const ageMs = silenceMs(seenAt, now)
        if (ageMs >= LISTED_MS) return []
        const stored = JSON.parse(text) as NodeFacts & Pick<NodeState, 'hasReturned'>
        const isSure = !hasDoubts && !doubtsClock(stored)
        const facts = { ...withLateness(stored, ageMs, isSure), hasReturned: stored.hasReturned }
        const state = ageMs > GONE_AFTER_MS ? 'gone' : stateOf(facts)
        return [{ ...facts, id, name, columns, seenAt, state }]
      },
    )
    return withoutSucceeded(all).filter(({ id }) => id !== node)
  }
  /** Notes the times in which this node could store nothing. */
  const noteOutage = async (stored: Promise<unknown>) => {
    const startMs = clock.elapsedMs()
    try {
      await stored
      noteWrite(clock.elapsedMs() - startMs)
    } catch (error) {
      if (!outage || outage.toMs !== undefined) outage = { fromMs: storedMs, toMs: undefined }
      throw error
    }
    storedMs = clock.now()
    if (outage) outage.toMs ??= storedMs
  }
  const heartbeat = async () => {
    slot ??= await takeSlot()
    const { id, name, columns, seenAt, state, ...facts } = await own(false)
    hasDoubts = doubtsClock(facts)
    const row = { ...describeUse(), id, slot, facts: JSON.stringify({ ...facts, ends }), seenAt }
    await noteOutage(storeNode(db, row))
  }
  return {
    slot: () => slot ?? 0,
    heartbeat,
    sign: () =>
      ++signs % SIGNS === 0 ? heartbeat() : noteOutage(storeSign(db, node, clock.now())),
    own: () => own(true),
    listOthers,
    list: async () => [await own(true), ...(await listOthers())],
    async listEnded() {
      const now = clock.now()
      const rows = await listFormerNodes(db, now - ENDED_STAYS_MS, now - LISTED_MS)
      return rows
        .filter(({ endedAt, seenAt }) => endedAt !== null || silenceMs(seenAt, now) >= LISTED_MS)
        .map(endedNodeOf)
    },
    listOwnEnds: () => ends.filter(({ at }) => at > clock.now() - ENDS_WITHIN_MS),
    async leave() {
      if (slot !== undefined) await endNode(db, node, clock.now())
    },
  }
}
