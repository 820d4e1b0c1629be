/** Arithmetic of a load: nodes, cores, log and disk from the costs of one request. Pure. */

/** The measured cost of one request or delivery. */
export interface UnitCost {
  readonly nodeMicros: number
  readonly databaseMicros: number
  readonly statements: number
  readonly transactions: number
  /** Bytes of the write-ahead log, without full pages after a checkpoint. */
  readonly walBytes: number
  /** Bytes of tables and indexes. */
  readonly storedBytes: number
}

export const UNIT_NAMES = ['row', 'page', 'write', 'delivery'] as const
type UnitName = (typeof UNIT_NAMES)[number]
export type UnitCosts = Readonly<Record<UnitName, UnitCost>>

/** The stated load, per second, and the machines. */
export interface StatedLoad {
  readonly requests: number
  /** Parts of the requests; the rest reads a page. */
  readonly writePart: number
  readonly rowPart: number
  readonly deliveries: number
  /** Cores of the primary and of each replica. */
  readonly databaseCores: number
  /** Bytes of the log that the disk and the network of the primary carry, per second. */
  readonly walBytesMax: number
  readonly connectionsMax: number
  readonly connectionsPerNode: number
  /** The part of a core or disk that may be in use. */
  readonly utilization: number
}

export interface ScalePlan {
  readonly nodes: number
  readonly primaryCores: number
  /** With the reads of rows and pages on replicas. */
  readonly primaryCoresBesideReplicas: number
  readonly replicas: number
  readonly walBytesPerSecond: number
  readonly storedBytesPerDay: number
  readonly connections: number
  /** Each stage, in order, with the part of the stated load that it carries and its bottleneck. */
  readonly stages: readonly ScaleStage[]
}

interface ScaleStage {
  readonly name: string
  /** 1 carries the load exactly. */
  readonly part: number
  readonly bottleneck: string
}

const SECOND_MICROS = 1_000_000
const DAY_S = 86_400

export function planScale(costs: UnitCosts, load: StatedLoad): ScalePlan {
  const { requests, writePart, rowPart, utilization } = load
  const rates: Readonly<Record<UnitName, number>> = {
    row: requests * rowPart,
    page: requests * (1 - writePart - rowPart),
    write: requests * writePart,
    delivery: load.deliveries,
  }
  const sum = (figure: keyof UnitCost, names: readonly UnitName[] = UNIT_NAMES) =>
    names.reduce((total, name) => total + rates[name] * costs[name][figure], 0)
  const cores = (micros: number) => micros / SECOND_MICROS / utilization
  const nodeCores = cores(sum('nodeMicros'))
  const readCores = cores(sum('databaseMicros', ['row', 'page']))
  const writeCores = cores(sum('databaseMicros', ['write', 'delivery']))
  const walBytesPerSecond = sum('walBytes')
  const nodes = Math.ceil(nodeCores)
  const connections = nodes * load.connectionsPerNode
  const wal = {
    part: (load.walBytesMax * utilization) / walBytesPerSecond,
    bottleneck: 'log of the primary',
  }
  const primary = {
    part: load.databaseCores / (readCores + writeCores),
    bottleneck: 'CPU of the primary',
  }
  const direct = { part: load.connectionsMax / connections, bottleneck: 'connections' }
  const writes = {
    part: load.databaseCores / writeCores,
    bottleneck: 'CPU of the primary (writes)',
  }
  const stage = (
    name: string,
    ...limits: readonly { readonly part: number; readonly bottleneck: string }[]
  ): ScaleStage => ({ name, ...limits.reduce((a, b) => (b.part < a.part ? b : a)) })
  return {
    nodes,
    primaryCores: readCores + writeCores,
    primaryCoresBesideReplicas: writeCores,
    replicas: Math.ceil(readCores / load.databaseCores),
    walBytesPerSecond,
    storedBytesPerDay: sum('storedBytes') * DAY_S,
    connections,
    stages: [
      stage('one node', { part: 1 / nodeCores, bottleneck: 'CPU of the node' }, primary, wal),
      stage('ten nodes', { part: 10 / nodeCores, bottleneck: 'CPU of the nodes' }, primary, wal),
      stage(`${nodes} nodes, one primary`, direct, primary, wal),
      stage(`${nodes} nodes, a pooler, one primary`, primary, wal),
      stage(`${nodes} nodes, a pooler, replicas for reads`, writes, wal),
    ],
  }
}
