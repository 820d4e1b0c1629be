/** Assembles the registration of this node: its reports, their interval, its end. */
import { createHmac } from 'node:crypto'
import type { Catalog } from '../declare/resources/catalog.ts'
import { digestDeclaration } from '../declare/resources/declaration-digest.ts'
import { columnUse } from '../declare/resources/schema-check.ts'
import { type Clock, steadyNow, wallClock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Monitoring } from '../operate/monitoring/monitoring.ts'
import {
  createNodeRegistry,
  type DescribeNode,
  type NodeRegistry,
} from '../operate/monitoring/nodes.ts'
import type { CommitTime } from '../operate/system/commit-time.ts'
import { createLoopMeter } from '../operate/system/event-loop.ts'
import {
  type HealthChecks,
  reasonForOperators,
  withoutRepetition,
} from '../operate/system/health.ts'
import { createHeap, describeEnds, type Heap } from '../operate/system/heap.ts'
import { readCertificateEnd } from '../operate/system/machine-facts.ts'
import { createWarningList } from '../operate/system/node-warnings.ts'
import type { Readiness } from '../operate/system/readiness.ts'
import type { Deliveries } from '../outbound/deliveries/deliveries.ts'
import { sharedOptions, sharedSecrets } from '../platform/config/describe.ts'
import { nodeIdentitiesOf, nodeNameOf } from '../platform/config/environment.ts'
import {
  type DoubtedStep,
  HEARTBEAT_MS,
  purgeEndedNodes,
  SIGN_MS,
} from '../platform/nodes/registry.ts'
import type { Component, Foundation } from './foundation.ts'

interface NodesAssembly {
  readonly monitoring: Pick<Monitoring, 'node' | 'slot' | 'recorder'>
  readonly catalog: Catalog
  readonly deliveries: Pick<Deliveries, 'figures'>
  readonly readiness: Readiness
  readonly nodeWarnings: HealthChecks
  readonly commitTime: Pick<CommitTime, 'note'>
}

interface NodesComponent extends Component {
  readonly registry: NodeRegistry
}

/** It starts first and stops last: the delivery engine joins the node that it registers. */
export function assembleNodes(foundation: Foundation, assembly: NodesAssembly): NodesComponent {
  const { config, db, clock, log, vault } = foundation
  const { monitoring, catalog, readiness } = assembly
  const columns = columnUse(catalog.service.resources)
  const heap = createHeap(wallClock)
  const ends = () => describeEnds(registry.listOwnEnds())
  const warned = { ...assembly.nodeWarnings, heap: heap.warning, ends }
  const registry: NodeRegistry = createNodeRegistry({
    db,
    clock,
    node: monitoring.node,
    describe: nodeDescriber(foundation, { ...assembly, nodeWarnings: warned, heap }),
    noteWrite: assembly.commitTime.note,
    describeUse: () => ({ name: nodeNameOf(config), columns, keyIds: vault.keyIds }),
  })
  let stop: (() => Promise<void>) | undefined
  const noteSlot = async (stored: Promise<void>) => {
    await stored
    monitoring.slot.value = registry.slot()
  }
  const heartbeat = () => noteSlot(registry.heartbeat())
  const sign = () => noteSlot(registry.sign())
  const failure = 'this node could not be registered'
  const report = () => heartbeat().catch((error: unknown) => log.warn({ err: error }, failure))
  return {
    registry,
    metrics: [heap.metric],
    chores: { nodes: () => purgeEndedNodes(db, clock.now()) },
    async start() {
      await report()
      readiness.onChange(() => void report())
      const repeated = db.dialect.shared
        ? { intervalMs: SIGN_MS, run: sign }
        : { intervalMs: HEARTBEAT_MS, run: heartbeat }
      stop = startInterval({ ...repeated, log, failure })
    },
    async stop() {
      // Commands of the CLI do not start it, and store nothing.
      if (!stop) return
      await stop()
      await registry
        .leave()
        .catch((error: unknown) => log.warn({ err: error }, 'the end of this node is not stored'))
    },
  }
}

const DIGEST_CHARACTERS = 12

/** Returns the step that the clock doubts and follows all the same. */
function followedStep(clock: Clock): DoubtedStep | undefined {
  const step = clock.step?.()
  const isFollowed = Math.abs(clock.now() - steadyNow(clock)) > 1_000
  return step && isFollowed ? { byMs: step.byMs, leftMs: step.leftMs } : undefined
}

/** Returns the function that describes this node; `isFresh`: by the present state of its checks. */
function nodeDescriber(
  { config, vault, clock, log, serves = true, delivers = true, release = 'unknown' }: Foundation,
  {
    catalog,
    deliveries,
    readiness,
    nodeWarnings,
    heap,
    monitoring,
  }: NodesAssembly & { readonly heap: Heap },
): DescribeNode {
  const since = clock.now()
  const role = serves && delivers ? 'all' : serves ? 'serve' : 'deliver'
  const measureLoop = createLoopMeter(wallClock)
  const options = sharedOptions(config)
  const identities = nodeIdentitiesOf(config)
  const listWarnings = createWarningList(nodeWarnings, { clock, log })
  let declaration: Readonly<Record<string, string>> | undefined
  const digest = (name: string, secret: string) =>
    createHmac('sha256', vault.key('option digests'))
      .update(`${name}\n${secret}`)
      .digest('hex')
      .slice(0, DIGEST_CHARACTERS)
  return async (isFresh) => {
    declaration ??= digestDeclaration(catalog.service)
    const reasons = await (isFresh ? readiness.report() : readiness.recall())
    const { lateMs: queueAgeMs, inFlight } = deliveries.figures()
    const digests = sharedSecrets(config).map(([name, secret]) => [name, digest(name, secret)])
    return {
      ...{ role, since, release, identities, queueAgeMs, inFlight, loop: measureLoop() },
      ...{ options, declaration, recentRequests: monitoring.recorder.recentRequests() },
      doubt: followedStep(clock),
      heap: Math.round(heap.share() * 100) / 100,
      certificateEnd: readCertificateEnd(config.tlsCert ?? undefined),
      secrets: { keyId: vault.keyId, digests: Object.fromEntries(digests) },
      reasons: withoutRepetition(reasons).map(reasonForOperators),
      warnings: await listWarnings(),
    }
  }
}
