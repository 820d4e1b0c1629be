/** Nodes that need the attention of an operator: states, ends, failed starts, differences. */
import { isoTime } from '../../kernel/time.ts'
import { GONE_AFTER_MS } from '../../platform/nodes/registry.ts'
import { type AttentionKind, type AttentionSources, itemOf } from './attention-kind.ts'
import { ITEMS_MAX } from './attention-store.ts'
import { findLeftOut } from './left-out-nodes.ts'
import { findMissingNodes } from './missing-nodes.ts'
import { findDifferences, type NodeDifference } from './node-differences.ts'
import type { EndedNode, NodeState } from './nodes.ts'
import type { AttentionItem } from './operations.ts'

const HOUR_MS = 3_600_000
const QUEUE_AGE_MS = 5 * 60_000
/** The part of the time in which a blocked or overloaded event loop is busy. */
const BUSY_SHARE = 0.9
/** Nodes that ended are missing for this time: later, fewer nodes are intended. */
const MISSING_MS = HOUR_MS
/** A failed start that no operator has repaired for this time is less urgent. */
const FAILED_URGENT_MS = HOUR_MS
/** Differences are expected for this time after the start of a node: a restart one by one. */
const ROLLING_MS = 10 * 60_000
/** Options whose difference callers and receivers feel at once, by the node that they meet. */
const FELT_OPTIONS =
  /^GATEHOOK_(RATE_LIMIT|CORS_|BASIC_|TRUST_PROXY|STRICT_VERSION|DEFAULT_|WEBHOOK_|DELIVERY_RATE)/

/** This node, also while no database answers. */
export const ownState: AttentionKind = async ({ nodes }, now) =>
  stateItems([await nodes.own()], now)

export const otherStates: AttentionKind = async ({ nodes }, now) =>
  stateItems(await nodes.listOthers(), now)

export const listRunning = async ({ own, listOthers }: AttentionSources['nodes']) => [
  await own(),
  ...(await listOthers()),
]

function stateItems(nodes: readonly NodeState[], now: number): AttentionItem[] {
  const items: AttentionItem[] = []
  for (const { id, name, role, state, seenAt, queueAgeMs, reasons, loop } of nodes) {
    const subject = { type: 'node', id, label: name }
    if (state !== 'ready') {
      const facts = { role, state, seen_at: isoTime(seenAt), reasons }
      items.push(itemOf('node_not_ready', 'bad', seenAt, { subject, facts }))
    }
    if (state !== 'gone' && loop && loop.busy >= BUSY_SHARE) {
      const facts = { busy: loop.busy, cpu: loop.cpu, period_s: loop.periodMs / 1000 }
      items.push(itemOf('node_busy', 'warn', seenAt - loop.periodMs, { subject, facts }))
    }
    if (state !== 'gone' && queueAgeMs > QUEUE_AGE_MS) {
      const since = now - queueAgeMs
      const facts = { oldest_at: isoTime(since) }
      items.push(itemOf('queue_old', 'bad', since, { subject, facts }))
    }
  }
  return items
}

/** Warnings with which rows may be lost or writes fail. */
const URGENT_WARNINGS: ReadonlySet<string> = new Set(['schema'])

/** Faults that nodes tolerate, an item for each check: several nodes meet that of a database. */
export const nodeWarnings: AttentionKind = async ({ nodes }, now) => {
  const running = await listRunning(nodes)
  const leftOut = findLeftOut(running, now)
  const warnings = [
    ...running.flatMap(({ name, warnings, reasons }) =>
      warnings
        .filter(({ message }) => !reasons.some((reason) => reason.message === message))
        .map((warning) => ({ ...warning, node: name })),
    ),
    ...leftOut.map((warning) => ({ ...warning, check: 'balancer' })),
  ]
  return [...Map.groupBy(warnings, ({ check }) => check)].map(([check, all]) => {
    const messages = [...Map.groupBy(all, ({ message }) => message)].slice(0, ITEMS_MAX)
    const facts = {
      check,
      warnings: messages.map(([message, same]) => ({
        message,
        nodes: same.map(({ node }) => node).sort(),
      })),
    }
    const since = Math.min(...all.map((warning) => warning.since))
    const subject = { type: 'service', id: check, label: 'service' }
    return itemOf('node_warning', URGENT_WARNINGS.has(check) ? 'bad' : 'warn', since, {
      subject,
      facts,
    })
  })
}

/** Nodes whose start failed, and that have not started since. */
export const failedStarts: AttentionKind = async ({ nodes }, now) => {
  const items = (await nodes.listEnded()).flatMap(({ id, name, endedAt, failure }) => {
    if (!failure) return []
    const severity = now - endedAt < FAILED_URGENT_MS ? 'bad' : 'info'
    const subject = { type: 'node', id, label: name }
    return itemOf('node_start_failed', severity, endedAt, { subject, facts: { ...failure } })
  })
  return items.slice(0, ITEMS_MAX)
}

/** Fewer nodes run than before: some ended, and have neither come back nor a successor. */
export const missingNodes: AttentionKind = async ({ nodes }, now) => {
  const ended = await nodes.listEnded()
  const running = await listRunning(nodes)
  const failed = new Set(ended.filter(({ failure }) => failure).map(({ name }) => name))
  const missing = findMissingNodes(
    running,
    ended.filter(({ failure, endedAt }) => !failure && now - endedAt < MISSING_MS),
  ).filter(({ name, endedAt }) => !failed.has(name) && now - endedAt >= GONE_AFTER_MS)
  const last = missing.at(-1)
  if (!last) return []
  const facts = {
    running: running.filter(({ state }) => state !== 'gone').length,
    // Without names, which are gone after a minute (§18.10).
    ended: missing.slice(-ITEMS_MAX).map(({ endedAt, isKilled }) => ({
      ended_at: isoTime(endedAt),
      how: isKilled ? 'silent' : 'in_order',
    })),
    message: adviceOn(missing),
  }
  // An operator puts the item off until a further node ends.
  const subject = { type: 'service', id: last.id, label: 'service' }
  // Nodes that end in order may be too many.
  const severity = missing.some(({ isKilled }) => isKilled) ? 'warn' : 'info'
  return [itemOf('nodes_missing', severity, last.endedAt, { subject, facts })]
}

/** Returns possible reasons of the ends: such nodes cannot report theirs. */
function adviceOn(missing: readonly EndedNode[]): string {
  const silent =
    'Without a word: killed, its machine or network is down, or it gets no connection to its ' +
    'database.'
  const inOrder =
    'In order: stopped, and not started since, or its new start reaches no database, or another ' +
    'one.'
  return [
    ...(missing.some(({ isKilled }) => isKilled) ? [silent] : []),
    ...(missing.some(({ isKilled }) => !isKilled) ? [inOrder] : []),
    'Such a node cannot report why: its log has the address, name or password that fails.',
  ].join(' ')
}

/** Options and declarations that differ between nodes that run. */
export const differentNodes: AttentionKind = async ({ nodes }, now) => {
  const states = await listRunning(nodes)
  const differences = findDifferences(states)
  const since = Math.max(...states.map((node) => node.since))
  return [
    ...differenceItems('node_options_differ', 'option', differences, { since, now }),
    ...differenceItems('node_declarations_differ', 'declaration', differences, { since, now }),
  ]
}

function differenceItems(
  kind: string,
  about: NodeDifference['kind'],
  differences: readonly NodeDifference[],
  { since, now }: Readonly<Record<'since' | 'now', number>>,
): AttentionItem[] {
  const rows = differences.filter((difference) => difference.kind === about)
  if (rows.length === 0) return []
  const isFelt = rows.some(({ name }) => FELT_OPTIONS.test(name))
  const severity = now - since < ROLLING_MS && !isFelt ? 'info' : 'warn'
  const facts = {
    differences: rows
      .slice(0, ITEMS_MAX)
      .map(({ name, values, columns }) => ({ name, values, columns })),
  }
  const subject = { type: 'service', id: 'service', label: 'service' }
  return [itemOf(kind, severity, since, { subject, facts })]
}
