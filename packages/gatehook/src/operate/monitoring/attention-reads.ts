/**
 * Reads kinds of items within a bound. An item names the kinds that the database does not answer in
 * time, beside the items of the others.
 */
import { resolveWithin } from '../../kernel/resolve-within.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import { type AttentionKind, type AttentionSources, itemOf } from './attention-kind.ts'
import type { AttentionItem } from './operations.ts'

/** Kinds by the name of their subjects, for operators. */
export type AttentionKinds = Readonly<Record<string, AttentionKind>>

export interface AttentionReading {
  readonly items: readonly AttentionItem[]
  /** The names of the kinds that could not be read. */
  readonly unknown: readonly string[]
}

/** The next kind begins after this time, while a slow one goes on. */
const NEXT_MS = 150
/** A reading ends once no kind has had a result for this time. */
const STALLED_MS = 3_000
/** The same while the primary of the database is away. */
const AWAY_MS = 600

/**
 * Reads the kinds in their order, one at a time while the database answers. A slow database has no
 * limit of time, as long as results arrive.
 */
export async function readKinds(
  kinds: AttentionKinds,
  sources: AttentionSources,
): Promise<AttentionReading> {
  const shared = { ...sources, nodes: shareReads(sources.nodes) }
  const now = sources.clock.now()
  const results = new Map<string, AttentionItem[]>()
  const pending = new Set<Promise<true>>()
  const begin = (name: string, kind: AttentionKind): Promise<true> => {
    const items = whileAvailable<AttentionItem[] | undefined>(kind(shared, now), undefined)
    const run: Promise<true> = items
      .then((list) => list && results.set(name, list))
      .finally(() => pending.delete(run))
      .then(() => true)
    pending.add(run)
    return run
  }
  let stalledMs = 0
  const isStalled = () => stalledMs >= (sources.isAway() ? AWAY_MS : STALLED_MS)
  const wait = async (run: Promise<true>) => {
    const before = results.size
    await resolveWithin(NEXT_MS, run)
    stalledMs = results.size > before ? 0 : stalledMs + NEXT_MS
  }
  for (const [name, kind] of Object.entries(kinds)) if (!isStalled()) await wait(begin(name, kind))
  while (pending.size > 0 && !isStalled()) await wait(Promise.race(pending))
  const names = Object.keys(kinds)
  return {
    items: names.flatMap((name) => results.get(name) ?? []),
    unknown: names.filter((name) => !results.has(name)),
  }
}

/** Several kinds read the nodes: each of their reads runs once. */
function shareReads(nodes: AttentionSources['nodes']): AttentionSources['nodes'] {
  return {
    own: once(nodes.own),
    listOthers: once(nodes.listOthers),
    listEnded: once(nodes.listEnded),
  }
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= read())
}

/** Names the kinds that could not be read, and since when. */
export const unknownItem = (unknown: readonly string[], sinceMs: number): AttentionItem =>
  itemOf('attention_unknown', 'warn', sinceMs, {
    subject: { type: 'service', id: 'service', label: 'service' },
    facts: { unknown: [...unknown] },
  })
