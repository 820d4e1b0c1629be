/** The members of `GET /admin/system` with their columns: nodes, queue, storage, jobs, keys. */
import { signingKeyState } from '../../identity/tokens/operations.ts'
import { b } from '../../protocol/fields/members.ts'
import { restoreMember } from '../restore/operations.ts'

export const UNREADY_REASON = {
  check: 'writes',
  message: 'The database does not accept writes at the moment.',
}

export const unreadyReason = b.object({
  check: b.text().describe('The name of the check.').example(UNREADY_REASON.check),
  message: b.text().example(UNREADY_REASON.message),
})

/** The members that modules contribute, each by a function of its name. */
export const figures = {
  keys: b.int(0).describe('The API keys that are not revoked, at most 100,000.').example(12),
  nodes: b
    .list(
      b
        .object({
          id: b.text().describe('The id of the process.').example('5f2c81d09be34a67'),
          name: b.text().describe('The name of the node: `GATEHOOK_NODE_NAME`.').example('api-1'),
          role: b.oneOf(['all', 'serve', 'deliver']).describe('The work of the node.'),
          state: b
            .oneOf(['ready', 'not_ready', 'gone'])
            .describe('`gone`: it has not reported for 45 s.'),
          reasons: b
            .list(unreadyReason)
            .describe('Why it is not ready, as it has reported; empty if it is.')
            .example([]),
          warnings: b
            .list(unreadyReason)
            .describe('Faults that it tolerates, as it has reported.')
            .example([]),
          since: b.time().describe('The start of the process.'),
          seen_at: b.time().describe('Its last report: its state is that of then.'),
          report_age_s: b.int(0).describe('Seconds since its last report.').example(4),
          release: b.text().describe('The release of Gatehook.').example('0.1.0'),
        })
        .named('Node')
        .columns({
          name: { title: 'node' },
          state: {
            states: [
              [
                'state',
                {
                  ready: ['ok'],
                  not_ready: ['bad', 'not ready'],
                  gone: ['idle', 'stopped'],
                },
              ],
            ],
          },
          role: {},
          report_age_s: { title: 'age of its report', as: 'age' },
          release: {},
          since: { as: 'time' },
          id: {},
        }),
    )
    .describe('The nodes, the answering one first.'),
  node_differences: b
    .list(
      b
        .object({
          kind: b.oneOf(['option', 'declaration']).describe('What differs.'),
          name: b
            .text()
            .describe('The variable; or the resource, `service` for all else of the declaration.')
            .example('GATEHOOK_TRUST_PROXY'),
          values: b
            .list(
              b.object({
                value: b
                  .text()
                  .nullable()
                  .describe(
                    'Null for a secret, a digest for a declaration, `none` without a value.',
                  )
                  .example('10.0.0.0/8'),
                nodes: b.list(b.text()).describe('The names of the nodes.').example(['api-1']),
              }),
            )
            .describe('The values, each with its nodes.'),
          columns: b
            .list(b.text())
            .describe('Columns of the resource that some of the nodes lack, or use differently.')
            .example([]),
        })
        .named('NodeDifference')
        .columns({
          name: { as: 'code' },
          kind: {},
          columns: {},
          values: { title: 'values by node' },
        }),
    )
    .describe('Options and parts of the declaration that differ between the nodes that run.')
    .example([]),
  queue: b
    .object({
      waiting: b.int(0).describe('Waiting deliveries, at most 100,000.').example(0),
      waiting_is_bound: b.bool().describe('Whether more deliveries wait.').example(false),
      oldest_at: b
        .time()
        .nullable()
        .describe(
          'When the oldest delivery became due that waits for a node, and for no receiver or ' +
            'customer; null without one.',
        ),
      in_flight: b.int(0),
      rate_per_s: b.number().describe('Attempts in a second, of the last minute.').example(1.5),
    })
    .describe('The queue of deliveries.'),
  storage: b
    .object({
      bytes: b.int(0).describe('The size of the database.').example(1_048_576),
      monitoring_bytes: b.int(0).describe('The size of the request log.').example(262_144),
      migrations: b.int(0).describe('The applied migrations of the engine.').example(24),
    })
    .describe('The database.'),
  index_builds: b
    .list(
      b.object({
        name: b.text().describe('The name of the index.').example('things_by_size'),
        table: b.text().describe('The name of its table.').example('things'),
        phase: b
          .text()
          .nullable()
          .describe('The step of the database; null while no node creates it.')
          .example('building index: scanning table'),
        progress: b.number().describe('The completed part, 0 to 1; an estimate.').example(0.35),
        waits_for: b
          .int(0)
          .nullable()
          .describe('The process of the database with a transaction that must end first.')
          .example(null),
      }),
    )
    .describe('Indexes that the declaration requires and PostgreSQL does not have yet.'),
  jobs: b
    .list(
      b
        .object({
          name: b.text().describe('The name of the job.').example('quota'),
          last_at: b.time().describe('The end of its last run.'),
          took_ms: b.int(0),
          ok: b.bool().describe('Whether it succeeded.').example(true),
          rows: b.int(0).nullable().describe('The purged rows; null after a failure.').example(0),
        })
        .named('BackgroundJob')
        .columns({
          name: { title: 'job', as: 'code' },
          state: {
            title: 'last run',
            states: [['ok', { true: ['ok', 'done'], false: ['bad', 'failed'] }]],
          },
          last_at: { title: 'ended', as: 'ago' },
          took_ms: { title: 'took', as: 'duration' },
          rows: {},
        }),
    )
    .describe('The last run of each background job of the answering node.'),
  request_log: b
    .object({
      mode: b.oneOf(['off', 'errors', 'all']).describe('The requests that the log records.'),
      stored: b.int(0).describe('Requests that the log stores.').example(420),
      sampled: b.int(0).describe('Successful requests beyond 500 in a second.').example(0),
      dropped: b.int(0).describe('Requests that the store could not receive in time.').example(0),
    })
    .describe('Requests since the start of the answering node.'),
  restore: restoreMember.describe('The quarantine of restored data.'),
  signing_keys: b
    .list(signingKeyState)
    .describe('The keys of access tokens, in the order in which they sign.'),
}
