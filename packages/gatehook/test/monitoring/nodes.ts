/** Nodes of one installation on PostgreSQL, whose clock and database a test controls. */
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { createAttentionReader } from '../../src/operate/monitoring/attention.ts'
import { createNodeRegistry, type NodeFacts } from '../../src/operate/monitoring/nodes.ts'
import type { ColumnUse } from '../../src/platform/nodes/registry.ts'
import type { Database } from '../../src/platform/storage/database.ts'

interface NodeItem {
  readonly kind: string
  readonly severity: string
  readonly since: string
  readonly subject: { readonly id: string; readonly label: string }
  // biome-ignore lint/suspicious/noExplicitAny: the facts of a kind
  readonly facts: Record<string, any>
}

/** A node that is ready. */
export function registryOf(
  db: Database,
  { now }: Pick<Clock, 'now'>,
  {
    node = '1',
    name = `api-${node}`,
    columns = {},
  }: { readonly node?: string; readonly name?: string; readonly columns?: ColumnUse } = {},
  facts: () => Partial<NodeFacts> = () => ({}),
) {
  const startedAt = now()
  const describe = async (): Promise<NodeFacts> => ({
    ...{ role: 'all', since: startedAt, release: '0', identities: [name], queueAgeMs: 0 },
    ...{ inFlight: 0, reasons: [], warnings: [], loop: undefined, options: {}, declaration: {} },
    secrets: { keyId: 'k', digests: {} },
    ...facts(),
  })
  const describeUse = () => ({ name, columns, keyIds: [] })
  const clock = { now, elapsedMs: now }
  return createNodeRegistry({ db, clock, node, describeUse, describe, noteWrite: () => undefined })
}

export async function openNodes(t: Parameters<typeof openForTest>[0]) {
  const db = await openForTest(t, await migratedUrl(t, 'postgres'))
  const state = { now: Date.UTC(2026, 10, 28), isAway: false }
  const clock = { now: () => state.now, elapsedMs: () => state.now }
  const write: Database['write'] = (...change) =>
    state.isAway ? Promise.reject(new Failure('storage_unavailable')) : db.write(...change)
  /** Opens a node, by default of the name `api-ID`; it starts now. */
  const open = (
    node: string,
    facts?: () => Partial<NodeFacts>,
    of: { readonly name?: string; readonly columns?: ColumnUse } = {},
  ) => registryOf({ ...db, write }, clock, { node, ...of }, facts)
  const readAttention = async (registry: ReturnType<typeof open>) => {
    const none = () => undefined
    const sources = {
      ...{ db, monitoring: db, clock, versions: () => [], isAway: () => false },
      ...{ nodes: registry, lastCause: none, lockHolders: () => [], fullServer: none },
    }
    const read = createAttentionReader({ ...sources, jobTimeoutMs: none })
    return (await read()) as unknown as NodeItem[]
  }
  return { db, state, open, readAttention }
}
