/** Metrics of the primary of the database: whether and how it is away (§18.1). */
import type { Database } from '../../platform/storage/database.ts'
import { primaryFaults } from '../../platform/storage/primary-fault.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'

export const primaryMetrics = (
  primaryFault: Database['fault'],
  { hungCount }: Pick<Database, 'hungCount'>,
): readonly Metric[] => [
  {
    name: 'gatehook_database_connections_hung_total',
    help: 'Connections to the primary that this node replaced because they hung (§18.1).',
    type: 'counter',
    read: () => [{ value: hungCount() }],
  },
  gauge(
    'gatehook_database_available',
    '1 while the primary of the database answers; 0 while writes are 503 (§18.1).',
    () => (primaryFault() === undefined ? 1 : 0),
  ),
  {
    name: 'gatehook_database_fault',
    help: 'Why the primary of the database is away, by fault: 1 for the present one.',
    type: 'gauge',
    read() {
      const current = primaryFault()
      const samples = Object.keys(primaryFaults)
      return samples.map((fault) => ({ value: Number(fault === current), labels: { fault } }))
    },
  },
]
