/** Rows of the table of options (`options.ts`): the database. */
import { DEFAULT_SCHEMA } from '../../kernel/database-target.ts'
import { option } from './option.ts'
import * as kind from './values.ts'

export const databaseOptions = {
  databaseUrl: option({
    env: 'GATEHOOK_DATABASE_URL',
    kind: kind.databaseUrl,
    fallback: 'sqlite:./data/gatehook.db',
    perNode: true,
    sentence:
      'The database: a SQLite file, or PostgreSQL. A relative path is relative to the folder of ' +
      'the service. Of several hosts, it uses the primary.',
  }),
  databaseSchema: option({
    env: 'GATEHOOK_DATABASE_SCHEMA',
    kind: kind.schemaName,
    fallback: DEFAULT_SCHEMA,
    sentence:
      'PostgreSQL: the schema of all tables of the engine and of the resources. `migrate` and ' +
      '`start` create it if it is missing, and change nothing outside it.',
  }),
  databaseOwner: option({
    env: 'GATEHOOK_DATABASE_OWNER',
    kind: kind.roleName,
    fallback: null,
    otherwise: 'the role of the address',
    sentence:
      'PostgreSQL: the role that owns the tables. `migrate` and the nodes assume it to create ' +
      'and to change tables; the role of the address is a member that inherits its rights.',
  }),
  databaseConnections: option({
    env: 'GATEHOOK_DATABASE_CONNECTIONS',
    kind: kind.connections(3, 500),
    fallback: '10',
    perNode: true,
    sentence: 'PostgreSQL: connections of a node for the transactions of requests.',
  }),
  databaseReadConnections: option({
    env: 'GATEHOOK_DATABASE_READ_CONNECTIONS',
    kind: kind.connections(1, 100),
    fallback: '4',
    perNode: true,
    sentence: 'PostgreSQL: connections of a node for reads, which are pipelined.',
  }),
  databaseDeliveryConnections: option({
    env: 'GATEHOOK_DATABASE_DELIVERY_CONNECTIONS',
    kind: kind.connections(1, 100),
    fallback: '4',
    perNode: true,
    sentence: 'PostgreSQL: connections of a node for the transactions of deliveries.',
  }),
  databasePooler: option({
    env: 'GATEHOOK_DATABASE_POOLER',
    kind: kind.oneOf(['transaction']),
    fallback: null,
    perNode: true,
    sentence: 'The pooling mode of PgBouncer, if `GATEHOOK_DATABASE_URL` is its address.',
  }),
  databaseDirectUrl: option({
    env: 'GATEHOOK_DATABASE_DIRECT_URL',
    kind: kind.postgresUrl,
    fallback: null,
    perNode: true,
    sentence:
      'The address of PostgreSQL behind the pooler, for notifications between nodes; ' +
      'none: nodes find new deliveries within a second.',
  }),
  databaseReadUrls: option({
    env: 'GATEHOOK_DATABASE_READ_URLS',
    kind: kind.postgresUrls,
    fallback: '',
    perNode: true,
    sentence:
      'Standbys of PostgreSQL that serve reads of resources, if they contain all that the caller ' +
      'has written or seen.',
  }),
  databaseReadOutageS: option({
    env: 'GATEHOOK_DATABASE_READ_OUTAGE_S',
    kind: kind.seconds(0, 3600),
    fallback: '120',
    sentence:
      'How long the standbys of GATEHOOK_DATABASE_READ_URLS serve reads after a node has lost ' +
      'the primary. A revocation that they lack takes effect at its end.',
  }),
  databaseDistributed: option({
    env: 'GATEHOOK_DATABASE_DISTRIBUTED',
    kind: kind.oneOf(['citus']),
    fallback: null,
    sentence:
      'PostgreSQL: distributes the tables of a new database over the servers of Citus, by ' +
      'customer.',
  }),
  durability: option({
    env: 'GATEHOOK_DURABILITY',
    kind: kind.oneOf(['local', 'replica']),
    fallback: 'local',
    sentence:
      'PostgreSQL: a commit waits for the disk of the primary, or also for a synchronous standby.',
  }),
} as const
